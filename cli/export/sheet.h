/* SPDX-License-Identifier: MIT */
/*
 * A section as it is written for programs: rows of named values, as JSON or as CSV.
 *
 * Every row has all columns, in the same order. Units are in the names. What is not known is null,
 * and nothing in CSV.
 *
 * JSON: an array of objects. CSV is that of RFC 4180, in UTF-8, with a line of names first.
 */
#pragma once

#include <stdio.h>

struct error;
struct exporting;
struct json;
struct report_table;
struct section;

struct sheet {
	struct json *json; /* NULL: CSV */
	FILE *out;         /* of CSV */
};

/* All rows of a section that was made for READER_SHEET. */
void sheet_section(const struct sheet *s, const struct section *section);

/* All rows of TABLE. -1 if the question could not be answered. */
int sheet_table(const struct sheet *s, const struct report_table *table, const struct exporting *e,
                struct error *err);
