// SPDX-License-Identifier: MIT
// Names of a program in a comment, as text, as code and as the path of a file: none makes markup.
#include "cli/export/markdown.h"
#include "cli/report/brief.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST 200 // of a text, before it is escaped

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

// What could be markup in what was written of foreign text, but for the element CODE around it.
static void check(const char *text, const char *begin, const char *end)
{
	size_t length = strlen(text), first = strlen(begin), last = strlen(end);

	if (!length)
		return;
	if (length < first + last || strncmp(text, begin, first) != 0 ||
	    strcmp(text + length - last, end) != 0)
		abort();
	for (const char *c = text + first; c < text + length - last; c++) {
		if (strchr("<>|\n\r`*_[]$~", *c))
			abort();
		if (*c == '@' && (c[1] == '_' || (c[1] >= 'a' && c[1] <= 'z')))
			abort();
		if (strncmp(c, "://", 3) == 0 || strncasecmp(c, "www.", 4) == 0)
			abort();
		if (*c == '\\' && !strchr("`*_[]$~", *++c))
			abort();
	}
}

static void write_and_check(void (*put)(FILE *out, const char *text, size_t bytes),
                            const char *text, const char *begin, const char *end)
{
	char *words = NULL;
	size_t size;
	FILE *out = open_memstream(&words, &size);

	if (!out)
		return;
	put(out, text, MOST);
	if (fclose(out) == 0)
		check(words, begin, end);
	free(words);
}

// The input is a file and, behind a line end, a directory.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = strndup((const char *)bytes, size), path[256];

	if (!text)
		return 0;
	write_and_check(markdown_put_text, text, "", "");
	write_and_check(markdown_put_code, text, "<code>", "</code>");
	char *directory = strchr(text, '\n');
	if (directory)
		*directory++ = '\0';
	const char *known = brief_path(text, directory, path, sizeof(path));
	// "." and ".." are resolved, and what is absolute is not within the directory.
	if (known && (!*known || strstr(known, "//") || strstr(known, "/../") ||
	              strncmp(known, "../", 3) == 0))
		abort();
	free(text);
	return 0;
}
