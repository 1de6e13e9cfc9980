/* SPDX-License-Identifier: MIT */
/*
 * Rows under headings, fitted to the width of the terminal.
 *
 * Columns of numbers keep their natural width and stand on the right; columns
 * of text share what is left and are clipped where they must be. A table is its
 * maker's, who frees it, and one thread's at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "base/format.h"
#include "cli/terminal.h"

#include <stddef.h>

struct table;

enum column_kind {
	COLUMN_NUMBER,
	COLUMN_WORD,
	COLUMN_TEXT
};

struct column {
	const char *title;
	enum column_kind kind; /* NUMBER on the right, WORD on the left: neither is clipped */
	enum clip clip;        /* TEXT only */
	int share;             /* TEXT only: of the room that is left, against the others' */
};

/* COLUMNS and TERMINAL are borrowed. NULL if there is no memory. */
struct table *table_new(const struct column *columns, size_t count, const struct terminal *t);
void table_free(struct table *table);

CLEANUP(table, struct table *, table_free)

/* Begins a row. Where memory is short, cells stay empty. */
void table_row(struct table *table, enum style style);

/* The next cell of the row; TEXT is cleaned and copied. */
void table_cell(struct table *table, const char *text);
void table_styled(struct table *table, const char *text, enum style style);

/* Prints all rows, INDENT columns in. -1 if there is no memory. */
int table_print(const struct table *table, FILE *out, int indent);
