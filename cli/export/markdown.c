// SPDX-License-Identifier: MIT
#include "cli/export/markdown.h"

#include "base/cleanup.h"
#include "cli/report/brief.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// Of no width: a code host that looks for mentions and links after it has decoded references finds
// none across it.
#define BREAK "&#8203;"

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '+';
}

// ":name:", from the first colon on.
static bool is_emoji(const char *at)
{
	size_t length = 1;

	while (is_word(at[length]))
		length++;
	return length > 1 && at[length] == ':';
}

// Whether what stands behind the character at AT must not touch it, wherever it stands: "a@b",
// "://", "www.".
static bool is_link(const char *text, const char *at)
{
	return (*at == '@' && is_word(at[1])) || (*at == ':' && at[1] == '/' && at[2] == '/') ||
	       (at - text >= 2 && strncasecmp(at - 2, "www.", 4) == 0);
}

// The same where it is no code: "#12", "!12", "GH-12", ":name:".
static bool is_reference(const char *text, const char *at)
{
	switch (*at) {
	case '#':
	case '!':
	case '%':
	case '&':
	case '~':
	case '$':
	case '^':
	case '[':
		return is_word(at[1]);
	case '-':
		return isdigit((unsigned char)at[1]) && at > text && isalpha((unsigned char)at[-1]);
	case ':':
		return is_emoji(at);
	default:
		return false;
	}
}

static void put_character(FILE *out, char c)
{
	if (strchr("<>&|\\", c)) // these end a cell or begin an element, even behind a backslash
		fprintf(out, "&#%d;", c);
	else if (strchr("`*_[]$~", c))
		fprintf(out, "\\%c", c);
	else
		fputc(c, out);
}

static void put_escaped(FILE *out, const char *text, bool code)
{
	for (const char *c = text; *c; c++) {
		put_character(out, *c);
		if (is_link(text, c) || (!code && is_reference(text, c)))
			fputs(BREAK, out);
	}
}

static void put(FILE *out, const char *text, size_t bytes, bool code)
{
	cleanup_free char *line = malloc(bytes + 1);

	if (!line || !*brief_line(text, line, bytes + 1))
		return;
	fputs(code ? "<code>" : "", out);
	put_escaped(out, line, code);
	fputs(code ? "</code>" : "", out);
}

void markdown_put_text(FILE *out, const char *text, size_t bytes)
{
	put(out, text, bytes, false);
}

void markdown_put_code(FILE *out, const char *text, size_t bytes)
{
	put(out, text, bytes, true);
}
