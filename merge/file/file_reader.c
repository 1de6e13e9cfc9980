// SPDX-License-Identifier: MIT
#include "merge/file/file_reader.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int file_reader_damaged(struct file_reader *r, const char *what)
{
	error_set(r->err, 0, "\"%s\" is damaged: %s", r->path, what);
	return error_hint(r->err, "Profile the program again.");
}

int file_reader_no_memory(struct file_reader *r)
{
	return error_set(r->err, ENOMEM, "could not read \"%s\"", r->path);
}

static int failed(struct file_reader *r)
{
	if (sqlite3_errcode(r->db) == SQLITE_NOMEM)
		return file_reader_no_memory(r);
	return file_reader_damaged(r, sqlite3_errmsg(r->db));
}

unsigned char *file_reader_load(const char *path, size_t *size, uid_t *owner, struct error *err)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		error_set(err, errno, "could not read \"%s\"", path);
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		error_set(err, S_ISDIR(st.st_mode) ? EISDIR : EINVAL, "could not read \"%s\"",
		          path);
		return NULL;
	}
	if (st.st_size > FILE_BYTES_MAX) {
		error_set(err, EFBIG, "could not read \"%s\"", path);
		return NULL;
	}
	*size = (size_t)st.st_size;
	*owner = st.st_uid;
	unsigned char *bytes = sqlite3_malloc64(*size + 1);
	for (size_t done = 0; bytes && done < *size;) {
		ssize_t n = read(fd, bytes + done, *size - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		error_set(err, n < 0 ? errno : EIO, "could not read \"%s\"", path);
		sqlite3_free(bytes);
		return NULL;
	}
	if (!bytes)
		error_set(err, ENOMEM, "could not read \"%s\"", path);
	return bytes;
}

static uint32_t big_endian(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

#define HEADER_BYTES 100 // of an SQLite file, see its file format, 1.3

static int check_schema_version(struct file_reader *r, uint32_t schema)
{
	if (schema > FILE_SCHEMA) {
		error_set(r->err, 0,
		          "\"%s\" was written by a newer bottleneck (schema %u, this one reads %d)",
		          r->path, schema, FILE_SCHEMA);
		return error_hint(r->err, "Read it with the version that wrote it.");
	}
	if (!schema)
		return file_reader_damaged(r, "its schema has no version");
	if (schema < FILE_SCHEMA) {
		error_set(
			r->err, 0,
			"\"%s\" was written by an older bottleneck (schema %u, this one reads %d)",
			r->path, schema, FILE_SCHEMA);
		return error_hint(r->err, "Profile the program again.");
	}
	return 0;
}

// Says in our words what a header tells, before SQLite sees it.
static int check_header(struct file_reader *r, const unsigned char *bytes, size_t size)
{
	size_t page = size >= HEADER_BYTES ? (size_t)bytes[16] << 8 | bytes[17] : 0;

	if (size == 0)
		return error_set(r->err, 0, "\"%s\" is empty", r->path);
	if (memcmp(bytes, "SQLite format 3", size < 16 ? size : 16) != 0)
		return error_set(r->err, 0, "\"%s\" is not a profile", r->path);
	if (size < HEADER_BYTES)
		return file_reader_damaged(r, "it is cut off");
	if (big_endian(bytes + 68) != FILE_APPLICATION_ID)
		return error_set(
			r->err, 0,
			"\"%s\" is not a profile, but an SQLite database of something else",
			r->path);
	if (check_schema_version(r, big_endian(bytes + 60)) < 0)
		return -1;
	if ((page == 1 ? 65536 : page) * big_endian(bytes + 28) > size)
		return file_reader_damaged(r, "it is cut off");
	return 0;
}

static int count_steps(void *context)
{
	struct file_reader *r = context;

	return --r->steps_left < 0; // not 0: stop
}

// Takes over BYTES in any case.
static int open_database(struct file_reader *r, unsigned char *bytes, size_t size)
{
	// Reading takes some twenty steps a row, and no row is smaller than two bytes.
	r->steps_left = 1000 + (int64_t)size / 10;
	if (sqlite3_open_v2(":memory:", &r->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
	                    NULL) != SQLITE_OK) {
		sqlite3_free(bytes);
		return file_reader_no_memory(r);
	}
	sqlite3_db_config(r->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(r->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_limit(r->db, SQLITE_LIMIT_LENGTH, 64 << 20);
	sqlite3_progress_handler(r->db, 1000, count_steps, r);
	if (sqlite3_deserialize(r->db, "main", bytes, (sqlite3_int64)size, (sqlite3_int64)size,
	                        SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) !=
	    SQLITE_OK)
		return failed(r);
	if (sqlite3_exec(r->db, "PRAGMA cell_size_check=ON", NULL, NULL, NULL) != SQLITE_OK)
		return failed(r);
	return 0;
}

// True if STATEMENT finds a row; -1 on error.
static int finds(struct file_reader *r, sqlite3_stmt *statement)
{
	int step = sqlite3_step(statement);

	return step == SQLITE_ROW ? 1 : step == SQLITE_DONE ? 0 : failed(r);
}

// A virtual table is code of SQLite's modules that runs on what is in the file. What a row of the
// schema says of itself need not be what its text makes, so the text decides.
static int check_schema(struct file_reader *r)
{
	static const char sql[] = "SELECT 1 FROM sqlite_schema WHERE sql NOT GLOB 'CREATE TABLE *'"
				  " AND sql NOT GLOB 'CREATE VIEW *'";
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(r->db, sql, -1, &statement, NULL) != SQLITE_OK)
		return failed(r);
	int other = finds(r, statement);
	sqlite3_finalize(statement);
	if (other > 0)
		return file_reader_damaged(r, "it holds something else than tables");
	return other;
}

int file_reader_open(struct file_reader *r, unsigned char *bytes, size_t size)
{
	if (check_header(r, bytes, size) < 0) {
		sqlite3_free(bytes);
		return -1;
	}
	if (open_database(r, bytes, size) < 0)
		return -1;
	return check_schema(r);
}

// A view in the place of a table could compute for ever, or anything.
static int check_is_table(struct file_reader *r, const char *name)
{
	static const char sql[] = "SELECT 1 FROM sqlite_schema WHERE type='table' AND name=?1"
				  " AND rootpage > 0 AND sql GLOB 'CREATE TABLE '||?1||'(*'";

	if (!r->is_table && sqlite3_prepare_v2(r->db, sql, -1, &r->is_table, NULL) != SQLITE_OK)
		return failed(r);
	sqlite3_bind_text(r->is_table, 1, name, -1, SQLITE_STATIC);
	int found = finds(r, r->is_table);
	sqlite3_reset(r->is_table);
	if (!found)
		return file_reader_damaged(r, "a table is missing");
	return found < 0 ? -1 : 0;
}

int file_reader_begin(struct file_reader *r, const char *table)
{
	char sql[64];

	if (check_is_table(r, table) < 0)
		return -1;
	snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY rowid", table);
	sqlite3_finalize(r->select);
	r->select = NULL;
	return sqlite3_prepare_v2(r->db, sql, -1, &r->select, NULL) == SQLITE_OK ? 0 : failed(r);
}

static void add_to_checksum(struct file_reader *r, int column)
{
	int type = sqlite3_column_type(r->select, column);

	if (type == SQLITE_INTEGER) {
		int64_t value = sqlite3_column_int64(r->select, column);
		r->checksum = file_checksum_int(r->checksum, value);
		return;
	}
	if (type == SQLITE_FLOAT) {
		double value = sqlite3_column_double(r->select, column);
		r->checksum = file_checksum_real(r->checksum, value);
		return;
	}
	// The bytes as they are stored, for whatever else there is.
	const void *bytes = sqlite3_column_blob(r->select, column);
	size_t size = bytes ? (size_t)sqlite3_column_bytes(r->select, column) : 0;
	r->checksum = file_checksum(r->checksum, type, bytes, size);
}

int file_reader_next(struct file_reader *r, int width)
{
	int step = sqlite3_step(r->select);

	if (step == SQLITE_DONE)
		return 0;
	if (step != SQLITE_ROW)
		return failed(r);
	if (sqlite3_column_count(r->select) != width)
		return file_reader_damaged(r, "a table has other columns");
	for (int i = 0; i < width; i++)
		add_to_checksum(r, i);
	return 1;
}

int64_t file_reader_int(struct file_reader *r, int column)
{
	return sqlite3_column_int64(r->select, column);
}

double file_reader_real(struct file_reader *r, int column)
{
	return sqlite3_column_double(r->select, column);
}

uint32_t file_reader_id(struct file_reader *r, int column, uint64_t most, bool *ok)
{
	int64_t value = sqlite3_column_int64(r->select, column);

	if (value >= 0 && (uint64_t)value <= most)
		return (uint32_t)value;
	*ok = false;
	return 0;
}

const char *file_reader_text(struct file_reader *r, int column)
{
	if (sqlite3_column_type(r->select, column) != SQLITE_TEXT)
		return NULL;
	return (const char *)sqlite3_column_text(r->select, column);
}

uint32_t file_reader_string(struct file_reader *r, int column, bool *ok)
{
	const char *text = file_reader_text(r, column);
	uint32_t id = strings_add(r->profile->strings, text);

	*ok &= id || !text;
	return id;
}

static int take_chunk(struct file_reader *r, struct columns *c, uint64_t *total,
                      int (*take)(struct file_reader *, struct columns *, uint32_t))
{
	bool ok = true;
	uint32_t rows = file_reader_id(r, 1, COLUMNS_ROWS, &ok);
	const void *blob = sqlite3_column_blob(r->select, 2);
	size_t size = blob ? (size_t)sqlite3_column_bytes(r->select, 2) : 0;

	*total += rows;
	if (!ok || !rows || !blob || *total > FILE_ROWS_MAX)
		return file_reader_damaged(r, "a block has a wrong size");
	// Room for what there is: most blocks have a few rows of the many that they may have.
	if (rows > c->room) {
		uint32_t width = c->width;
		uint64_t deltas = c->deltas;
		columns_fini(c);
		if (!columns_init(c, width, deltas, rows))
			return file_reader_no_memory(r);
	}
	if (!columns_unpack(c, rows, blob, size))
		return file_reader_damaged(r, "a block cannot be unpacked");
	for (uint32_t row = 0; row < rows; row++)
		if (take(r, c, row) < 0)
			return -1;
	return 0;
}

int file_reader_chunks(struct file_reader *r, const char *table, uint32_t width, uint64_t deltas,
                       int (*take)(struct file_reader *, struct columns *, uint32_t))
{
	cleanup(columns) struct columns c = { .width = width, .deltas = deltas };
	uint64_t total = 0;
	int more;

	if (file_reader_begin(r, table) < 0)
		return -1;
	while ((more = file_reader_next(r, 3)) > 0)
		if (take_chunk(r, &c, &total, take) < 0)
			return -1;
	return more;
}

int file_reader_rows(struct file_reader *r, const char *table, int width,
                     int (*take)(struct file_reader *))
{
	int more;

	if (file_reader_begin(r, table) < 0)
		return -1;
	while ((more = file_reader_next(r, width)) > 0)
		if (take(r) < 0)
			return -1;
	return more;
}

bool file_reader_add(uint64_t *sum, uint64_t value)
{
	if (value > INT64_MAX - *sum)
		return false;
	*sum += value;
	return true;
}
