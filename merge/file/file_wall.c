// SPDX-License-Identifier: MIT
/*
 * What a profile file has of wall time: its cells by node and metric, and who waited for whom. A
 * profile without has no such tables.
 */
#include "merge/file/file_reader.h"
#include "merge/file/file_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH     20
#define KINDS_MAX 64
#define MINUS_KEY "wall_minus_ns_" // and a metric

static const char schema[] =
	"CREATE TABLE wall_plus_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE wall_minus_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE wait(waiter INTEGER, waiter_node INTEGER, holder INTEGER,"
	" holder_node INTEGER, kind INTEGER, resource INTEGER, name TEXT, cause INTEGER,"
	" guessed INTEGER, ns INTEGER, count INTEGER, longest_ns INTEGER, median_ns INTEGER,"
	" wall_ns INTEGER, file TEXT, line INTEGER, module INTEGER, made_module INTEGER,"
	" made_address INTEGER, wall_ready_ns INTEGER);"
	"CREATE TABLE busy_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE alone_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE wait_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE busy(threads INTEGER, ns INTEGER);"
	"CREATE TABLE alone(node INTEGER, ns INTEGER);";

static const struct {
	const char *chunks, *bin_key;
} times[WALL_TABLES] = {
	[WALL_BUSY_TIMES] = { "busy_chunk", "wall_busy_bin_ns" },
	[WALL_ALONE_TIMES] = { "alone_chunk", "wall_alone_bin_ns" },
	[WALL_EDGE_TIMES] = { "wait_chunk", "wall_wait_bin_ns" },
};

int write_wall_facts(struct file_writer *w)
{
	const struct wall_time *t = &w->profile->wall_time;

	if (!t->root)
		return 0;
	for (int m = 0; m < METRIC_COUNT; m++) {
		char key[64];
		snprintf(key, sizeof(key), MINUS_KEY "%s", metric_key((enum metric)m));
		if (t->minus_ns[m] && file_writer_fact(w, key, (int64_t)t->minus_ns[m]) < 0)
			return -1;
	}
	if (file_writer_fact(w, "wall_alone", (int64_t)t->alone_count) < 0 ||
	    file_writer_fact(w, "wall_wanted_ns", (int64_t)t->busy.wanted_ns) < 0)
		return -1;
	for (int i = 0; t->has_times && i < WALL_TABLES; i++)
		if (file_writer_fact(w, times[i].bin_key, (int64_t)t->times[i].width_ns) < 0)
			return -1;
	if (file_writer_fact(w, "waits", (int64_t)t->edge_count) < 0 ||
	    file_writer_fact(w, "wall_thread", t->root) < 0 ||
	    (t->rank && file_writer_fact(w, "wall_rank", t->rank) < 0) ||
	    file_writer_fact(w, "wall_plus_bin_ns", (int64_t)t->plus.width_ns) < 0 ||
	    file_writer_fact(w, "wall_minus_bin_ns", (int64_t)t->minus.width_ns) < 0 ||
	    file_writer_fact(w, "wall_blocked_ns", (int64_t)t->coverage.blocked_ns) < 0 ||
	    file_writer_fact(w, "wall_known_ns", (int64_t)t->coverage.known_ns) < 0 ||
	    file_writer_fact(w, "wall_guessed_ns", (int64_t)t->coverage.guessed_ns) < 0 ||
	    file_writer_fact(w, "wall_late_ns", (int64_t)t->coverage.late_ns) < 0)
		return -1;
	return file_writer_fact(w, "wall_lost", (int64_t)t->lost);
}

int write_wall(struct file_writer *w)
{
	const struct wall_time *t = &w->profile->wall_time;

	if (!t->root)
		return 0;
	if (file_writer_sql(w, schema) < 0 ||
	    write_cell_table(w, "wall_plus_chunk", &t->plus, 0) < 0 ||
	    write_cell_table(w, "wall_minus_chunk", &t->minus, 0) < 0 ||
	    file_writer_begin(w, "wait", WIDTH, true) < 0)
		return -1;
	for (size_t i = 0; i < t->edge_count; i++) {
		const struct wall_edge *e = &t->edges[i];
		file_writer_id(w, e->waiter);
		file_writer_id(w, e->waiter_node);
		file_writer_id(w, e->holder);
		file_writer_id(w, e->holder_node);
		file_writer_int(w, e->kind);
		file_writer_int(w, (int64_t)e->resource);
		file_writer_string(w, e->name);
		file_writer_int(w, e->cause);
		file_writer_int(w, e->guessed);
		file_writer_int(w, (int64_t)e->ns);
		file_writer_int(w, (int64_t)e->count);
		file_writer_int(w, (int64_t)e->longest_ns);
		file_writer_int(w, (int64_t)e->median_ns);
		file_writer_int(w, (int64_t)e->wall_ns);
		file_writer_string(w, e->file);
		file_writer_int(w, e->line);
		file_writer_id(w, e->module);
		file_writer_id(w, e->made.module);
		file_writer_int(w, (int64_t)e->made.address);
		file_writer_int(w, (int64_t)e->wall_ready_ns);
		if (file_writer_row(w) < 0)
			return -1;
	}
	if (file_writer_begin(w, "busy", 2, true) < 0)
		return -1;
	for (int i = 0; i <= WALL_BUSY_MAX; i++)
		if (t->busy.ns[i] &&
		    (file_writer_int(w, i), file_writer_int(w, (int64_t)t->busy.ns[i]),
		     file_writer_row(w) < 0))
			return -1;
	if (file_writer_begin(w, "alone", 2, true) < 0)
		return -1;
	for (size_t i = 0; i < t->alone_count; i++) {
		file_writer_id(w, t->alone[i].node);
		file_writer_int(w, (int64_t)t->alone[i].ns);
		if (file_writer_row(w) < 0)
			return -1;
	}
	for (int i = 0; t->has_times && i < WALL_TABLES; i++)
		if (write_cell_table(w, times[i].chunks, &t->times[i], 0) < 0)
			return -1;
	return 0;
}

bool take_wall_fact(struct file_reader *r, const char *key, int64_t value)
{
	struct wall_time *t = &r->profile->wall_time;
	const struct {
		const char *key;
		uint64_t *to;
	} facts[] = {
		{ "waits", &r->waits },
		{ "wall_alone", &r->alone },
		{ "wall_wanted_ns", &t->busy.wanted_ns },
		{ "wall_thread", &r->wall_thread },
		{ "wall_rank", &r->wall_rank },
		{ "wall_plus_bin_ns", &r->wall_plus_bin_ns },
		{ "wall_minus_bin_ns", &r->wall_minus_bin_ns },
		{ "wall_blocked_ns", &t->coverage.blocked_ns },
		{ "wall_known_ns", &t->coverage.known_ns },
		{ "wall_guessed_ns", &t->coverage.guessed_ns },
		{ "wall_late_ns", &t->coverage.late_ns },
		{ "wall_lost", &t->lost },
	};

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (strcmp(facts[i].key, key) == 0) {
			*facts[i].to = (uint64_t)value;
			return true;
		}
	for (int i = 0; i < WALL_TABLES; i++)
		if (strcmp(times[i].bin_key, key) == 0) {
			r->wall_times_bin_ns[i] = (uint64_t)value;
			return true;
		}
	for (int m = 0; strncmp(key, MINUS_KEY, strlen(MINUS_KEY)) == 0 && m < METRIC_COUNT; m++)
		if (strcmp(key + strlen(MINUS_KEY), metric_key((enum metric)m)) == 0) {
			t->minus_ns[m] = (uint64_t)value;
			return true;
		}
	return false;
}

static int take_wait(struct file_reader *r)
{
	struct profile *p = r->profile;
	struct wall_time *t = &p->wall_time;
	uint64_t threads = p->threads.thread_count, modules = modules_count(p->modules);
	bool ok = true, memory = true;
	struct wall_edge e = {
		.waiter = file_reader_id(r, 0, threads, &ok),
		.waiter_node = file_reader_id(r, 1, p->paths.count, &ok),
		.holder = file_reader_id(r, 2, threads, &ok),
		.holder_node = file_reader_id(r, 3, p->paths.count, &ok),
		.kind = file_reader_id(r, 4, KINDS_MAX, &ok),
		.resource = (uint64_t)file_reader_int(r, 5),
		.name = file_reader_string(r, 6, &memory),
		.cause = (enum metric)file_reader_id(r, 7, METRIC_COUNT - 1, &ok),
		.guessed = file_reader_id(r, 8, 1, &ok) != 0,
		.file = file_reader_string(r, 14, &memory),
		.line = file_reader_id(r, 15, INT32_MAX, &ok),
		.module = file_reader_id(r, 16, modules, &ok),
		.made = { .module = file_reader_id(r, 17, modules, &ok),
		          .address = (uint64_t)file_reader_int(r, 18),
		          .kind = FRAME_RETURN },
	};
	uint64_t *const sums[] = { &e.ns, &e.count, &e.longest_ns, &e.median_ns, &e.wall_ns };

	for (int i = 0; i < 5; i++) {
		int64_t value = file_reader_int(r, 9 + i);
		ok &= value >= 0;
		*sums[i] = (uint64_t)value;
	}
	e.wall_ready_ns = (uint64_t)file_reader_int(r, 19);
	ok &= e.wall_ready_ns <= e.wall_ns;
	if (!memory)
		return file_reader_no_memory(r);
	if (!ok || t->edge_count == r->waits || e.longest_ns > e.ns || e.median_ns > e.longest_ns ||
	    !file_reader_add(&r->wait_ns, e.ns) || !file_reader_add(&r->wait_wall_ns, e.wall_ns) ||
	    !file_reader_add(&r->wait_count, e.count))
		return file_reader_damaged(r, "a wait cannot be");
	t->edges[t->edge_count++] = e;
	return 0;
}

static int take_busy(struct file_reader *r)
{
	struct wall_busy *busy = &r->profile->wall_time.busy;
	bool ok = true;
	uint32_t threads = file_reader_id(r, 0, WALL_BUSY_MAX, &ok);
	int64_t ns = file_reader_int(r, 1);

	if (!ok || ns <= 0 || busy->ns[threads] || !file_reader_add(&r->busy_ns, (uint64_t)ns))
		return file_reader_damaged(r, "its wall time cannot be");
	busy->ns[threads] = (uint64_t)ns;
	return 0;
}

static int take_alone(struct file_reader *r)
{
	struct wall_time *t = &r->profile->wall_time;
	bool ok = true;
	uint32_t node = file_reader_id(r, 0, r->profile->paths.count, &ok);
	int64_t ns = file_reader_int(r, 1);

	if (!ok || !node || ns <= 0 || t->alone_count == r->alone ||
	    !file_reader_add(&r->alone_ns, (uint64_t)ns))
		return file_reader_damaged(r, "its wall time cannot be");
	t->alone[t->alone_count++] = (struct wall_alone){ node, (uint64_t)ns };
	return 0;
}

int check_wall_rank(struct file_reader *r)
{
	const struct profile *p = r->profile;

	return p->wall_time.rank > p->ranks.count
	               ? file_reader_damaged(r, "its wall time cannot be")
	               : 0;
}

static bool is_bin(uint64_t ns)
{
	return ns && ns <= INT64_MAX / 2 / CELLS_BINS;
}

static int read_part(struct file_reader *r, const char *table, struct cells *cells, uint64_t bin_ns)
{
	const struct file_cells wanted = { .cells = cells,
		                           .nodes = r->profile->paths.count,
		                           .metrics = METRIC_COUNT };

	cells->width_ns = bin_ns;
	cells->origin_ns = r->profile->cells.origin_ns;
	return read_cell_table(r, table, &wanted);
}

// Who waited when, and who was alone: a profile may be without.
static int read_times(struct file_reader *r)
{
	struct wall_time *t = &r->profile->wall_time;
	const uint32_t keys[WALL_TABLES] = {
		[WALL_BUSY_TIMES] = WALL_BUSY_MAX + 1,
		[WALL_ALONE_TIMES] = r->profile->paths.count,
		[WALL_EDGE_TIMES] = (uint32_t)t->edge_count,
	};

	for (int i = 0; i < WALL_TABLES; i++) {
		const struct file_cells wanted = { .cells = &t->times[i],
			                           .nodes = keys[i],
			                           .metrics = WALL_SERIES };
		if (!r->wall_times_bin_ns[i])
			return 0;
		if (!is_bin(r->wall_times_bin_ns[i]))
			return file_reader_damaged(r, "its wall time cannot be");
		t->times[i].width_ns = r->wall_times_bin_ns[i];
		t->times[i].origin_ns = r->profile->cells.origin_ns;
		if (read_cell_table(r, times[i].chunks, &wanted) < 0)
			return -1;
	}
	t->has_times = true;
	return 0;
}

int read_wall(struct file_reader *r)
{
	struct profile *p = r->profile;
	struct wall_time *t = &p->wall_time;
	const struct wall_coverage *c = &t->coverage;
	uint64_t any = c->blocked_ns | c->known_ns | c->guessed_ns | c->late_ns | t->lost;

	if (!r->wall_thread)
		return 0;
	for (int m = 0; m < METRIC_COUNT; m++)
		any |= t->minus_ns[m];
	if (!is_bin(r->wall_plus_bin_ns) || !is_bin(r->wall_minus_bin_ns) ||
	    r->waits > FILE_ROWS_MAX || r->alone > FILE_ROWS_MAX ||
	    r->wall_thread > p->threads.thread_count || r->wall_rank > FILE_ROWS_MAX ||
	    any > INT64_MAX)
		return file_reader_damaged(r, "its wall time cannot be");
	t->root = (uint32_t)r->wall_thread;
	t->rank = (uint32_t)r->wall_rank; // its row is read later: see check_wall_rank()
	t->edges = calloc((size_t)r->waits + 1, sizeof(*t->edges));
	t->alone = calloc((size_t)r->alone + 1, sizeof(*t->alone));
	if (!t->edges || !t->alone || !wall_time_init(t))
		return file_reader_no_memory(r);
	if (read_part(r, "wall_plus_chunk", &t->plus, r->wall_plus_bin_ns) < 0 ||
	    read_part(r, "wall_minus_chunk", &t->minus, r->wall_minus_bin_ns) < 0 ||
	    file_reader_rows(r, "wait", WIDTH, take_wait) < 0 ||
	    file_reader_rows(r, "busy", 2, take_busy) < 0 ||
	    file_reader_rows(r, "alone", 2, take_alone) < 0 || read_times(r) < 0)
		return -1;
	if (t->busy.wanted_ns > t->busy.ns[1])
		return file_reader_damaged(r, "its wall time cannot be");
	return wall_time_sum(t, &p->cells, &p->paths) ? 0 : file_reader_no_memory(r);
}
