// SPDX-License-Identifier: MIT
/*
 * What a profile file has of asyncio's tasks. A profile without has no such tables.
 */
#include "merge/file/file_reader.h"
#include "merge/file/file_writer.h"

#include <stdlib.h>
#include <string.h>

#define ROW_WIDTH   4
#define PLACE_ITEMS 4

static const char schema[] =
	"CREATE TABLE await(kind INTEGER, count INTEGER, ns INTEGER, longest_ns INTEGER);"
	"CREATE TABLE await_place(await INTEGER, function INTEGER, file INTEGER, line INTEGER);"
	"CREATE VIEW await_chain(await, kind, count, ns, longest_ns, function, file, line) AS"
	" SELECT a.rowid, a.kind, a.count, a.ns, a.longest_ns, n.text, f.text, p.line"
	" FROM await a JOIN await_place p ON p.await = a.rowid"
	" LEFT JOIN string n ON n.id = p.function LEFT JOIN string f ON f.id = p.file;";

int write_await_facts(struct file_writer *w)
{
	const struct awaits *a = &w->profile->awaits;

	if (!a->count)
		return 0;
	if (file_writer_fact(w, "awaits", (int64_t)a->count) < 0)
		return -1;
	return file_writer_fact(w, "await_places", (int64_t)a->place_count);
}

static int write_places(struct file_writer *w, size_t index)
{
	const struct await_row *row = &w->profile->awaits.rows[index];

	for (uint32_t i = 0; i < row->place_count; i++) {
		const struct await_place *place = &w->profile->awaits.places[row->first + i];
		file_writer_int(w, (int64_t)index + 1);
		file_writer_id(w, place->function);
		file_writer_id(w, place->file);
		file_writer_int(w, place->line);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

int write_awaits(struct file_writer *w)
{
	const struct awaits *a = &w->profile->awaits;

	if (!a->count)
		return 0;
	if (file_writer_sql(w, schema) < 0 || file_writer_begin(w, "await", ROW_WIDTH, true) < 0)
		return -1;
	for (size_t i = 0; i < a->count; i++) {
		file_writer_int(w, a->rows[i].kind);
		file_writer_int(w, (int64_t)a->rows[i].count);
		file_writer_int(w, (int64_t)a->rows[i].ns);
		file_writer_int(w, (int64_t)a->rows[i].longest_ns);
		if (file_writer_row(w) < 0)
			return -1;
	}
	if (file_writer_begin(w, "await_place", PLACE_ITEMS, true) < 0)
		return -1;
	for (size_t i = 0; i < a->count; i++)
		if (write_places(w, i) < 0)
			return -1;
	return 0;
}

bool take_await_fact(struct file_reader *r, const char *key, int64_t value)
{
	if (strcmp(key, "awaits") == 0)
		r->awaits = (uint64_t)value;
	else if (strcmp(key, "await_places") == 0)
		r->await_places = (uint64_t)value;
	else
		return false;
	return true;
}

// Rows without their places, which come after all of them.
static int take_row(struct file_reader *r)
{
	int64_t kind = file_reader_int(r, 0), count = file_reader_int(r, 1);
	int64_t ns = file_reader_int(r, 2), longest_ns = file_reader_int(r, 3);

	if (kind < 1 || kind >= AWAIT_KINDS || count < 0 || ns < 0 || longest_ns < 0 ||
	    r->await_rows == r->awaits)
		return file_reader_damaged(r, "a time of tasks cannot be");
	r->await_row[r->await_rows++] = (struct await_row){ .kind = (uint32_t)kind,
		                                            .count = (uint64_t)count,
		                                            .ns = (uint64_t)ns,
		                                            .longest_ns = (uint64_t)longest_ns };
	return 0;
}

static int end_row(struct file_reader *r)
{
	struct awaits *a = &r->profile->awaits;
	const struct await_row *row = &r->await_row[a->count];
	size_t before = a->count;

	if (!awaits_add(a, row, r->await_place))
		return file_reader_no_memory(r);
	return a->count > before
	               ? 0
	               : file_reader_damaged(r, "times of the same tasks are there twice");
}

static int take_place(struct file_reader *r)
{
	uint64_t texts = strings_count(r->profile->strings);
	bool ok = r->await_places > 0;
	uint32_t number = file_reader_id(r, 0, (uint32_t)r->await_rows, &ok);
	const struct await_place place = {
		.function = file_reader_id(r, 1, texts, &ok),
		.file = file_reader_id(r, 2, texts, &ok),
		.line = file_reader_id(r, 3, INT32_MAX, &ok),
	};
	size_t now = r->profile->awaits.count + 1;

	if (!ok || number < now || number > now + 1 || number > r->await_rows)
		return file_reader_damaged(r, "a place of tasks cannot be");
	if (number > now) {
		if (!r->await_row[now - 1].place_count)
			return file_reader_damaged(r, "a place of tasks is missing");
		if (end_row(r) < 0)
			return -1;
	}
	struct await_row *row = &r->await_row[number - 1];
	if (row->place_count == AWAIT_PLACES_MAX)
		return file_reader_damaged(r, "a chain of awaits is too long");
	r->await_place[row->place_count++] = place;
	r->await_places--;
	return 0;
}

static int read_rows(struct file_reader *r)
{
	if (file_reader_rows(r, "await", ROW_WIDTH, take_row) < 0 ||
	    file_reader_rows(r, "await_place", PLACE_ITEMS, take_place) < 0)
		return -1;
	if (r->await_rows != r->awaits || r->await_places ||
	    r->profile->awaits.count + 1 != r->awaits || !r->await_row[r->awaits - 1].place_count)
		return file_reader_damaged(r, "a time of tasks is missing");
	return end_row(r);
}

int read_awaits(struct file_reader *r)
{
	if (!r->awaits && !r->await_places)
		return 0;
	if (!r->awaits || r->awaits > AWAITS_MAX)
		return file_reader_damaged(r, "its times of tasks cannot be");
	r->await_row = calloc(r->awaits, sizeof(*r->await_row));
	if (!r->await_row)
		return file_reader_no_memory(r);
	int result = read_rows(r);
	free(r->await_row);
	r->await_row = NULL;
	return result;
}
