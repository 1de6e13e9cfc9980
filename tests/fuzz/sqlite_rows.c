// SPDX-License-Identifier: MIT
#include "tests/fuzz/sqlite_rows.h"

#include "merge/file/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The linker has calls of NAME go to __wrap_NAME, and what these call __real_NAME is NAME.
#define WRAPPED(type, name, ...)                                                                   \
	type __real_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__)

static struct {
	const struct rows *rows;
	uint32_t checksum; // of what was read of them
} served;

// A statement of ours.
struct cursor {
	const struct rows_table *table; // NULL: its rows have no columns that anybody reads
	bool asks_for_table;            // one row, if the table is there
	unsigned next;                  // row
	const struct rows_value *row;
	void *copies[ROWS_COLUMNS]; // texts and blobs of the row
	int copied;                 // up to that column
	struct rows_value checksum;
};

static struct rows_value take_value(sqlite3_stmt *select, int column)
{
	struct rows_value value = { .type = sqlite3_column_type(select, column) };

	if (value.type == SQLITE_INTEGER)
		value.integer = sqlite3_column_int64(select, column);
	if (value.type == SQLITE_FLOAT)
		value.real = sqlite3_column_double(select, column);
	if (value.type != SQLITE_TEXT && value.type != SQLITE_BLOB)
		return value;
	const void *bytes = sqlite3_column_blob(select, column);
	value.size = (size_t)sqlite3_column_bytes(select, column);
	void *copy = malloc(value.size + 1);
	if (!copy)
		abort();
	if (value.size)
		memcpy(copy, bytes, value.size);
	value.bytes = copy;
	return value;
}

static void load_table(struct rows_table *table, sqlite3 *db)
{
	char sql[64];
	sqlite3_stmt *select;

	snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY rowid", table->name);
	if (sqlite3_prepare_v2(db, sql, -1, &select, NULL) != SQLITE_OK)
		abort();
	table->columns = (unsigned)sqlite3_column_count(select);
	if (table->columns > ROWS_COLUMNS)
		abort();
	table->names = calloc(table->columns, sizeof(*table->names));
	for (unsigned i = 0; i < table->columns; i++)
		snprintf(table->names[i], ROWS_NAME, "%s", sqlite3_column_name(select, (int)i));
	size_t row = table->columns * sizeof(*table->values);
	table->values = malloc(ROWS_MORE * row);
	while (sqlite3_step(select) == SQLITE_ROW) {
		table->values = realloc(table->values, (table->rows + 1 + ROWS_MORE) * row);
		for (unsigned i = 0; i < table->columns; i++)
			table->values[table->rows * table->columns + i] =
				take_value(select, (int)i);
		table->rows++;
	}
	sqlite3_finalize(select);
}

void rows_load(struct rows *rows, sqlite3 *db)
{
	sqlite3_stmt *select;

	if (sqlite3_prepare_v2(db, "SELECT name FROM sqlite_schema WHERE type='table'", -1, &select,
	                       NULL) != SQLITE_OK)
		abort();
	while (sqlite3_step(select) == SQLITE_ROW) {
		if (rows->count == ROWS_TABLES)
			abort();
		struct rows_table *table = &rows->tables[rows->count++];
		snprintf(table->name, sizeof(table->name), "%s", sqlite3_column_text(select, 0));
		load_table(table, db);
	}
	sqlite3_finalize(select);
}

struct rows *rows_copy(const struct rows *rows)
{
	size_t values = 0;

	for (size_t i = 0; i < rows->count; i++)
		values += (rows->tables[i].rows + ROWS_MORE) * (size_t)rows->tables[i].columns;
	struct rows *copy = malloc(sizeof(*copy) + values * sizeof(struct rows_value));
	if (!copy)
		abort();
	copy->count = rows->count;
	memcpy(copy->tables, rows->tables, rows->count * sizeof(rows->tables[0]));
	struct rows_value *at = (void *)(copy + 1);
	for (size_t i = 0; i < rows->count; i++) {
		struct rows_table *table = &copy->tables[i];
		memcpy(at, table->values, (size_t)table->rows * table->columns * sizeof(*at));
		table->values = at;
		at += (table->rows + ROWS_MORE) * (size_t)table->columns;
	}
	return copy;
}

static const struct rows_table *find(const struct rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->tables[i].name, name) == 0)
			return &rows->tables[i];
	return NULL;
}

struct rows_table *rows_find(struct rows *rows, const char *table)
{
	return (struct rows_table *)(uintptr_t)find(rows, table);
}

bool rows_are_numbered(const struct rows_table *table)
{
	return strcmp(table->names[0], "id") == 0;
}

void rows_renumber(struct rows_table *table, unsigned row, int64_t id)
{
	struct rows_value moved[ROWS_COLUMNS];
	size_t width = table->columns, bytes = width * sizeof(moved[0]);
	struct rows_value *values = table->values;

	for (unsigned i = 0; i < table->rows; i++)
		if (i != row && values[i * width].integer == id)
			return; // there is such a row
	memcpy(moved, values + row * width, bytes);
	moved[0] = (struct rows_value){ .type = SQLITE_INTEGER, .integer = id };
	for (; row && values[(row - 1) * width].integer > id; row--)
		memcpy(values + row * width, values + (row - 1) * width, bytes);
	for (; row + 1 < table->rows && values[(row + 1) * width].integer < id; row++)
		memcpy(values + row * width, values + (row + 1) * width, bytes);
	memcpy(values + row * width, moved, bytes);
}

void rows_serve(const struct rows *rows)
{
	served.rows = rows;
	served.checksum = 0;
}

static sqlite3 *no_database(void)
{
	return (sqlite3 *)(void *)&served;
}

WRAPPED(int, sqlite3_open_v2, const char *name, sqlite3 **db, int flags, const char *vfs)
{
	if (!served.rows)
		return __real_sqlite3_open_v2(name, db, flags, vfs);
	*db = no_database();
	return SQLITE_OK;
}

WRAPPED(int, sqlite3_close, sqlite3 *db)
{
	return db == no_database() ? SQLITE_OK : __real_sqlite3_close(db);
}

WRAPPED(int, sqlite3_exec, sqlite3 *db, const char *sql, int (*take)(void *, int, char **, char **),
        void *context, char **message)
{
	return db == no_database() ? SQLITE_OK
	                           : __real_sqlite3_exec(db, sql, take, context, message);
}

// These three only the reader calls.
int __wrap_sqlite3_db_config(sqlite3 *db, int option, ...);
int __wrap_sqlite3_db_config(sqlite3 *db, int option, ...)
{
	(void)db, (void)option;
	return SQLITE_OK;
}

WRAPPED(int, sqlite3_limit, sqlite3 *db, int limit, int value)
{
	(void)db, (void)limit;
	return value;
}

WRAPPED(void, sqlite3_progress_handler, sqlite3 *db, int steps, int (*call)(void *), void *context)
{
	(void)db, (void)steps, (void)call, (void)context;
}

WRAPPED(int, sqlite3_deserialize, sqlite3 *db, const char *schema, unsigned char *bytes,
        sqlite3_int64 size, sqlite3_int64 room, unsigned flags)
{
	if (db != no_database())
		return __real_sqlite3_deserialize(db, schema, bytes, size, room, flags);
	sqlite3_free(bytes);
	return SQLITE_OK;
}

WRAPPED(int, sqlite3_errcode, sqlite3 *db)
{
	return db == no_database() ? SQLITE_ERROR : __real_sqlite3_errcode(db);
}

WRAPPED(const char *, sqlite3_errmsg, sqlite3 *db)
{
	return db == no_database() ? "no such rows" : __real_sqlite3_errmsg(db);
}

// The table of the reader's only statement with columns.
static const struct rows_table *table_of(const char *sql)
{
	char name[32];

	return sscanf(sql, "SELECT * FROM %31s ORDER BY rowid", name) == 1 ? find(served.rows, name)
	                                                                   : NULL;
}

WRAPPED(int, sqlite3_prepare_v2, sqlite3 *db, const char *sql, int size, sqlite3_stmt **statement,
        const char **tail)
{
	if (db != no_database())
		return __real_sqlite3_prepare_v2(db, sql, size, statement, tail);
	struct cursor *cursor = calloc(1, sizeof(*cursor));
	if (!cursor)
		abort();
	cursor->table = table_of(sql);
	*statement = (sqlite3_stmt *)(void *)cursor;
	return SQLITE_OK;
}

static void drop_copies(struct cursor *cursor)
{
	for (; cursor->copied; cursor->copied--) {
		free(cursor->copies[cursor->copied - 1]);
		cursor->copies[cursor->copied - 1] = NULL;
	}
}

WRAPPED(int, sqlite3_finalize, sqlite3_stmt *statement)
{
	if (!served.rows)
		return __real_sqlite3_finalize(statement);
	if (statement)
		drop_copies((struct cursor *)(void *)statement);
	free(statement);
	return SQLITE_OK;
}

WRAPPED(int, sqlite3_bind_text, sqlite3_stmt *statement, int number, const char *text, int size,
        void (*destroy)(void *))
{
	if (!served.rows)
		return __real_sqlite3_bind_text(statement, number, text, size, destroy);
	struct cursor *cursor = (void *)statement;
	cursor->asks_for_table = find(served.rows, text);
	return SQLITE_OK;
}

WRAPPED(int, sqlite3_reset, sqlite3_stmt *statement)
{
	if (!served.rows)
		return __real_sqlite3_reset(statement);
	struct cursor *cursor = (void *)statement;
	drop_copies(cursor);
	cursor->next = 0;
	return SQLITE_OK;
}

static void add_to_checksum(const struct rows_value *value)
{
	if (value->type == SQLITE_INTEGER)
		served.checksum = file_checksum_int(served.checksum, value->integer);
	else if (value->type == SQLITE_FLOAT)
		served.checksum = file_checksum_real(served.checksum, value->real);
	else
		served.checksum =
			file_checksum(served.checksum, value->type, value->bytes, value->size);
}

static bool next_row(struct cursor *cursor)
{
	const struct rows_table *table = cursor->table;

	drop_copies(cursor);
	if (!table) {
		bool first = cursor->asks_for_table && !cursor->next;
		cursor->next = 1;
		return first;
	}
	if (strcmp(table->name, "checksum") == 0) {
		cursor->checksum =
			(struct rows_value){ .type = SQLITE_INTEGER, .integer = served.checksum };
		cursor->row = &cursor->checksum;
		return true;
	}
	if (cursor->next == table->rows)
		return false;
	cursor->row = &table->values[cursor->next++ * (size_t)table->columns];
	for (unsigned i = 0; i < table->columns; i++)
		add_to_checksum(&cursor->row[i]);
	return true;
}

WRAPPED(int, sqlite3_step, sqlite3_stmt *statement)
{
	if (!served.rows)
		return __real_sqlite3_step(statement);
	return next_row((struct cursor *)(void *)statement) ? SQLITE_ROW : SQLITE_DONE;
}

WRAPPED(int, sqlite3_column_count, sqlite3_stmt *statement)
{
	const struct cursor *cursor = (void *)statement;

	if (!served.rows)
		return __real_sqlite3_column_count(statement);
	return cursor->table ? (int)cursor->table->columns : 1;
}

WRAPPED(int, sqlite3_column_type, sqlite3_stmt *statement, int column)
{
	const struct cursor *cursor = (void *)statement;

	return served.rows ? cursor->row[column].type
	                   : __real_sqlite3_column_type(statement, column);
}

// SIZE bytes that last until the next row, without a byte behind them.
static void *new_copy(struct cursor *cursor, int column, size_t size)
{
	free(cursor->copies[column]);
	void *copy = cursor->copies[column] = malloc(size);
	cursor->copied = cursor->copied > column ? cursor->copied : column + 1;
	if (!copy)
		abort();
	return copy;
}

#define NUMBER_BYTES 32

// The text of a number, as SQLite makes it; "" of none.
static size_t print(const struct rows_value *value, char out[NUMBER_BYTES])
{
	if (value->type == SQLITE_INTEGER)
		snprintf(out, NUMBER_BYTES, "%lld", (long long)value->integer);
	else if (value->type == SQLITE_FLOAT)
		snprintf(out, NUMBER_BYTES, "%.15g", value->real);
	else
		*out = '\0';
	return strlen(out);
}

// What a value is as bytes, a number in NUMBER.
static const void *bytes_of(const struct rows_value *value, char number[NUMBER_BYTES], size_t *size)
{
	bool bytes = value->type == SQLITE_TEXT || value->type == SQLITE_BLOB;

	*size = bytes ? value->size : print(value, number);
	return bytes ? value->bytes : number;
}

WRAPPED(const void *, sqlite3_column_blob, sqlite3_stmt *statement, int column)
{
	struct cursor *cursor = (void *)statement;
	char number[NUMBER_BYTES];
	size_t size;

	if (!served.rows)
		return __real_sqlite3_column_blob(statement, column);
	const void *bytes = bytes_of(&cursor->row[column], number, &size);
	return size ? memcpy(new_copy(cursor, column, size), bytes, size) : NULL;
}

WRAPPED(int, sqlite3_column_bytes, sqlite3_stmt *statement, int column)
{
	const struct cursor *cursor = (void *)statement;
	char number[NUMBER_BYTES];
	size_t size;

	if (!served.rows)
		return __real_sqlite3_column_bytes(statement, column);
	bytes_of(&cursor->row[column], number, &size);
	return (int)size;
}

WRAPPED(const unsigned char *, sqlite3_column_text, sqlite3_stmt *statement, int column)
{
	struct cursor *cursor = (void *)statement;
	char number[NUMBER_BYTES];
	size_t size;

	if (!served.rows)
		return __real_sqlite3_column_text(statement, column);
	if (cursor->row[column].type == SQLITE_NULL)
		return NULL;
	const void *bytes = bytes_of(&cursor->row[column], number, &size);
	unsigned char *copy = new_copy(cursor, column, size + 1);
	memcpy(copy, bytes, size);
	copy[size] = '\0';
	return copy;
}

// A number at the beginning of a text is its value, else 0. False if it is no text.
static bool is_text(const struct rows_value *value, char out[NUMBER_BYTES])
{
	size_t length = value->size < NUMBER_BYTES - 1 ? value->size : NUMBER_BYTES - 1;

	if (value->type != SQLITE_TEXT && value->type != SQLITE_BLOB)
		return false;
	memcpy(out, value->bytes, length);
	out[length] = '\0';
	return true;
}

WRAPPED(sqlite3_int64, sqlite3_column_int64, sqlite3_stmt *statement, int column)
{
	const struct cursor *cursor = (void *)statement;
	char text[NUMBER_BYTES];

	if (!served.rows)
		return __real_sqlite3_column_int64(statement, column);
	const struct rows_value *value = &cursor->row[column];
	if (value->type == SQLITE_FLOAT)
		return value->real >= 0x1p63    ? INT64_MAX
		       : value->real >= -0x1p63 ? (int64_t)value->real
		                                : INT64_MIN;
	return is_text(value, text) ? strtoll(text, NULL, 10) : value->integer;
}

WRAPPED(double, sqlite3_column_double, sqlite3_stmt *statement, int column)
{
	const struct cursor *cursor = (void *)statement;
	char text[NUMBER_BYTES];

	if (!served.rows)
		return __real_sqlite3_column_double(statement, column);
	const struct rows_value *value = &cursor->row[column];
	if (value->type == SQLITE_FLOAT)
		return value->real;
	return is_text(value, text) ? strtod(text, NULL) : (double)value->integer;
}
