// SPDX-License-Identifier: MIT
#include "cli/report/limits_json.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/json.h"
#include "cli/text/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST "  "   // a paragraph begins so
#define NEXT  "    " // and goes on so, if it is longer than a line

static bool begins(const char *line, const char *with)
{
	return strncmp(line, with, strlen(with)) == 0;
}

// Ends the paragraph at AT, where its lines become one; what comes behind it.
static char *join(char *at)
{
	char *end = at + strcspn(at, "\n"), *rest;

	while (*end && begins(end + 1, NEXT)) {
		char *next = end + 1 + strlen(NEXT);
		size_t length = strcspn(next, "\n");
		*end = ' ';
		memmove(end + 1, next, strlen(next) + 1);
		end += 1 + length;
	}
	rest = *end ? end + 1 : end;
	*end = '\0';
	return rest;
}

// All but the heading.
static void put(struct json *j, char *words)
{
	json_open(j, "limits", '[');
	while (*words) {
		char *paragraph = words;
		words = join(words);
		if (begins(paragraph, FIRST))
			json_put_text(j, NULL, paragraph + strlen(FIRST));
	}
	json_close(j);
}

int limits_json(struct json *j, const struct profile *profile, const struct view *view,
                struct error *err)
{
	cleanup_free char *words = NULL;
	struct totals totals;
	size_t size;
	FILE *out = open_memstream(&words, &size);

	if (!out)
		return error_set(err, errno, "could not write the report");
	const struct text text = {
		.out = out,
		.profile = profile,
		.view = view,
		.terminal = { .width = TERMINAL_WIDTH_MAX,
		              .dot = "\u00b7",
		              .bar = "\u2502",
		              .dash = "\u2013",
		              .plus_minus = "\u00b1" },
	};
	query_totals(profile, &totals);
	int failed = text_limits(&text, &totals, err);
	if (fclose(out) != 0 && !failed)
		failed = error_set(err, errno, "could not write the report");
	if (!failed)
		put(j, words);
	return failed;
}
