/* SPDX-License-Identifier: MIT */
/*
 * A table as it is written for programs: rows of named values, as JSON or as CSV.
 *
 *	static void put(struct sheet *s, const void *row)
 *	{
 *		const struct file_row *file = row;
 *		sheet_text(s, "path", file->path);
 *		sheet_count(s, "bytes", file->bytes);
 *	}
 *	sheet_rows(s, put, rows, count, sizeof(*rows), &(struct file_row){ 0 });
 *
 * One function says what the columns are and what is in them: every row has all of them, in the
 * same order. Units are in the names. What is not known is null, and nothing in CSV.
 *
 * JSON: an array of objects. CSV is that of RFC 4180, in UTF-8, with a line of names first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json;
struct section;

struct sheet {
	struct json *json; /* NULL: CSV */
	FILE *out;         /* of CSV */
	bool names;        /* the names of columns are wanted, not a row */
	bool any;          /* something stands in the line already */
	uint64_t all;      /* what shares of time are shares of; the table's affair */
};

typedef void sheet_put(struct sheet *s, const void *row);

/* COUNT rows of SIZE bytes; NONE is one that PUT can be asked for names with. */
void sheet_rows(struct sheet *s, sheet_put *put, const void *rows, size_t count, size_t size,
                const void *none);

/* The values of a row. NULL and "" are not known. */
void sheet_text(struct sheet *s, const char *column, const char *text);
void sheet_count(struct sheet *s, const char *column, uint64_t number);
void sheet_known(struct sheet *s, const char *column, uint64_t number); /* 0: it is not */
void sheet_integer(struct sheet *s, const char *column, int64_t number);
void sheet_number(struct sheet *s, const char *column, double number);
void sheet_share(struct sheet *s, const char *column, uint64_t part, uint64_t all);
void sheet_bool(struct sheet *s, const char *column, bool value);

/* A section that was made for READER_SHEET: all of its rows. */
void sheet_section(struct sheet *s, const struct section *section);
