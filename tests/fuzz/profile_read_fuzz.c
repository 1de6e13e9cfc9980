// SPDX-License-Identifier: MIT
/*
 * Values of profile files: whatever they are, profile_read() refuses them or they answer.
 *
 * Rows in memory are served in the place of a file, tests/fuzz/sqlite_rows.h; whole files are what
 * profile_file has. An input are the plain bytes of the blobs of an otherwise sound file: for each
 * table of blobs a u16 of rows, a u16 of length, and so many bytes. With four of them the file
 * knows nothing of ops and memory; with more it does, and with more than eight of GPUs and ranks.
 * 0xffff rows leave a table as it is; 0xfffe of the first leave all as they are in a file with all
 * the tables that those have not. What follows the last blob are changes of single values, see
 * struct edit.
 *
 * To ask everything takes longer than to read. While libFuzzer draws the inputs, those whose hash
 * says so are asked, one of ASK_EVERY; stored ones all are.
 */
#include "tests/fuzz/profile_base.h"
#include "tests/fuzz/sqlite_rows.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "merge/file/file.h"
#include "merge/profile/profile_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

#define ASK_EVERY          4

#define TABLES_WITHOUT_OPS 4
#define TABLES_WITHOUT_GPU 8
#define TABLES             17
#define TABLE_SHARES       14
#define TABLE_SLICES       15
#define TABLE_MEETINGS     16
#define AS_IT_IS           0xffffu // rows
#define AS_IT_IS_REST      0xfffeu

static const char *const tables[TABLES] = {
	"place_chunk",    "location_chunk",  "node_chunk",         "cell_chunk",
	"op_chunk",       "op_bin_chunk",    "op_duration_chunk",  "site_chunk",
	"chain_chunk",    "series_chunk",    "gpu_duration_chunk", "gpu_idle_chunk",
	"gpu_cell_chunk", "gpu_state_chunk", "rank_share_chunk",   "slice_chunk",
	"meeting_chunk"
};

static const char *const plain_tables[] = { "run",         "module",   "op_name",    "process",
	                                    "thread",      "series",   "gpu_count",  "gpu_device",
	                                    "gpu_stream",  "gpu_work", "gpu_pc",     "gpu_stall",
	                                    "slice_chunk", "rank",     "gpu_managed" };

#define PLAIN_TABLES (sizeof(plain_tables) / sizeof(plain_tables[0]))

#define HEADER_BYTES 100 // of an SQLite file, which is all that is read of it
#define PAGES_AT     28  // how many it has

static struct base {
	struct rows rows;
	int fd; // of its header
} bases[BASES];

// What is done with a row of a plain table.
enum change {
	CHANGE_NUMBER, // of a column
	CHANGE_SUM,    // to a number of a column this is added
	CHANGE_TEXT,   // a column becomes one of the texts
	CHANGE_NULL,
	CHANGE_REAL,
	CHANGE_GONE,   // the row
	CHANGE_AGAIN,  // the row is there again, with the next number
	CHANGE_VARINT, // of a row with a blob: that of the numbers in it that COLUMN draws
	CHANGE_VARINT_SUM,
	CHANGES
};

struct edit {
	uint8_t table, row, column, change;
	uint8_t value[8]; // little-endian
};

struct chunk {
	unsigned rows;
	const uint8_t *plain;
	size_t size;
};

static bool is_rest(const struct chunk *chunks, size_t count)
{
	return count == 1 && chunks[0].rows == AS_IT_IS_REST;
}

// How many there are.
static size_t split(const uint8_t *data, size_t size, struct chunk chunks[TABLES],
                    struct chunk *edits)
{
	size_t count = 0;

	for (; count < TABLES && size >= 4 && !is_rest(chunks, count); count++) {
		size_t length = data[2] | (size_t)data[3] << 8;
		length = length < size - 4 ? length : size - 4;
		chunks[count] =
			(struct chunk){ data[0] | (unsigned)data[1] << 8, data + 4, length };
		data += 4 + length;
		size -= 4 + length;
	}
	*edits = (struct chunk){ (unsigned)(size / sizeof(struct edit)), data, size };
	return count;
}

static void set_number(struct rows_value *to, int64_t number)
{
	*to = (struct rows_value){ .type = SQLITE_INTEGER, .integer = number };
}

// A blob as zlib has it that does not compress: to compress takes longer than all the rest.
static void *store(const uint8_t *plain, size_t size, size_t *stored_size)
{
	static const uint8_t head[] = { 0x78, 0x01, 0x01 };
	size_t at = sizeof(head);
	uint32_t sum = (uint32_t)adler32(1, plain, (uInt)size);
	uint8_t *stored = malloc(at + 4 + size + 4);

	if (!stored || size > UINT16_MAX)
		abort();
	memcpy(stored, head, at);
	stored[at++] = (uint8_t)size;
	stored[at++] = (uint8_t)(size >> 8);
	stored[at++] = (uint8_t)~size;
	stored[at++] = (uint8_t)(~size >> 8);
	memcpy(stored + at, plain, size);
	at += size;
	for (int i = 3; i >= 0; i--)
		stored[at++] = (uint8_t)(sum >> 8 * i);
	*stored_size = at;
	return stored;
}

// What inputs make, until they have been read.
static struct {
	void *blobs[256];
	size_t count;
} made;

static bool put_blob(struct rows_value *value, const uint8_t *plain, size_t size)
{
	if (made.count == sizeof(made.blobs) / sizeof(made.blobs[0]))
		return false;
	*value = (struct rows_value){ .type = SQLITE_BLOB };
	value->bytes = made.blobs[made.count++] = store(plain, size, &value->size);
	return true;
}

static void free_made(void)
{
	while (made.count)
		free(made.blobs[--made.count]);
}

// The row of table TABLE with the number 1, which it has got after this.
static struct rows_value *first_row(struct rows_table *table)
{
	if (!table->rows) {
		memset(table->values, 0, table->columns * sizeof(*table->values));
		set_number(table->values, 1);
		table->rows = 1;
	}
	return table->values;
}

static unsigned column_of(const struct rows_table *table, const char *name)
{
	for (unsigned i = 0; i < table->columns; i++)
		if (strcmp(table->names[i], name) == 0)
			return i;
	abort();
}

static void put_chunk(struct rows *rows, const char *name, const struct chunk *chunk)
{
	struct rows_table *table = rows_find(rows, name);

	// Not all files have all tables.
	if (!table)
		return;
	struct rows_value *row = first_row(table);
	set_number(&row[column_of(table, "rows")], chunk->rows);
	put_blob(&row[column_of(table, "data")], chunk->plain, chunk->size);
}

static void put_fact(struct rows *rows, const char *key, int64_t value)
{
	struct rows_table *run = rows_find(rows, "run");

	for (unsigned i = 0; i < run->rows; i++) {
		struct rows_value *row = &run->values[i * (size_t)run->columns];
		if (row->size == strlen(key) && memcmp(row->bytes, key, row->size) == 0)
			set_number(&row[1], value);
	}
}

// The fact KEY is how many rows TABLE has, if it is not left as it is.
static void put_count(struct rows *rows, const char *key, const struct chunk *chunks, size_t count,
                      size_t table)
{
	if (table < count && chunks[table].rows != AS_IT_IS)
		put_fact(rows, key, chunks[table].rows);
}

static void put_slices(struct rows *rows)
{
	const struct rows_table *table = rows_find(rows, tables[TABLE_SLICES]);
	unsigned column = column_of(table, "rows");
	uint64_t sum = 0;

	for (unsigned i = 0; i < table->rows; i++)
		sum += (uint64_t)table->values[i * (size_t)table->columns + column].integer;
	put_fact(rows, "slices", (int64_t)sum);
}

static void put_chunks(struct rows *rows, const struct chunk *chunks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (chunks[i].rows != AS_IT_IS)
			put_chunk(rows, tables[i], &chunks[i]);
	put_count(rows, "rank_shares", chunks, count, TABLE_SHARES);
	put_count(rows, "meetings", chunks, count, TABLE_MEETINGS);
	if (count > TABLE_SLICES)
		put_slices(rows);
	put_count(rows, "allocation_sites", chunks, count, TABLES_WITHOUT_GPU - 1);
}

static void drop_row(struct rows_table *table, unsigned row)
{
	struct rows_value *at = &table->values[row * (size_t)table->columns];

	table->rows--;
	memmove(at, at + table->columns, (table->rows - row) * table->columns * sizeof(*at));
}

// Behind the last one.
static void repeat_row(struct rows_table *table, unsigned row, unsigned had)
{
	struct rows_value *values = table->values;
	size_t width = table->columns;

	if (table->rows >= had + ROWS_MORE)
		return;
	memcpy(values + table->rows * width, values + row * width, width * sizeof(*values));
	if (rows_are_numbered(table))
		set_number(values + table->rows * width,
		           (int64_t)((uint64_t)values[(table->rows - 1) * width].integer + 1));
	table->rows++;
}

static const struct rows_value *some_text(const struct rows *rows, uint64_t which)
{
	const struct rows_table *texts = rows_find((struct rows *)(uintptr_t)rows, "string");

	return &texts->values[which % texts->rows * texts->columns + 1];
}

static size_t put_varint(uint8_t *to, uint64_t value)
{
	size_t count = 0;

	for (; value >= 0x80; value >>= 7)
		to[count++] = (uint8_t)(value | 0x80);
	to[count++] = (uint8_t)value;
	return count;
}

// Where the varint at AT ends.
static size_t end_of_varint(const uint8_t *plain, size_t size, size_t at)
{
	while (at < size && plain[at] & 0x80)
		at++;
	return at + (at < size);
}

static uint64_t get_varint(const uint8_t *plain, size_t at, size_t end)
{
	uint64_t value = 0;

	for (unsigned shift = 0; at < end && shift < 64; at++, shift += 7)
		value |= (uint64_t)(plain[at] & 0x7f) << shift;
	return value;
}

static void change_varint(struct rows_value *blob, size_t number, uint64_t value, bool sum)
{
	uint8_t plain[8192], changed[sizeof(plain) + 10];
	uLongf size = sizeof(plain);
	size_t count = 0, at = 0;

	if (blob->type != SQLITE_BLOB || blob->size > INT32_MAX ||
	    uncompress(plain, &size, blob->bytes, (uLong)blob->size) != Z_OK || !size)
		return;
	for (size_t i = 0; i < size; i = end_of_varint(plain, size, i))
		count++;
	for (number %= count; number; number--)
		at = end_of_varint(plain, size, at);
	size_t end = end_of_varint(plain, size, at);
	memcpy(changed, plain, at);
	size_t length =
		at + put_varint(changed + at, value + (sum ? get_varint(plain, at, end) : 0));
	memcpy(changed + length, plain + end, size - end);
	put_blob(blob, changed, length + size - end);
}

static void change_value(const struct rows *rows, struct rows_table *table, const struct edit *edit)
{
	unsigned row = edit->row, column = edit->column % table->columns;
	struct rows_value *to = &table->values[row * (size_t)table->columns + column];
	int64_t value;

	memcpy(&value, edit->value, sizeof(value));
	// SQLite has nothing but numbers there, and no two that are the same.
	if (column == 0 && rows_are_numbered(table)) {
		if (edit->change == CHANGE_NUMBER)
			rows_renumber(table, row, value);
		return;
	}
	switch (edit->change) {
	case CHANGE_NULL:
		*to = (struct rows_value){ .type = SQLITE_NULL };
		break;
	case CHANGE_TEXT:
		*to = *some_text(rows, (uint64_t)value);
		break;
	case CHANGE_REAL:
		*to = (struct rows_value){ .type = SQLITE_FLOAT };
		memcpy(&to->real, &value, sizeof(value));
		if (to->real != to->real)
			*to = (struct rows_value){ .type = SQLITE_NULL }; // as SQLite has it
		break;
	default:
		if (edit->change == CHANGE_SUM && to->type == SQLITE_INTEGER)
			value = (int64_t)((uint64_t)value + (uint64_t)to->integer);
		set_number(to, value);
	}
}

static void change_blob(struct rows_table *table, const struct edit *edit)
{
	uint64_t value;
	unsigned row = edit->row % table->rows, last = table->columns - 1;

	memcpy(&value, edit->value, sizeof(value));
	if (strcmp(table->names[last], "data") == 0)
		change_varint(&table->values[row * (size_t)table->columns + last], edit->column,
		              value, edit->change == CHANGE_VARINT_SUM);
}

// The plain ones have the low numbers, then come all.
static struct rows_table *find_table(struct rows *rows, unsigned number)
{
	return number < PLAIN_TABLES ? rows_find(rows, plain_tables[number])
	                             : &rows->tables[(number - PLAIN_TABLES) % rows->count];
}

static void put_edit(struct rows *rows, const struct rows *base, const struct edit *edit)
{
	struct rows_table *table = find_table(rows, edit->table);

	if (!table || !table->rows)
		return;
	if (edit->change == CHANGE_VARINT || edit->change == CHANGE_VARINT_SUM)
		change_blob(table, edit);
	else if (edit->row >= table->rows)
		return;
	else if (edit->change == CHANGE_GONE)
		drop_row(table, edit->row);
	else if (edit->change == CHANGE_AGAIN)
		repeat_row(table, edit->row, base->tables[table - rows->tables].rows);
	else
		change_value(base, table, edit);
}

static void put_edits(struct rows *rows, const struct rows *base, const struct chunk *edits)
{
	for (unsigned i = 0; i < edits->rows; i++) {
		struct edit edit;
		memcpy(&edit, edits->plain + i * sizeof(edit), sizeof(edit));
		put_edit(rows, base, &edit);
	}
}

// False if they are refused.
static bool read_and_ask(const struct base *base, const struct rows *rows, bool asked)
{
	char path[64];
	struct error err = { 0 };

	snprintf(path, sizeof(path), "/proc/self/fd/%d", base->fd);
	rows_serve(rows);
	cleanup(profile) struct profile *p = profile_read(path, &err);
	rows_serve(NULL);
	if (p && asked)
		profile_base_ask(p);
	else if (!p && !*err.text)
		abort(); // it must say why
	return p != NULL;
}

static bool read_blobs(const uint8_t *data, size_t size)
{
	struct chunk chunks[TABLES], edits;
	size_t count = split(data, size, chunks, &edits);
	bool rest = is_rest(chunks, count);
	const struct base *base = &bases[rest                         ? BASE_REST
	                                 : count > TABLES_WITHOUT_GPU ? BASE_GPU
	                                 : count > TABLES_WITHOUT_OPS ? BASE_OPS
	                                                              : BASE_PLAIN];

	if (rest)
		chunks[0].rows = AS_IT_IS;
	cleanup_free struct rows *rows = rows_copy(&base->rows);

	put_chunks(rows, chunks, count);
	put_edits(rows, &base->rows, &edits);
	bool asked = !LLVMFuzzerMutate || hash_bytes(data, size) % ASK_EVERY == 0;
	bool sound = read_and_ask(base, rows, asked);
	free_made();
	return sound;
}

static void load_base(struct base *base, const char *path)
{
	uint8_t header[HEADER_BYTES];
	cleanup_fclose FILE *file = fopen(path, "rb");
	sqlite3 *db;

	base->fd = memfd_create("profile", MFD_CLOEXEC);
	if (!file || fread(header, 1, sizeof(header), file) != sizeof(header))
		abort();
	memset(header + PAGES_AT, 0, 4); // else it is cut off
	if (write(base->fd, header, sizeof(header)) != sizeof(header) ||
	    sqlite3_open(path, &db) != SQLITE_OK)
		abort();
	rows_load(&base->rows, db);
	sqlite3_close(db);
}

// What is left as it is must be read: or else nothing behind the checksum is ever tried.
static void make_bases(void)
{
	static const size_t counts[BASES] = { 0, TABLES_WITHOUT_GPU, TABLES, 1 };
	uint8_t nothing[4 * TABLES] = { 0 };
	char path[] = "/tmp/profile_read_fuzz.XXXXXX";

	for (size_t i = 0; i < TABLES; i++)
		nothing[4 * i] = nothing[4 * i + 1] = 0xff;
	close(mkstemp(path));
	for (int kind = 0; kind < BASES; kind++) {
		profile_base_write(path, (enum profile_base)kind);
		load_base(&bases[kind], path);
		nothing[0] = kind == BASE_REST ? 0xfe : 0xff;
		if (!read_blobs(nothing, 4 * counts[kind]))
			abort();
	}
	unlink(path);
}

static unsigned draw(unsigned *seed, unsigned below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (unsigned)(((uint64_t)*seed * below) >> 32);
}

static struct edit draw_edit(unsigned *seed)
{
	static const int64_t numbers[] = { 0,   1,          2,         3,         7,
		                           256, UINT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN };
	struct edit edit = { (uint8_t)draw(seed, PLAIN_TABLES + ROWS_TABLES),
		             (uint8_t)draw(seed, 6),
		             (uint8_t)draw(seed, 100),
		             (uint8_t)draw(seed, CHANGES),
		             { 0 } };
	int64_t value = draw(seed, 2) ? numbers[draw(seed, sizeof(numbers) / sizeof(numbers[0]))]
	                              : (int64_t)draw(seed, 1000) - 500;

	memcpy(edit.value, &value, sizeof(value));
	return edit;
}

// What is drawn over all of the bytes mostly makes blobs that cannot be unpacked.
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	struct chunk chunks[TABLES], edits;

	if (room < sizeof(uint32_t) || draw(&seed, 8) == 0)
		return LLVMFuzzerMutate(data, size, room);
	split(data, size, chunks, &edits);
	size_t before = (size_t)(edits.plain - data);
	if (before < sizeof(uint32_t) * TABLES && draw(&seed, 8) == 0) {
		// All tables as they are, and no changes yet.
		bool rest = draw(&seed, 2) || room < sizeof(uint32_t) * TABLES;
		before = rest ? sizeof(uint32_t) : sizeof(uint32_t) * TABLES;
		edits.rows = 0;
		for (size_t i = 0; i < before; i++)
			data[i] = i % 4 < 2 ? 0xff : 0;
		data[0] = rest ? 0xfe : 0xff;
	}
	unsigned which = draw(&seed, edits.rows + 1);
	uint8_t *at = data + before + which * sizeof(struct edit);
	if (edits.rows && draw(&seed, 6) == 0) {
		// One of them goes.
		which = which < edits.rows ? which : which - 1;
		at = data + before + which * sizeof(struct edit);
		memmove(at, at + sizeof(struct edit),
		        (edits.rows - which - 1) * sizeof(struct edit));
		return before + (edits.rows - 1) * sizeof(struct edit);
	}
	if (which == edits.rows || draw(&seed, 3) == 0) {
		if (before + (edits.rows + 1) * sizeof(struct edit) > room)
			return before + edits.rows * sizeof(struct edit);
		struct edit edit = draw_edit(&seed);
		memmove(at + sizeof(edit), at, (edits.rows - which) * sizeof(edit));
		memcpy(at, &edit, sizeof(edit));
		return before + (edits.rows + 1) * sizeof(struct edit);
	}
	LLVMFuzzerMutate(at, sizeof(struct edit), sizeof(struct edit));
	return before + edits.rows * sizeof(struct edit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!bases[0].rows.count)
		make_bases();
	read_blobs(data, size);
	return 0;
}
