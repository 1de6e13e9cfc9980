/* SPDX-License-Identifier: MIT */
/*
 * Rows in memory in the place of a database, for the fuzz target of what reads profiles: SQLite,
 * which is not ours, else takes nine tenths of the time. A program that is linked with the options
 * of tests/cmake/merge.cmake has its calls of SQLite come here; they go on to SQLite unless rows
 * are served.
 *
 * Rows have the types and the order that SQLite has them in. Texts and blobs last until the next
 * row, to the byte, so that the sanitizer sees who reads them later or beyond their ends.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROWS_COLUMNS 40
#define ROWS_TABLES  64
#define ROWS_NAME    24

/* BYTES are its reader's or its writer's, and outlive it. */
struct rows_value {
	int type; /* SQLITE_INTEGER, SQLITE_TEXT, SQLITE_BLOB, SQLITE_FLOAT, SQLITE_NULL */
	int64_t integer;
	double real;
	const void *bytes;
	size_t size;
};

struct rows_table {
	char name[32];
	unsigned columns, rows;
	char (*names)[ROWS_NAME];  /* of the columns */
	struct rows_value *values; /* [row * columns + column], with room for ROWS_MORE more rows */
};

#define ROWS_MORE 2

struct rows {
	struct rows_table tables[ROWS_TABLES];
	size_t count;
};

/* All tables of a database, for good. */
void rows_load(struct rows *rows, sqlite3 *db);

/* Another one with the same. To be freed with free(). */
struct rows *rows_copy(const struct rows *rows);

struct rows_table *rows_find(struct rows *rows, const char *table);

/* The number of a row, which its table is in the order of, becomes ID. */
void rows_renumber(struct rows_table *table, unsigned row, int64_t id);
bool rows_are_numbered(const struct rows_table *table);

/* From now on these are what there is in any database. NULL: SQLite answers itself. */
void rows_serve(const struct rows *rows);
