// SPDX-License-Identifier: MIT
/*
 * What a profile file has of the calls of ops one after the other. A profile without has no such
 * tables.
 */
#include "base/cleanup.h"
#include "merge/file/file_reader.h"
#include "merge/file/file_writer.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH       6
#define ITEM_WIDTH  3
#define ITEM_DELTAS 2 /* when they began */

static const char schema[] =
	"CREATE TABLE series(id INTEGER PRIMARY KEY, op INTEGER, shape INTEGER, process INTEGER,"
	" calls INTEGER, block_calls INTEGER);"
	"CREATE TABLE series_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);";

// Which item of which series a row is.
struct item_id {
	uint32_t series, item; // indices
};

int write_series_facts(struct file_writer *w)
{
	const struct series_table *t = &w->profile->series;

	if (!t->count)
		return 0;
	if (file_writer_fact(w, "series_lost", (int64_t)t->lost) < 0)
		return -1;
	return file_writer_fact(w, "series", t->count);
}

static void fill_item(const struct file_writer *w, const void *context, uint32_t index,
                      struct columns *c, uint32_t at)
{
	const struct item_id *id = &((const struct item_id *)context)[index];
	const struct series_item *item = &w->profile->series.series[id->series].items[id->item];

	*columns_at(c, 0, at) = id->series + 1;
	*columns_at(c, 1, at) = item->begin_ns;
	*columns_at(c, 2, at) = item->ns;
}

static int write_items(struct file_writer *w)
{
	const struct series_table *t = &w->profile->series;
	size_t count = 0;

	for (uint32_t i = 0; i < t->count; i++)
		count += t->series[i].count;
	cleanup_free struct item_id *ids = calloc(count + 1, sizeof(*ids));
	const struct chunked items = { "series_chunk", (uint32_t)count, ITEM_WIDTH,
		                       ITEM_DELTAS,    fill_item,       ids };
	if (!ids)
		return file_writer_no_memory(w);
	count = 0;
	for (uint32_t i = 0; i < t->count; i++)
		for (uint32_t j = 0; j < t->series[i].count; j++)
			ids[count++] = (struct item_id){ i, j };
	return file_writer_chunks(w, &items);
}

int write_series(struct file_writer *w)
{
	const struct series_table *t = &w->profile->series;

	if (!t->count)
		return 0;
	if (file_writer_sql(w, schema) < 0 || file_writer_begin(w, "series", WIDTH, true) < 0)
		return -1;
	for (uint32_t i = 0; i < t->count; i++) {
		const struct series *s = &t->series[i];
		file_writer_int(w, i + 1);
		file_writer_int(w, s->op);
		file_writer_id(w, s->shape);
		file_writer_int(w, s->process);
		file_writer_int(w, (int64_t)s->calls);
		file_writer_int(w, (int64_t)s->block_calls);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return write_items(w);
}

bool take_series_fact(struct file_reader *r, const char *key, int64_t value)
{
	if (strcmp(key, "series") == 0)
		r->series = (uint64_t)value;
	else if (strcmp(key, "series_lost") == 0)
		r->profile->series.lost = (uint64_t)value;
	else
		return false;
	return true;
}

// How many items so many calls make.
static uint64_t items_of(uint64_t calls, uint64_t block_calls)
{
	if (calls <= SERIES_EXACT)
		return calls;
	return SERIES_EXACT + (calls - SERIES_EXACT + block_calls - 1) / block_calls;
}

static int take_series(struct file_reader *r)
{
	struct profile *p = r->profile;
	struct series_table *t = &p->series;
	uint64_t calls = (uint64_t)file_reader_int(r, 4);
	uint64_t block_calls = (uint64_t)file_reader_int(r, 5);
	bool ok = r->series > t->count && file_reader_int(r, 0) == (int64_t)t->count + 1;
	uint32_t op = file_reader_id(r, 1, r->ops, &ok);
	uint32_t shape = file_reader_id(r, 2, strings_count(p->strings), &ok);
	uint32_t process = file_reader_id(r, 3, p->threads.process_count, &ok);

	if (!ok || !op || !process || !calls || calls > INT64_MAX / 2 || !block_calls ||
	    block_calls > INT64_MAX / 2 ||
	    items_of(calls, block_calls) > SERIES_EXACT + SERIES_BLOCKS)
		return file_reader_damaged(r, "the calls of an op cannot be");
	uint32_t id = series_get(t, op, shape, process);
	if (!id)
		return file_reader_no_memory(r);
	if (id != t->count)
		return file_reader_damaged(r, "the calls of an op are there twice");
	t->series[id - 1].calls = calls;
	t->series[id - 1].block_calls = block_calls;
	return 0;
}

// Items come by series.
static int take_item(struct file_reader *r, struct columns *c, uint32_t row)
{
	struct series_table *t = &r->profile->series;
	uint64_t id = *columns_at(c, 0, row), ns = *columns_at(c, 2, row);
	const struct series_item item = { *columns_at(c, 1, row), ns };

	if (!id || id > t->count || id < r->last_series || item.begin_ns > INT64_MAX ||
	    !file_reader_add(&r->series_ns, ns))
		return file_reader_damaged(r, "a call of an op cannot be");
	r->last_series = (uint32_t)id;
	struct series *s = &t->series[id - 1];
	if (s->count >= items_of(s->calls, s->block_calls))
		return file_reader_damaged(r, "there are too many calls of an op");
	return series_append(s, &item) ? 0 : file_reader_no_memory(r);
}

int read_series(struct file_reader *r)
{
	const struct series_table *t = &r->profile->series;

	if (!r->series)
		return 0;
	if (r->series > SERIES_MAX || t->lost > INT64_MAX)
		return file_reader_damaged(r, "the calls of its ops cannot be");
	if (file_reader_rows(r, "series", WIDTH, take_series) < 0 ||
	    file_reader_chunks(r, "series_chunk", ITEM_WIDTH, ITEM_DELTAS, take_item) < 0)
		return -1;
	for (uint32_t i = 0; i < t->count; i++)
		if (t->series[i].count != items_of(t->series[i].calls, t->series[i].block_calls))
			return file_reader_damaged(r, "a call of an op is missing");
	return t->count == r->series ? 0 : file_reader_damaged(r, "the calls of an op are missing");
}
