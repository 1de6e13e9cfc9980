/* SPDX-License-Identifier: MIT */
/*
 * What the files that answer queries share: how texts are put in order, and rows
 * with what they are about, for the writer, which stores numbers and not texts.
 */
#pragma once

#include "merge/query/query.h"
#include "merge/scope/keys.h"

#include <string.h>

/* NULL is like "". */
static inline int compare_names(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

struct answer {
	struct rows rows;      /* first: rows_free() takes its address */
	struct key *keys;      /* [row]: as it is by line: with the file and line of the row */
	uint32_t *ids;         /* [row]: of the key, as keys_init() numbers them for the query */
	struct strings *texts; /* names that the profile does not hold */
};

/* What keys_init() is to find for QUERY. */
static inline unsigned answer_keys_wanted(const struct query *query)
{
	return query->by == BY_FUNCTION ? KEYS_CODE | KEYS_LINES : KEYS_CODE;
}

static inline const struct answer *answer_of(const struct rows *rows)
{
	return (const struct answer *)rows;
}
