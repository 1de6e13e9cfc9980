// SPDX-License-Identifier: MIT
#include "merge/file_writer.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int writer_failed(struct writer *w)
{
	return error_set(w->err, sqlite3_errcode(w->db) == SQLITE_NOMEM ? ENOMEM : 0,
	                 "could not pack the profile (%s)", sqlite3_errmsg(w->db));
}

int writer_no_memory(struct writer *w)
{
	return error_set(w->err, ENOMEM, "could not pack the profile");
}

int writer_sql(struct writer *w, const char *sql)
{
	return sqlite3_exec(w->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : writer_failed(w);
}

int writer_begin(struct writer *w, const char *table, int width, bool checked)
{
	char sql[256];
	int length = snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES(?", table);

	for (int i = 1; i < width; i++)
		length += snprintf(sql + length, sizeof(sql) - (size_t)length, ",?");
	snprintf(sql + length, sizeof(sql) - (size_t)length, ")");
	sqlite3_finalize(w->insert);
	w->insert = NULL;
	w->column = 0;
	w->checked = checked;
	return sqlite3_prepare_v2(w->db, sql, -1, &w->insert, NULL) == SQLITE_OK ? 0
	                                                                         : writer_failed(w);
}

void writer_int(struct writer *w, int64_t value)
{
	sqlite3_bind_int64(w->insert, ++w->column, value);
	if (w->checked)
		w->checksum = file_checksum_int(w->checksum, value);
}

void writer_bytes(struct writer *w, int type, const void *bytes, size_t size)
{
	if (type == SQLITE_TEXT)
		sqlite3_bind_text(w->insert, ++w->column, bytes, (int)size, SQLITE_TRANSIENT);
	else
		sqlite3_bind_blob(w->insert, ++w->column, bytes, (int)size, SQLITE_TRANSIENT);
	if (w->checked)
		w->checksum = file_checksum(w->checksum, type, bytes, size);
}

void writer_null(struct writer *w)
{
	sqlite3_bind_null(w->insert, ++w->column);
	if (w->checked)
		w->checksum = file_checksum(w->checksum, SQLITE_NULL, NULL, 0);
}

void writer_text(struct writer *w, const char *text)
{
	if (text)
		writer_bytes(w, SQLITE_TEXT, text, strlen(text));
	else
		writer_null(w);
}

void writer_string(struct writer *w, uint32_t id)
{
	writer_text(w, strings_get(w->profile->strings, id));
}

void writer_id(struct writer *w, uint32_t id)
{
	if (id)
		writer_int(w, id);
	else
		writer_null(w);
}

int writer_row(struct writer *w)
{
	w->column = 0;
	if (sqlite3_step(w->insert) != SQLITE_DONE)
		return writer_failed(w);
	sqlite3_reset(w->insert);
	sqlite3_clear_bindings(w->insert);
	return 0;
}

int writer_fact(struct writer *w, const char *key, int64_t value)
{
	writer_text(w, key);
	writer_int(w, value);
	return writer_row(w);
}

static int write_chunk(struct writer *w, uint32_t id, const struct columns *c)
{
	size_t size;
	// A checkpoint is replaced soon: it need not be small, but cheap.
	int level = w->profile->run.complete ? 6 : 1;
	cleanup_free void *blob = columns_pack(c, level, &size);

	if (!blob)
		return writer_no_memory(w);
	writer_int(w, id);
	writer_int(w, c->rows);
	writer_bytes(w, SQLITE_BLOB, blob, size);
	return writer_row(w);
}

int writer_chunks(struct writer *w, const struct chunked *chunked)
{
	cleanup(columns) struct columns c = { 0 };
	uint32_t id = 0;

	if (!columns_init(&c, chunked->width, chunked->deltas))
		return writer_no_memory(w);
	if (writer_begin(w, chunked->table, 3, true) < 0)
		return -1;
	for (uint32_t first = 0; first < chunked->total; first += c.rows) {
		uint32_t rest = chunked->total - first;
		c.rows = rest < COLUMNS_ROWS ? rest : COLUMNS_ROWS;
		for (uint32_t i = 0; i < c.rows; i++)
			chunked->fill(w, chunked->context, first + i, &c, i);
		if (write_chunk(w, ++id, &c) < 0)
			return -1;
	}
	return 0;
}
