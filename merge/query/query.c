// SPDX-License-Identifier: MIT
#include "merge/query/query.h"

#include "base/error.h"
#include "merge/gpu/gpu.h"
#include "merge/numbers/statistics.h"
#include "merge/op/call_counts.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/answer.h"
#include "merge/query/self_total.h"
#include "merge/scope/keys.h"
#include "merge/scope/scope.h"
#include "merge/table/cells.h"
#include "merge/wall/wall_time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void rows_free(struct rows *rows)
{
	struct answer *answer = (struct answer *)rows;

	if (!answer)
		return;
	strings_free(answer->texts);
	free(answer->keys);
	free(answer->ids);
	free(answer->rows.rows);
	free(answer);
}

static struct answer *answer_new(size_t capacity)
{
	struct answer *answer = calloc(1, sizeof(*answer));

	if (!answer)
		return NULL;
	answer->rows.rows = calloc(capacity + 1, sizeof(*answer->rows.rows));
	answer->keys = calloc(capacity + 1, sizeof(*answer->keys));
	answer->ids = calloc(capacity + 1, sizeof(*answer->ids));
	answer->texts = strings_new();
	if (!answer->rows.rows || !answer->keys || !answer->ids || !answer->texts) {
		rows_free(&answer->rows);
		return NULL;
	}
	return answer;
}

// Whether most of a key was spent in line A; by its own time first, or by its total.
static bool is_hotter(const struct line_total *a, const struct line_total *b, bool by_total)
{
	uint64_t first[] = { by_total ? a->total : a->self, by_total ? b->total : b->self };
	uint64_t then[] = { by_total ? a->self : a->total, by_total ? b->self : b->total };

	return first[0] != first[1] ? first[0] > first[1] : then[0] > then[1];
}

// The line of each key where most of its own time was spent, or else most of its total; BY_TOTAL:
// the other way round.
static uint32_t *choose_lines(const struct keys *keys, const struct self_totals *tallies,
                              bool by_total)
{
	uint32_t *best = calloc((size_t)keys->keys.count + 1, sizeof(*best));

	for (uint32_t id = 1; best && id <= keys->lines.count; id++) {
		uint32_t key = tallies->line_keys[id - 1];
		if (!key || !keys->lines.keys[id - 1].line)
			continue;
		const struct line_total *line = &tallies->lines[id - 1];
		const struct line_total *than =
			best[key - 1] ? &tallies->lines[best[key - 1] - 1] : NULL;
		if (!than || is_hotter(line, than, by_total))
			best[key - 1] = id;
	}
	return best;
}

static uint64_t asked_for(const struct scope *scope, const uint64_t ns[METRIC_COUNT])
{
	uint64_t sum = 0;

	for (int m = 0; m < METRIC_COUNT; m++)
		sum += scope->metrics[m] ? ns[m] : 0;
	return sum;
}

// The scheduler's own figures are better than the sums of samples, where they are whole.
static void take_exact_times(const struct scope *scope, const struct key *key, struct row *row)
{
	const struct threads *t = profile_threads(scope->profile);
	uint64_t ns[METRIC_COUNT] = { 0 };

	for (size_t i = 0; i < t->thread_count; i++) {
		const struct thread_info *info = &t->threads[i];
		bool is_in = key->group == KEY_THREAD ? i + 1 == key->module
		                                      : info->process == key->module;
		if (!is_in || !scope->threads[i] || !info->merged)
			continue;
		if (!thread_is_exact(info))
			return;
		for (int m = 0; m < METRIC_COUNT; m++)
			ns[m] += info->ns[m];
	}
	memcpy(row->self_ns, ns, sizeof(ns));
	memcpy(row->total_ns, ns, sizeof(ns));
	row->self = row->total = asked_for(scope, ns);
	row->self_margin = -1; // exact: see judge()
}

static void fill_owner(const struct profile *p, const struct key *key, struct row *row)
{
	if (key->group == KEY_THREAD)
		row->id = profile_thread(p, key->module)->tid;
	const struct process_info *process =
		key->group == KEY_PROCESS ? profile_process(p, key->module) : NULL;
	if (process)
		row->id = process->pid;
}

static void fill_row(const struct scope *scope, const struct key *key,
                     const struct self_total *tally, const struct self_total *gpu,
                     const struct self_total *wall, struct row *row)
{
	const struct profile *p = scope->profile;

	row->file = profile_string(p, key->file);
	row->line = (int)key->line;
	row->module = key_module(p, key);
	row->kernel = key->kernel;
	row->python = key->python;
	row->called = key->called;
	if ((key->python || key->called) && key->group == KEY_CODE && scope->whole_run) {
		struct call_count count = call_counts_get(profile_call_counts(p), key->function,
		                                          key->python ? key->file : 0);
		row->calls = count.calls;
		row->recursive = count.recursive;
	}
	row->gil = key->group == KEY_GIL;
	row->inlined = key->inlined;
	memcpy(row->self_ns, tally->self.ns, sizeof(row->self_ns));
	memcpy(row->total_ns, tally->total.ns, sizeof(row->total_ns));
	row->self = tally->self.counted;
	row->total = tally->total.counted;
	row->self_samples = tally->self.samples;
	row->total_samples = tally->total.samples;
	row->gpu_self_ns = gpu ? gpu->self.ns[0] : 0;
	row->gpu_total_ns = gpu ? gpu->total.ns[0] : 0;
	row->wall_self_ns = wall ? wall->self.counted : 0;
	row->wall_total_ns = wall ? wall->total.counted : 0;
	fill_owner(p, key, row);
	if (scope->whole_run && scope->table == profile_cells(p) &&
	    (key->group == KEY_THREAD || key->group == KEY_PROCESS))
		take_exact_times(scope, key, row);
}

// What was left out as others' time is known of a row all the same, for who reads all metrics.
static bool is_asked_for(const struct row *row, const struct query *query)
{
	bool has_time = row->total || row->gpu_total_ns || row->wall_total_ns;

	for (int m = 0; query->keep_others && m < METRIC_COUNT; m++)
		has_time |= row->total_ns[m] > 0;
	return has_time;
}

// A function's lines may be in other files than the one that declares it.
static void show_line(struct key *key, const struct key *line)
{
	key->file = line->file;
	key->line = line->line;
}

static int fill_rows(struct answer *answer, const struct scope *scope, const struct keys *keys,
                     const struct self_totals *tallies, const struct self_totals *gpu,
                     const struct self_totals *wall, const struct query *query, struct error *err)
{
	bool by_total = query->sort == SORT_TOTAL || query->sort == SORT_WALL_TOTAL;
	cleanup_free uint32_t *best = choose_lines(keys, tallies, by_total);

	if (!best)
		return error_set(err, ENOMEM, "could not rank the profile");
	for (uint32_t id = 1; id <= keys->keys.count; id++) {
		struct key key = keys->keys.keys[id - 1];
		struct row *row = &answer->rows.rows[answer->rows.count];
		*row = (struct row){ .name = key_name(scope->profile, &key, answer->texts) };
		if (!row->name)
			return error_set(err, ENOMEM, "could not rank the profile");
		if (best[id - 1])
			show_line(&key, &keys->lines.keys[best[id - 1] - 1]);
		fill_row(scope, &key, &tallies->keys[id - 1], gpu->keys ? &gpu->keys[id - 1] : NULL,
		         wall->keys ? &wall->keys[id - 1] : NULL, row);
		if (!is_asked_for(row, query))
			continue;
		answer->ids[answer->rows.count] = id;
		answer->keys[answer->rows.count++] = key;
	}
	return 0;
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0; // descending
}

// What is compared first, and what then.
static int compare_times(const struct row *a, const struct row *b, enum query_sort sort)
{
	static const enum query_sort others[][3] = {
		[SORT_SELF] = { SORT_TOTAL, SORT_GPU_SELF, SORT_GPU_TOTAL },
		[SORT_TOTAL] = { SORT_SELF, SORT_GPU_TOTAL, SORT_GPU_SELF },
		[SORT_CALLS] = { SORT_SELF, SORT_TOTAL, SORT_GPU_SELF },
		[SORT_GPU_SELF] = { SORT_GPU_TOTAL, SORT_SELF, SORT_TOTAL },
		[SORT_GPU_TOTAL] = { SORT_GPU_SELF, SORT_TOTAL, SORT_SELF },
		[SORT_WALL] = { SORT_SELF, SORT_TOTAL, SORT_GPU_SELF },
		[SORT_WALL_TOTAL] = { SORT_WALL, SORT_TOTAL, SORT_SELF },
	};
	int order = compare_u64(query_rank(a, sort), query_rank(b, sort));

	for (int i = 0; !order && i < 3; i++)
		order = compare_u64(query_rank(a, others[sort][i]), query_rank(b, others[sort][i]));
	return order;
}

// Total: the same profile gives the same order on every machine.
static int compare_rows(const struct row *a, const struct row *b, enum query_sort sort)
{
	int order = compare_times(a, b, sort);

	order = order ? order : compare_names(a->name, b->name);
	order = order ? order : compare_names(a->file, b->file);
	order = order ? order : a->line - b->line;
	order = order ? order : compare_names(a->module, b->module);
	return order ? order : (a->id > b->id) - (a->id < b->id);
}

// A row and its key, so that they stay together.
struct ranked {
	struct row row;
	struct key key;
	uint32_t id;
	enum query_sort sort;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *left = a, *right = b;

	return compare_rows(&left->row, &right->row, left->sort);
}

static int sort_rows(struct answer *answer, enum query_sort sort, struct error *err)
{
	size_t count = answer->rows.count;
	cleanup_free struct ranked *ranked = calloc(count + 1, sizeof(*ranked));

	if (!ranked)
		return error_set(err, ENOMEM, "could not rank the profile");
	for (size_t i = 0; i < count; i++)
		ranked[i] = (struct ranked){ answer->rows.rows[i], answer->keys[i], answer->ids[i],
			                     sort };
	qsort(ranked, count, sizeof(*ranked), compare_ranked);
	for (size_t i = 0; i < count; i++) {
		answer->rows.rows[i] = ranked[i].row;
		answer->keys[i] = ranked[i].key;
		answer->ids[i] = ranked[i].id;
	}
	return 0;
}

/*
 * Which part of the time was counted by samples, and by how many. Off-CPU
 * intervals that the scheduler recorded are exact, and so is their stack: a
 * blocked thread does not move.
 */
struct sampling {
	const struct scope *scope;
	uint64_t all;     // of everything that was asked for
	uint64_t sampled; // of that
	uint64_t samples;
	bool off_cpu_exact;
};

// Of the time COUNTED, that was asked for; NS is all of it, by metric.
static uint64_t sampled_of(const struct sampling *s, const uint64_t ns[METRIC_COUNT],
                           uint64_t counted)
{
	if (!s->off_cpu_exact)
		return counted;
	return s->scope->metrics[METRIC_ON_CPU] ? ns[METRIC_ON_CPU] : 0;
}

static struct sampling sampling_of(const struct scope *scope, const struct self_totals *tallies,
                                   const struct rows *rows)
{
	struct sampling s = {
		.scope = scope,
		.off_cpu_exact = profile_run(scope->profile)->off_cpu_exact,
	};

	for (size_t i = 0; i < rows->count; i++)
		s.all += rows->rows[i].self;
	s.sampled = sampled_of(&s, tallies->all.ns, tallies->all.counted);
	if (s.sampled > s.all)
		s.sampled = s.all;
	s.samples = s.off_cpu_exact ? tallies->all.on_cpu_samples : tallies->all.samples;
	return s;
}

// The interval of a row's share of all time. TIME is its self or total; SAMPLED of it was sampled.
static struct margin judge(const struct sampling *s, uint64_t sampled, uint64_t time)
{
	double exact = s->all ? (double)time / (double)s->all : 0;

	if (!s->all || !s->sampled)
		return (struct margin){ exact, exact, 0 };
	double scale = (double)s->sampled / (double)s->all;
	double rest = (double)(time - sampled) / (double)s->all;
	struct margin m = statistics_wilson((double)sampled / (double)s->sampled, s->samples);
	return (struct margin){ rest + scale * m.low, rest + scale * m.high, scale * m.half };
}

static struct margin judge_row(const struct sampling *s, const struct row *row,
                               enum query_sort sort, bool exact)
{
	uint64_t time = sort == SORT_TOTAL ? row->total : row->self;
	double share = s->all ? (double)time / (double)s->all : 0;

	if (exact)
		return (struct margin){ share, share, 0 };
	return judge(s, sampled_of(s, sort == SORT_TOTAL ? row->total_ns : row->self_ns, time),
	             time);
}

static void judge_rows(struct rows *rows, const struct sampling *s, enum query_sort sort)
{
	struct margin above = { 0 };

	for (size_t i = 0; i < rows->count; i++) {
		struct row *row = &rows->rows[i];
		bool exact = row->self_margin < 0;
		struct margin m = judge_row(s, row, sort, exact);
		row->self_margin = judge_row(s, row, SORT_SELF, exact).half;
		if (i > 0 && (sort == SORT_SELF || sort == SORT_TOTAL))
			rows->rows[i - 1].tied = m.high >= above.low;
		above = m;
	}
}

// GPU time of the same keys, if there is any.
static int tally_gpu(const struct profile *p, const struct query *query, struct keys *keys,
                     struct self_totals *gpu, struct error *err)
{
	struct query of_gpu = *query;
	cleanup(scope) struct scope scope = { 0 };

	if (query->of != QUERY_THREADS || !profile_gpu(p)->paths.count)
		return 0;
	of_gpu.of = QUERY_GPU;
	return scope_init(&scope, p, &of_gpu, err) < 0
	               ? -1
	               : self_totals_init(gpu, &scope, keys, &of_gpu, err);
}

// Wall time of the same keys, where it is asked for and known.
static int tally_wall(const struct profile *p, const struct query *query, struct keys *keys,
                      struct self_totals *wall, struct error *err)
{
	struct query of_wall = *query;
	cleanup(scope) struct scope scope = { 0 };

	if (!query->with_wall || query->of != QUERY_THREADS || !profile_wall_time(p)->cells.count)
		return 0;
	of_wall.of = QUERY_WALL;
	of_wall.without_others = true;
	return scope_init(&scope, p, &of_wall, err) < 0
	               ? -1
	               : self_totals_init(wall, &scope, keys, &of_wall, err);
}

struct rows *query_run(const struct profile *p, const struct query *query, struct error *err)
{
	cleanup(scope) struct scope scope = { 0 };
	cleanup(keys) struct keys keys = { 0 };
	cleanup(self_totals) struct self_totals tallies = { 0 }, gpu = { 0 }, wall = { 0 };

	if (scope_init(&scope, p, query, err) < 0 ||
	    keys_init(&keys, p, query, answer_keys_wanted(query), err) < 0 ||
	    self_totals_init(&tallies, &scope, &keys, query, err) < 0 ||
	    tally_gpu(p, query, &keys, &gpu, err) < 0 ||
	    tally_wall(p, query, &keys, &wall, err) < 0)
		return NULL;

	struct answer *answer = answer_new(keys.keys.count);
	if (!answer) {
		error_set(err, ENOMEM, "could not rank the profile");
		return NULL;
	}
	if (fill_rows(answer, &scope, &keys, &tallies, &gpu, &wall, query, err) < 0 ||
	    sort_rows(answer, query->sort, err) < 0) {
		rows_free(&answer->rows);
		return NULL;
	}
	struct sampling sampling = sampling_of(&scope, &tallies, &answer->rows);
	judge_rows(&answer->rows, &sampling, query->sort);
	answer->rows.all = sampling.all;
	answer->rows.idle_ns = scope.idle_ns;
	for (size_t i = 0; i < answer->rows.count; i++)
		answer->rows.gpu_all_ns += answer->rows.rows[i].gpu_self_ns;
	for (int m = 0; m < METRIC_COUNT; m++)
		answer->rows.wall_all_ns += wall.all.ns[m];
	answer->rows.all_samples = tallies.all.samples;
	return &answer->rows;
}
