/* SPDX-License-Identifier: MIT */
/*
 * Rows with what they are about, for the writer, which stores numbers and not texts.
 */
#pragma once

#include "merge/keys.h"
#include "merge/query.h"

struct answer {
	struct rows rows;      /* first: rows_free() takes its address */
	struct key *keys;      /* [row]: as it is by line: with the file and line of the row */
	struct strings *texts; /* names that the profile does not hold */
};

static inline const struct answer *answer_of(const struct rows *rows)
{
	return (const struct answer *)rows;
}
