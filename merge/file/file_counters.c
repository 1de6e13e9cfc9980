// SPDX-License-Identifier: MIT
/*
 * What a profile file has of counters. A profile without has no such table.
 */
#include "merge/file/file_reader.h"
#include "merge/file/file_writer.h"

#include <math.h>
#include <string.h>

#define WIDTH 9

static const char schema[] =
	"CREATE TABLE counter_sum(op INTEGER, thread INTEGER, changes INTEGER, untold INTEGER,"
	" last_ns INTEGER, last REAL, min REAL, max REAL, sum REAL);"
	"CREATE VIEW counter(name, domain, tid, changes, untold, last, min, max, average, sum) AS"
	" SELECT n.name, n.domain, t.tid, c.changes, c.untold, c.last, c.min, c.max,"
	" c.sum / c.changes, c.sum"
	" FROM counter_sum c JOIN op_name n ON n.id = c.op JOIN thread t ON t.id = c.thread;";

int write_counter_facts(struct file_writer *w)
{
	const struct counters *c = &w->profile->counters;

	if (!c->count)
		return 0;
	if (file_writer_fact(w, "counters_lost", (int64_t)c->lost) < 0)
		return -1;
	return file_writer_fact(w, "counters", c->count);
}

int write_counters(struct file_writer *w)
{
	const struct counters *c = &w->profile->counters;

	if (!c->count)
		return 0;
	if (file_writer_sql(w, schema) < 0 || file_writer_begin(w, "counter_sum", WIDTH, true) < 0)
		return -1;
	for (uint32_t i = 0; i < c->count; i++) {
		const struct counter_sums *sums = &c->entries[i].sums;
		file_writer_int(w, c->entries[i].op);
		file_writer_int(w, c->entries[i].thread);
		file_writer_int(w, (int64_t)sums->values);
		file_writer_int(w, (int64_t)sums->untold);
		file_writer_int(w, (int64_t)sums->last_ns);
		file_writer_real(w, sums->last);
		file_writer_real(w, sums->min);
		file_writer_real(w, sums->max);
		file_writer_real(w, sums->sum);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

bool take_counter_fact(struct file_reader *r, const char *key, int64_t value)
{
	if (strcmp(key, "counters") == 0)
		r->counters = (uint64_t)value;
	else if (strcmp(key, "counters_lost") == 0)
		r->profile->counters.lost = (uint64_t)value;
	else
		return false;
	return true;
}

static bool get_sums(struct file_reader *r, struct counter_sums *sums)
{
	*sums = (struct counter_sums){
		.values = (uint64_t)file_reader_int(r, 2),
		.untold = (uint64_t)file_reader_int(r, 3),
		.last_ns = (uint64_t)file_reader_int(r, 4),
		.last = file_reader_real(r, 5),
		.min = file_reader_real(r, 6),
		.max = file_reader_real(r, 7),
		.sum = file_reader_real(r, 8),
	};
	return file_reader_add(&r->counter_sums.values, sums->values) &&
	       file_reader_add(&r->counter_sums.untold, sums->untold) &&
	       sums->last_ns <= INT64_MAX && sums->min <= sums->last && sums->last <= sums->max;
}

static int take_counter(struct file_reader *r)
{
	struct counters *c = &r->profile->counters;
	uint32_t before = c->count;
	bool ok = r->counters > before;
	uint32_t op = file_reader_id(r, 0, r->ops, &ok);
	uint32_t thread = file_reader_id(r, 1, r->profile->threads.thread_count, &ok);
	struct counter_sums sums;

	if (!ok || !op || !thread || !get_sums(r, &sums))
		return file_reader_damaged(r, "a counter cannot be");
	struct counter_entry *entry = counters_get(c, op, thread);
	if (!entry)
		return file_reader_no_memory(r);
	if (c->count == before)
		return file_reader_damaged(r, "a counter is there twice");
	entry->sums = sums;
	return 0;
}

int read_counters(struct file_reader *r)
{
	if (!r->counters)
		return 0;
	if (r->counters > COUNTERS_MAX || r->profile->counters.lost > INT64_MAX)
		return file_reader_damaged(r, "its counters cannot be");
	if (file_reader_rows(r, "counter_sum", WIDTH, take_counter) < 0)
		return -1;
	return r->profile->counters.count == r->counters
	               ? 0
	               : file_reader_damaged(r, "a counter is missing");
}
