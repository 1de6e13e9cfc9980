/* SPDX-License-Identifier: MIT */
/*
 * What the files that answer queries share: how texts are put in order, and rows
 * with what they are about, for the writer, which stores numbers and not texts.
 */
#pragma once

#include "merge/keys.h"
#include "merge/query.h"

#include <string.h>

/* NULL is like "". */
static inline int compare_names(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

struct answer {
	struct rows rows;      /* first: rows_free() takes its address */
	struct key *keys;      /* [row]: as it is by line: with the file and line of the row */
	struct strings *texts; /* names that the profile does not hold */
};

static inline const struct answer *answer_of(const struct rows *rows)
{
	return (const struct answer *)rows;
}
