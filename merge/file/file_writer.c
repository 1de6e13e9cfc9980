// SPDX-License-Identifier: MIT
#include "merge/file/file_writer.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int failed(struct file_writer *w)
{
	return error_set(w->err, sqlite3_errcode(w->db) == SQLITE_NOMEM ? ENOMEM : 0,
	                 "could not pack the profile (%s)", sqlite3_errmsg(w->db));
}

int file_writer_no_memory(struct file_writer *w)
{
	return error_set(w->err, ENOMEM, "could not pack the profile");
}

int file_writer_sql(struct file_writer *w, const char *sql)
{
	return sqlite3_exec(w->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : failed(w);
}

int file_writer_begin(struct file_writer *w, const char *table, int width, bool checked)
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
	return sqlite3_prepare_v2(w->db, sql, -1, &w->insert, NULL) == SQLITE_OK ? 0 : failed(w);
}

void file_writer_int(struct file_writer *w, int64_t value)
{
	sqlite3_bind_int64(w->insert, ++w->column, value);
	if (w->checked)
		w->checksum = file_checksum_int(w->checksum, value);
}

void file_writer_real(struct file_writer *w, double value)
{
	sqlite3_bind_double(w->insert, ++w->column, value);
	if (w->checked)
		w->checksum = file_checksum_real(w->checksum, value);
}

void file_writer_bytes(struct file_writer *w, int type, const void *bytes, size_t size)
{
	if (type == SQLITE_TEXT)
		sqlite3_bind_text(w->insert, ++w->column, bytes, (int)size, SQLITE_TRANSIENT);
	else
		sqlite3_bind_blob(w->insert, ++w->column, bytes, (int)size, SQLITE_TRANSIENT);
	if (w->checked)
		w->checksum = file_checksum(w->checksum, type, bytes, size);
}

void file_writer_null(struct file_writer *w)
{
	sqlite3_bind_null(w->insert, ++w->column);
	if (w->checked)
		w->checksum = file_checksum(w->checksum, SQLITE_NULL, NULL, 0);
}

void file_writer_text(struct file_writer *w, const char *text)
{
	if (text)
		file_writer_bytes(w, SQLITE_TEXT, text, strlen(text));
	else
		file_writer_null(w);
}

void file_writer_string(struct file_writer *w, uint32_t id)
{
	file_writer_text(w, strings_get(w->profile->strings, id));
}

void file_writer_id(struct file_writer *w, uint32_t id)
{
	if (id)
		file_writer_int(w, id);
	else
		file_writer_null(w);
}

int file_writer_row(struct file_writer *w)
{
	w->column = 0;
	if (sqlite3_step(w->insert) != SQLITE_DONE)
		return failed(w);
	sqlite3_reset(w->insert);
	sqlite3_clear_bindings(w->insert);
	return 0;
}

int file_writer_fact(struct file_writer *w, const char *key, int64_t value)
{
	file_writer_text(w, key);
	file_writer_int(w, value);
	return file_writer_row(w);
}

static int write_chunk(struct file_writer *w, uint32_t id, const struct columns *c)
{
	size_t size;
	// A checkpoint is replaced soon: it need not be small, but cheap.
	int level = w->profile->run.complete ? 6 : 1;
	cleanup_free void *blob = columns_pack(c, level, &size);

	if (!blob)
		return file_writer_no_memory(w);
	file_writer_int(w, id);
	file_writer_int(w, c->rows);
	file_writer_bytes(w, SQLITE_BLOB, blob, size);
	return file_writer_row(w);
}

int file_writer_chunks(struct file_writer *w, const struct chunked *chunked)
{
	cleanup(columns) struct columns c = { 0 };
	uint32_t id = 0;

	if (!columns_init(&c, chunked->width, chunked->deltas, COLUMNS_ROWS))
		return file_writer_no_memory(w);
	if (file_writer_begin(w, chunked->table, 3, true) < 0)
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
