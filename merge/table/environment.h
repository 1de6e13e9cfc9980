/* SPDX-License-Identifier: MIT */
/*
 * What a run ran on and with: versions of the interpreter and of libraries, the machine, variables
 * of the environment that change how fast programs are.
 *
 * Rows of texts, in the order in which they are shown; as one text they are a field of struct run.
 * One thread at a time.
 */
#pragma once

#include "base/cleanup.h"

#include <stddef.h>
#include <stdio.h>

#define ENVIRONMENT_ROWS 256 /* more are left out */

struct environment_row {
	const char *kind;  /* "python", "library", "gpu", "cpu", "system", "variable" */
	const char *name;  /* "torch", "OMP_NUM_THREADS" */
	const char *value; /* "2.1.0"; "" if it is there, and no more is known */
	const char *path;  /* of the file that was in use; "" if it is of none */
};

struct environment {
	struct environment_row rows[ENVIRONMENT_ROWS]; /* their texts are in TEXT */
	size_t count;
	char *text;
};

/* Writes ROW, NULL for "", as a line that environment_parse() takes; control characters, as far as
   they are there, become blanks. */
void environment_print(FILE *out, const struct environment_row *row);

/* The rows in TEXT, which may be NULL. A line that is no row is left out. NULL if there is no
   memory. */
struct environment *environment_parse(const char *text);
void environment_free(struct environment *e);

CLEANUP(environment, struct environment *, environment_free)

/* The value of the row of KIND and NAME; NULL if there is none. */
const char *environment_find(const struct environment *e, const char *kind, const char *name);
