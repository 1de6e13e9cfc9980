// SPDX-License-Identifier: MIT
#include "base/python_scope.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SCOPES_MAX 32 // within each other
#define NAME_BYTES 512
#define TAB        8

struct word {
	const char *text;
	size_t length;
};

struct scope {
	unsigned indent;
	struct word name;
	bool is_class;
};

struct reader {
	const char *at, *end;
	uint32_t line;
	struct scope scopes[SCOPES_MAX];
	unsigned count;
};

static bool is_at(const struct reader *r, const char *text)
{
	size_t length = strlen(text);

	return (size_t)(r->end - r->at) >= length && memcmp(r->at, text, length) == 0;
}

static void next_byte(struct reader *r)
{
	r->line += *r->at == '\n';
	r->at++;
}

// Past the string that begins here. One that is not closed ends with its line.
static void skip_string(struct reader *r)
{
	const char quote = *r->at, three[] = { quote, quote, quote, '\0' };
	bool is_long = is_at(r, three);

	r->at += is_long ? 3 : 1;
	for (; r->at < r->end; next_byte(r)) {
		if (*r->at == '\\' && r->at + 1 < r->end) {
			next_byte(r);
		} else if (is_long ? is_at(r, three) : *r->at == quote) {
			r->at += is_long ? 3 : 1;
			return;
		} else if (!is_long && *r->at == '\n') {
			return;
		}
	}
}

// Past the rest of this logical line, which brackets, strings and backslashes continue.
static void skip_line(struct reader *r)
{
	size_t brackets = 0;

	while (r->at < r->end) {
		char c = *r->at;
		if (c == '\'' || c == '"') {
			skip_string(r);
			continue;
		}
		if (c == '#') {
			while (r->at < r->end && *r->at != '\n')
				r->at++;
			continue;
		}
		brackets += c == '(' || c == '[' || c == '{';
		brackets -= brackets && (c == ')' || c == ']' || c == '}');
		if (c == '\\' && r->at + 1 < r->end)
			next_byte(r);
		next_byte(r);
		if (c == '\n' && !brackets)
			return;
	}
}

// How far the line is indented; its text is next.
static unsigned read_indent(struct reader *r)
{
	unsigned indent = 0;

	for (; r->at < r->end && strchr(" \t\f", *r->at) && *r->at; r->at++)
		indent = *r->at == '\t' ? indent / TAB * TAB + TAB : indent + (*r->at == ' ');
	return indent;
}

static bool is_of_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static struct word read_word(struct reader *r)
{
	struct word word;

	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
		r->at++;
	word.text = r->at;
	while (r->at < r->end && is_of_word(*r->at))
		r->at++;
	word.length = (size_t)(r->at - word.text);
	return word;
}

static bool is_word(struct word word, const char *text)
{
	return word.length == strlen(text) && memcmp(word.text, text, word.length) == 0;
}

// The statement here begins a function or class, whose name is in *NAME.
static bool read_begin(struct reader *r, struct word *name, bool *is_class)
{
	struct word word = read_word(r);

	if (is_word(word, "async"))
		word = read_word(r);
	*is_class = is_word(word, "class");
	if (!*is_class && !is_word(word, "def"))
		return false;
	*name = read_word(r);
	return name->length > 0;
}

static bool append(char *out, size_t *length, const char *text, size_t bytes)
{
	if (bytes >= NAME_BYTES - *length)
		return false;
	memcpy(out + *length, text, bytes);
	*length += bytes;
	out[*length] = '\0';
	return true;
}

static char *join(const struct reader *r, const char *name)
{
	char out[NAME_BYTES];
	size_t length = 0;

	for (unsigned i = 0; i < r->count; i++) {
		const struct scope *s = &r->scopes[i];
		const char *between = s->is_class ? "." : ".<locals>.";
		if (!append(out, &length, s->name.text, s->name.length) ||
		    !append(out, &length, between, strlen(between)))
			return NULL;
	}
	return append(out, &length, name, strlen(name)) ? strdup(out) : NULL;
}

char *python_qualified_name(const char *text, size_t size, uint32_t first_line, const char *name)
{
	struct reader r = { .at = text, .end = text + size, .line = 1 };
	bool wanted = false, is_class;
	struct word begun;

	if (is_at(&r, "\xef\xbb\xbf"))
		r.at += 3;
	while (r.at < r.end && (wanted || r.line <= first_line)) {
		uint32_t line = r.line;
		unsigned indent = read_indent(&r);
		if (r.at == r.end || strchr("\r\n#", *r.at)) { // an empty line, or a NUL
			skip_line(&r);
			continue;
		}
		while (r.count && r.scopes[r.count - 1].indent >= indent)
			r.count--;
		wanted |= line == first_line;
		bool decorates = *r.at == '@';
		if (!decorates && read_begin(&r, &begun, &is_class)) {
			if (wanted)
				return is_word(begun, name) ? join(&r, name) : NULL;
			if (r.count == SCOPES_MAX)
				return NULL;
			r.scopes[r.count++] = (struct scope){ indent, begun, is_class };
		} else if (wanted && !decorates) {
			return NULL;
		}
		skip_line(&r);
	}
	return NULL;
}
