/* SPDX-License-Identifier: MIT */
/*
 * Rows into the tables of a profile file. For the files of merge/ alone.
 *
 *	writer_begin(w, "string", 2, true);
 *	for (...) {
 *		writer_int(w, id);
 *		writer_text(w, text);
 *		writer_row(w);
 *	}
 *
 * What returns an int is -1 on failure, with the writer's error set. Putting a
 * value can only fail for want of memory, and then so does the row.
 */
#pragma once

#include "merge/file.h"
#include "merge/profile_data.h"

struct writer {
	const struct profile *profile;
	sqlite3 *db;
	sqlite3_stmt *insert; /* into the table that is being filled */
	int column;
	bool checked; /* what is inserted counts for the checksum */
	uint32_t checksum;
	struct error *err;
};

int writer_failed(struct writer *w);
int writer_no_memory(struct writer *w);

int writer_sql(struct writer *w, const char *sql);

/* Rows of WIDTH columns; CHECKED: they count for the checksum. */
int writer_begin(struct writer *w, const char *table, int width, bool checked);

void writer_int(struct writer *w, int64_t value);
void writer_bytes(struct writer *w, int type, const void *bytes, size_t size);
void writer_null(struct writer *w);
void writer_text(struct writer *w, const char *text); /* NULL is fine */
void writer_string(struct writer *w, uint32_t id);
void writer_id(struct writer *w, uint32_t id); /* NULL instead of 0 */

/* The row is complete. */
int writer_row(struct writer *w);

int writer_fact(struct writer *w, const char *key, int64_t value);

/* A table of blobs: FILL puts row INDEX of TOTAL into row AT of the columns. */
struct chunked {
	const char *table;
	uint32_t total;
	uint32_t width, deltas;
	void (*fill)(const struct writer *w, const void *context, uint32_t index, struct columns *c,
	             uint32_t at);
	const void *context;
};

int writer_chunks(struct writer *w, const struct chunked *chunked);

/* The tables of ops and of memory, if there are any: merge/file_write_ops.c. */
int write_op_facts(struct writer *w);
int write_op_names(struct writer *w);
int write_ops(struct writer *w);

/* For people, who ask in SQL. */
int write_op_rows(struct writer *w);
