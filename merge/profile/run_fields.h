/* SPDX-License-Identifier: MIT */
/*
 * The fields of struct run by name, so that copying, writing and reading are loops.
 */
#pragma once

#include "merge/profile/profile.h"

#include <stddef.h>

enum run_type {
	RUN_TEXT,
	RUN_U64,
	RUN_U32,
	RUN_INT,
	RUN_BOOL
};

struct run_field {
	const char *key; /* in the table "run" of the file: never change one */
	enum run_type type;
	size_t offset;
};

extern const struct run_field run_fields[];
extern const size_t run_field_count;

static inline void *run_at(const struct run *run, const struct run_field *field)
{
	return (char *)run + field->offset;
}

static inline const char **run_text(const struct run *run, const struct run_field *field)
{
	return run_at(run, field);
}

int64_t run_get(const struct run *run, const struct run_field *field);

/* False if VALUE does not fit. */
bool run_set(struct run *run, const struct run_field *field, int64_t value);
