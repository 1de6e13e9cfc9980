// SPDX-License-Identifier: MIT
#include "merge/query/query_contention.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/share.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query.h"
#include "merge/scope/window.h"
#include "merge/table/cells.h"
#include "merge/table/contention.h"
#include "merge/wall/wall_time.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENDLESS 1e30 /* others may have had as much as that: nobody knows */

// Of all threads, in one bin.
struct demand {
	double on_cpu_ns, ready_ns;
	double on_cpu_rate, ready_rate; // intervals that go on through the next bins
};

// Whether what goes on comes to a nanosecond in all bins there can be: sums of rates that end leave
// less.
static bool goes_on(const struct demand *open, uint64_t width_ns)
{
	double most_ns = (double)width_ns * CELLS_BINS;

	return fabs(open->on_cpu_rate) * most_ns >= 1 || fabs(open->ready_rate) * most_ns >= 1;
}

// All behind *USED bins are 0, and have not been written: in a short run nearly all.
static struct demand *add_up(const struct profile *p, uint32_t *used)
{
	const struct cells *cells = profile_cells(p);
	struct demand *bins = calloc(CELLS_BINS + 1, sizeof(*bins)), open = { 0 };

	*used = 0;
	if (!bins)
		return NULL;
	for (uint32_t i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		struct demand *bin = &bins[cell->bin < CELLS_BINS ? cell->bin : CELLS_BINS];
		double ns = (double)(int64_t)cell->ns;
		if (cell->bin >= *used && cell->bin < CELLS_BINS)
			*used = cell->bin + 1;
		if (cell->metric == METRIC_ON_CPU) {
			bin->on_cpu_ns += ns;
			bin->on_cpu_rate += cell->rate;
		} else if (cell->metric == METRIC_OFF_RUNNABLE) {
			bin->ready_ns += ns;
			bin->ready_rate += cell->rate;
		}
	}
	// As cells_between() has it: an interval's rate counts from the bin on where it begins.
	uint32_t i = 0;
	for (; i < CELLS_BINS && (i < *used || goes_on(&open, cells->width_ns)); i++) {
		open.on_cpu_rate += bins[i].on_cpu_rate;
		open.ready_rate += bins[i].ready_rate;
		bins[i].on_cpu_ns += open.on_cpu_rate * (double)cells->width_ns;
		bins[i].ready_ns += open.ready_rate * (double)cells->width_ns;
	}
	*used = i;
	return bins;
}

// A part of the window that is judged as one.
struct stretch {
	double wall_ns;
	double on_cpu_ns, ready_ns; // of all threads
	double throttled_ns;
	double busy_ns;          // of the CPUs that the program may use
	uint64_t from_ns, to_ns; // of the run
};

// Of the time in which threads were ready to run, the part in which all of CPUS were taken: OTHERS
// of them by other processes, on average. 1 where nobody has recorded that.
static double crowded_part(const struct wall_time *t, const struct stretch *s, double cpus,
                           double others)
{
	const struct cells *cells = &t->times[WALL_BUSY_TIMES];
	double all_ns = 0, crowded_ns = 0;

	for (uint32_t i = 0; t->has_times && i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		if (cell->metric != WALL_READY)
			continue;
		double ns = cells_within(cells, cell, s->from_ns, s->to_ns);
		// Between two whole numbers of CPUs others were on the one or the other.
		double taken = (double)(cell->node - 1) + others - (cpus - 1);
		all_ns += ns;
		crowded_ns += ns * fmin(1, fmax(0, taken));
	}
	return all_ns > 0 ? crowded_ns / all_ns : 1;
}

// That its threads could have, on average.
static double cpus_of(const struct run *run)
{
	double bound = share_of(run->bound_ns, run->wall_ns);

	return run->bound_cpus >= run->cpus
	               ? run->cpus
	               : run->cpus - fmin(1, bound) * (run->cpus - run->bound_cpus);
}

static void judge(const struct stretch *s, const struct profile *p, bool outnumbered,
                  struct contention_parts *parts)
{
	double cpus = cpus_of(profile_run(p));
	double demand_ns = s->on_cpu_ns + s->ready_ns;
	double threads = s->wall_ns > 0 ? demand_ns / s->wall_ns : 0;
	double quota_ns = fmin(s->ready_ns, s->throttled_ns * fmax(threads, 1));
	double rest_ns = s->ready_ns - quota_ns;
	double room_ns = cpus * fmax(0, s->wall_ns - s->throttled_ns);
	double beyond_ns = fmin(rest_ns, fmax(0, demand_ns - quota_ns - room_ns));
	double others_ns = fmax(0, s->busy_ns - s->on_cpu_ns);

	double others = s->wall_ns > 0 ? fmin(cpus, others_ns / s->wall_ns) : 0;
	others_ns = fmin(rest_ns - beyond_ns, others_ns);
	double own_ns = outnumbered ? rest_ns - others_ns : 0;
	if (own_ns > 0)
		own_ns =
			fmin(own_ns, rest_ns * crowded_part(profile_wall_time(p), s, cpus, others));
	parts->quota_ns += ns_whole(quota_ns);
	parts->others_ns += ns_whole(others_ns);
	parts->own_ns += ns_whole(own_ns);
	parts->nobody_ns += ns_whole(rest_ns - others_ns - own_ns);
}

// The part of ROW, which begins at BEGIN_NS, that is between FROM_NS and TO_NS.
static struct stretch stretch_of(const struct contention_row *row, uint64_t begin_ns,
                                 uint64_t from_ns, uint64_t to_ns)
{
	uint64_t end_ns = row->at_us * NS_PER_US;
	uint64_t first_ns = begin_ns > from_ns ? begin_ns : from_ns;
	uint64_t last_ns = end_ns < to_ns ? end_ns : to_ns;

	if (last_ns <= first_ns)
		return (struct stretch){ 0 };
	double part = (double)(last_ns - first_ns) / (double)(end_ns - begin_ns);
	return (struct stretch){
		.wall_ns = (double)(last_ns - first_ns),
		.throttled_ns = part * (double)row->throttled_us * 1e3,
		.busy_ns = part * (double)row->busy_us * 1e3,
		.from_ns = first_ns,
		.to_ns = last_ns,
	};
}

// What is known of the run as a whole, of profiles without a table.
static struct stretch whole(const struct run *run, uint64_t from_ns, uint64_t to_ns)
{
	double busy_ns = (double)run->machine_busy_ns + (double)run->machine_steal_ns -
	                 (double)run->collector_cpu_ns;
	double part = run->wall_ns ? (double)(to_ns - from_ns) / (double)run->wall_ns : 0;

	return (struct stretch){
		.wall_ns = (double)(to_ns - from_ns),
		.busy_ns = run->machine_cpus ? part * busy_ns : ENDLESS,
		.from_ns = from_ns,
		.to_ns = to_ns,
	};
}

static void take_bins(const struct profile *p, const struct demand *bins, uint32_t used,
                      uint32_t *bin, const struct window *window, uint64_t until_ns,
                      struct stretch *s)
{
	uint32_t end = window->end_bin < CELLS_BINS ? window->end_bin : CELLS_BINS;

	for (; *bin < end && window_bin_start(p, *bin) < until_ns; ++*bin) {
		if (*bin >= used)
			continue;
		s->on_cpu_ns += bins[*bin].on_cpu_ns;
		s->ready_ns += bins[*bin].ready_ns;
	}
	s->on_cpu_ns = fmax(0, s->on_cpu_ns);
	s->ready_ns = fmax(0, s->ready_ns);
}

void contention_share(uint64_t ready_ns, struct contention_answer *answer)
{
	struct contention_parts *critical = &answer->critical;
	const struct contention_parts *all = &answer->all;
	double rest = (double)all->own_ns + (double)all->others_ns + (double)all->nobody_ns;

	critical->quota_ns = ready_ns < answer->throttled_ns ? ready_ns : answer->throttled_ns;
	uint64_t left_ns = ready_ns - critical->quota_ns;
	double scale = rest > 0 ? (double)left_ns / rest : 0;
	critical->own_ns = (uint64_t)((double)all->own_ns * scale);
	critical->nobody_ns = (uint64_t)((double)all->nobody_ns * scale);
	critical->others_ns = left_ns - critical->own_ns - critical->nobody_ns;
}

// What is known by now of a part of the run.
struct judging {
	const struct profile *profile;
	struct window window;
	const struct demand *bins;
	uint32_t used; // of BINS
	bool outnumbered;
	uint32_t bin; // that comes next
	struct contention_answer *answer;
	double *own; // [bin]; NULL: it is not asked for
};

// CPU time that nobody had, as far as is known.
static uint64_t idle_of(const struct stretch *s, const struct run *run)
{
	double busy_ns = s->busy_ns < ENDLESS ? fmax(s->busy_ns, s->on_cpu_ns) : s->on_cpu_ns;

	return ns_whole(fmax(0, run->cpus * (s->wall_ns - s->throttled_ns) - busy_ns));
}

static void judge_bins(struct judging *j, struct stretch *s, uint64_t until_ns)
{
	struct contention_parts parts = { 0 };
	uint32_t first = j->bin;

	take_bins(j->profile, j->bins, j->used, &j->bin, &j->window, until_ns, s);
	judge(s, j->profile, j->outnumbered, &parts);
	j->answer->idle_ns += idle_of(s, profile_run(j->profile));
	j->answer->all.quota_ns += parts.quota_ns;
	j->answer->all.own_ns += parts.own_ns;
	j->answer->all.others_ns += parts.others_ns;
	j->answer->all.nobody_ns += parts.nobody_ns;
	double all = (double)parts.quota_ns + (double)parts.own_ns + (double)parts.others_ns +
	             (double)parts.nobody_ns;
	for (uint32_t i = first; j->own && all > 0 && i < j->bin; i++)
		j->own[i] = (double)parts.own_ns / all;
}

static int judge_all(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                     struct contention_answer *answer, double *own, struct error *err)
{
	const struct run *run = profile_run(p);
	uint64_t run_ns = profile_run_ns(p), end_ns = to_ns && to_ns < run_ns ? to_ns : run_ns;
	uint64_t begin_ns = 0;
	uint32_t used;
	cleanup_free struct demand *bins = add_up(p, &used);
	cleanup_free struct contention *table = malloc(sizeof(*table));
	if (!bins || !table)
		return error_set(err, ENOMEM, "could not tell who had the CPUs");
	struct judging j = { .profile = p,
		             .window = window_of(p, from_ns, to_ns),
		             .bins = bins,
		             .used = used,
		             .outnumbered =
		                     profile_threads(p)->threads_seen > run->cpus || run->bound_ns,
		             .answer = answer,
		             .own = own };
	j.bin = j.window.first_bin;
	contention_parse(table, run->contention);
	for (uint32_t i = 0; i < table->count; i++) {
		const struct contention_row *row = &table->rows[i];
		struct stretch s = stretch_of(row, begin_ns, from_ns, end_ns);
		begin_ns = row->at_us * NS_PER_US;
		// What came after the last row is its.
		judge_bins(&j, &s, i + 1 < table->count ? begin_ns : UINT64_MAX);
		answer->throttled_ns += ns_whole(s.throttled_ns);
		if (s.wall_ns > 0)
			answer->stalled_ns += row->stalled_us * NS_PER_US;
	}
	if (!table->count && end_ns > from_ns) {
		struct stretch s = whole(run, from_ns, end_ns);
		judge_bins(&j, &s, UINT64_MAX);
	}
	return 0;
}

int query_contention(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                     struct contention_answer *answer, struct error *err)
{
	struct account account;

	*answer = (struct contention_answer){ 0 };
	if (query_account_in(p, from_ns, to_ns, &account, err) < 0 ||
	    judge_all(p, from_ns, to_ns, answer, NULL, err) < 0)
		return -1;
	contention_share(account.ns[METRIC_OFF_RUNNABLE], answer);
	return 0;
}

double *query_contention_own(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                             struct error *err)
{
	struct contention_answer answer = { 0 };
	cleanup_free double *own = calloc(CELLS_BINS + 1, sizeof(*own));

	if (!own) {
		error_set(err, ENOMEM, "could not tell who had the CPUs");
		return NULL;
	}
	return judge_all(p, from_ns, to_ns, &answer, own, err) < 0 ? NULL : steal(own);
}

size_t query_quota_groups(const struct run *run, struct quota_group groups[QUOTA_GROUPS])
{
	const char *line = run->quota_groups;
	size_t count = 0;
	int name;

	while (line && *line && count < QUOTA_GROUPS) {
		struct quota_group *g = &groups[count];
		size_t length = strcspn(line, "\n");
		// An unterminated %n is not set: the name would be missing.
		name = 0;
		if (sscanf(line,
		           "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		           " %n",
		           &g->quota_us, &g->period_us, &g->periods, &g->throttled_periods,
		           &g->throttled_ns, &g->wall_ns, &name) == 6 &&
		    name && (size_t)name < length && g->period_us) {
			snprintf(g->name, sizeof(g->name), "%.*s", (int)(length - (size_t)name),
			         line + name);
			count++;
		}
		line += length + (line[length] == '\n');
	}
	return count;
}
