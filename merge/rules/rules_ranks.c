// SPDX-License-Identifier: MIT
// Rules on MPI, and on ranks beside each other.
#include "base/error.h"
#include "base/format.h"
#include "base/op.h"
#include "base/rank.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query_ranks.h"
#include "merge/query/query_waits.h"
#include "merge/rules/evidence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LATE_SHARE                                                                                 \
	0.5 /* of what other ranks wait in MPI at most: who waits so much less is late             \
	     */

// Those take their time once, and do not wait for who works too long.
static bool is_once(const char *call)
{
	return strncmp(call, "MPI_Init", strlen("MPI_Init")) == 0 ||
	       strcmp(call, "MPI_Finalize") == 0;
}

static bool is_talk(const struct op_row *row)
{
	return strcmp(row->provider, op_provider_name(OP_MPI)) == 0 && !is_once(row->name);
}

static const struct op_row *most_of(const struct op_rows *ops, uint64_t *all_ns, uint64_t *calls)
{
	const struct op_row *most = NULL;

	for (size_t i = 0; i < ops->count; i++) {
		const struct op_row *row = &ops->rows[i];
		if (!is_talk(row))
			continue;
		*all_ns += row->total_ns;
		*calls += row->calls;
		most = !most || row->total_ns > most->total_ns ? row : most;
	}
	return most;
}

// The time in calls of MPI of the process that is rank NUMBER.
struct rank_time {
	uint32_t number;
	uint64_t ns;
};

static int compare_rank_times(const void *a, const void *b)
{
	const struct rank_time *left = a, *right = b;

	return (left->ns > right->ns) - (left->ns < right->ns);
}

static bool rank_of_thread(const struct profile *p, uint32_t tid, uint32_t *number)
{
	const struct threads *threads = profile_threads(p);

	for (size_t i = 0; i < threads->thread_count; i++) {
		const struct thread_info *thread = &threads->threads[i];
		const struct process_info *process = profile_process(p, thread->process);
		if (thread->tid == tid && process)
			return rank_of_title(profile_string(p, process->title), number);
	}
	return false;
}

// The time in MPI of each rank that one profile has, in TIMES, least first. Returns how many.
static size_t rank_times(const struct evidence *e, struct rank_time **times)
{
	const struct op_query query = { .by = OPS_BY_THREAD,
		                        .from_ns = e->query.from_ns,
		                        .to_ns = e->query.to_ns };
	struct error err = { 0 };
	cleanup(op_rows) struct op_rows *rows = query_ops(e->profile, &query, &err);
	size_t count = 0;

	*times = rows && rows->count ? calloc(rows->count, sizeof(**times)) : NULL;
	for (size_t i = 0; *times && i < rows->count; i++) {
		const struct op_row *row = &rows->rows[i];
		uint32_t number;
		size_t at = 0;
		if (!is_talk(row) || !rank_of_thread(e->profile, row->tid, &number))
			continue;
		while (at < count && (*times)[at].number != number)
			at++;
		if (at == count)
			(*times)[count++] = (struct rank_time){ .number = number };
		(*times)[at].ns += row->total_ns;
	}
	if (count)
		qsort(*times, count, sizeof(**times), compare_rank_times);
	return count;
}

// The rank that comes last to most calls, as it waits in them for much less time than the others
// do: its number + 1. 0: there is none. Samples say so, too, but where ranks share too few CPUs
// they have those who wait for a CPU as well.
static uint32_t late_rank(const struct evidence *e)
{
	cleanup_free struct rank_time *times = NULL;
	size_t count = rank_times(e, &times);

	// Who is next would be as late without the first.
	return count > 1 && (double)times[0].ns < LATE_SHARE * (double)times[1].ns
	               ? times[0].number + 1
	               : 0;
}

// Whether both are ranks' waits for one function.
static bool is_for_same(const struct wait_row *a, const struct wait_row *b)
{
	return b->kind == WAIT_KIND_RANKS && b->holder.function &&
	       strcmp(a->holder.function, b->holder.function) == 0;
}

// For whom ranks wait most in calls of MPI, where they run in one profile and are seen beside each
// other; for LATE, a number + 1, alone, if it is not 0. NULL: that is not known, or for none so
// much.
static const struct wait_row *waited_for(const struct wait_rows *waits, uint32_t late)
{
	const struct wait_row *best = NULL;
	uint64_t most_ns = 0, all_ns = 0;

	for (size_t i = 0; i < waits->count; i++) {
		const struct wait_row *row = &waits->rows[i];
		uint64_t ns = 0;
		if (row->kind != WAIT_KIND_RANKS)
			continue;
		// A stack that was not recorded says nothing for another place.
		if (!row->holder.function || (late && row->holder.rank != late))
			continue;
		all_ns += row->ns;
		for (size_t k = i; k < waits->count; k++)
			if (is_for_same(row, &waits->rows[k]) &&
			    (!late || waits->rows[k].holder.rank == late))
				ns += waits->rows[k].ns;
		if (ns <= most_ns)
			continue;
		most_ns = ns;
		best = row; // the first of them has most
	}
	return 2 * most_ns >= all_ns ? best : NULL;
}

// Which rank it is that most of the waits for ROW's function are for; 0: none has most of them.
// Else its number + 1.
static uint32_t rank_waited_for(const struct wait_rows *waits, const struct wait_row *row)
{
	uint64_t all_ns = 0, most_ns = 0;
	uint32_t best = 0;

	for (size_t i = 0; i < waits->count; i++) {
		uint64_t ns = 0;
		if (!is_for_same(row, &waits->rows[i]))
			continue;
		all_ns += waits->rows[i].ns;
		for (size_t k = i; k < waits->count; k++)
			if (is_for_same(row, &waits->rows[k]) &&
			    waits->rows[k].holder.rank == waits->rows[i].holder.rank)
				ns += waits->rows[k].ns;
		if (ns <= most_ns)
			continue;
		most_ns = ns;
		best = waits->rows[i].holder.rank;
	}
	return 2 * most_ns >= all_ns ? best : 0;
}

// What a program calls of MPI: such functions do not call each other.
static bool is_call(const char *function)
{
	const char *call = *function == 'P' ? function + 1 : function;

	return strncmp(call, "MPI_", strlen("MPI_")) == 0 && !is_once(call);
}

// Of the wall time, which is that of the rank for which the others wait, what it is in MPI itself.
// Where it lacks a CPU there, that is not MPI's doing. UINT64_MAX: not known.
static uint64_t wall_in_mpi(const struct evidence *e)
{
	struct query query = e->query;
	struct wall_rank rank;
	struct error err;
	uint64_t ns = 0;

	if (!query_wall_rank(e->profile, &rank))
		return UINT64_MAX;
	query.by = BY_FUNCTION;
	query.of = QUERY_WALL;
	cleanup(rows) struct rows *rows = query_run(e->profile, &query, &err);
	for (size_t i = 0; rows && i < rows->count; i++)
		if (is_call(rows->rows[i].name))
			ns += rows->rows[i].total - rows->rows[i].total_ns[METRIC_OFF_RUNNABLE];
	return rows ? ns : UINT64_MAX;
}

static enum measured measure_mpi(const struct evidence *e, const struct rule *rule,
                                 struct finding *finding)
{
	uint64_t all_ns = 0, calls = 0;
	const struct op_row *most = most_of(e->ops, &all_ns, &calls);
	char place[300], whom[400] = "";

	(void)rule;
	if (!most || !e->ops->wall_ns)
		return MEASURED_NOTHING;
	uint32_t late = late_rank(e);
	const struct wait_row *row = waited_for(e->waits, late);
	uint32_t rank = late || !row ? late : rank_waited_for(e->waits, row);
	if (row)
		finding_place(row->holder.function, row->holder.file, row->holder.line, place,
		              sizeof(place));
	if (rank)
		snprintf(whom, sizeof(whom), ", waiting for rank %u%s%s", rank - 1,
		         row ? ", which is in " : "", row ? place : "");
	else if (row)
		snprintf(whom, sizeof(whom), ", waiting for a rank that is in %s", place);
	if (rank || row)
		finding_advise(finding,
		               "Distribute that work evenly over the ranks. If it is even, "
		               "communicate less, in larger messages, or during computation "
		               "(MPI_Isend, MPI_Iallreduce).");
	finding->share = (double)all_ns / (double)e->ops->wall_ns;
	finding->share = finding->share > 1 ? 1 : finding->share;
	finding->value = 100 * finding->share;
	finding->saving_ns = (uint64_t)(finding->share * (double)e->wall_ns);
	if (all_ns < finding->saving_ns)
		finding->saving_ns = all_ns;
	uint64_t own_ns = wall_in_mpi(e);
	if (own_ns < finding->saving_ns)
		finding->saving_ns = own_ns;
	if (own_ns != UINT64_MAX)
		finding_advise(finding,
		               "Communicate less, in larger messages, or during computation "
		               "(MPI_Isend, MPI_Iallreduce).");
	// The line to change is that of the rank that is late.
	if (rank && row)
		finding_add(finding, &(struct finding_row){ .function = row->holder.function,
		                                            .file = row->holder.file,
		                                            .line = row->holder.line });
	finding_add(finding, &(struct finding_row){
				     .function = most->function ? most->function : most->name,
				     .file = most->file,
				     .line = most->line,
				     .callee = most->name,
				     .ns = most->total_ns,
				     .calls = most->calls,
			     });
	return finding_say(finding,
	                   "%.0f %% of the time of threads that use MPI is spent in %s "
	                   "MPI calls, mostly %s%s",
	                   finding->value, format_count(calls).text, most->name, whom);
}

static uint32_t number_of(const struct rank_rows *rows, size_t row)
{
	return rows->rows[row].number;
}

static void say_skew(const struct rank_rows *rows, struct finding *finding)
{
	const struct rank_row *first = rows->rows;
	char where[360] = "", late[128] = "", place[300];

	if (rows->because) {
		finding_place(finding->function, finding->file, finding->line, place,
		              sizeof(place));
		snprintf(where, sizeof(where), ", %.3g s more in %s",
		         (double)(rows->because->most_ns - rows->because->median_ns) / 1e9, place);
	}
	if (rows->held_ns)
		snprintf(late, sizeof(late),
		         "; at %llu of %llu collective operations all waited for rank %u",
		         (unsigned long long)rows->rows[rows->latest].last,
		         (unsigned long long)rows->meetings, number_of(rows, rows->latest));
	finding_say(finding,
	            "rank %u works %.2f times as long as the others (%.3g s, median %.3g s)%s%s",
	            first->number, finding->value, (double)first->busy_ns / 1e9,
	            (double)rows->median_busy_ns / 1e9, where, late);
}

// The function that the ranks differ by, at its heaviest line.
static int add_because(const struct evidence *e, const struct rank_skew *because,
                       struct finding *finding, struct error *err)
{
	struct query query = { .by = BY_FUNCTION, .on_cpu = true };
	struct wall_rank rank;

	// That is the straggler's own, mostly.
	if (query_wall_rank(e->profile, &rank))
		query.of = QUERY_WALL;
	cleanup(rows) struct rows *rows = query_run(e->profile, &query, err);
	if (!rows)
		return -1;
	struct finding_row row = { .function = because->function, .ns = because->most_ns };
	for (size_t i = 0; i < rows->count && !row.file; i++) {
		if (strcmp(rows->rows[i].name, because->function) != 0)
			continue;
		row.file = rows->rows[i].file;
		row.line = rows->rows[i].line;
	}
	finding_add(finding, &row);
	return 0;
}

// What the others wait for the one that works most is all there is to be had.
static enum measured measure_skew(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	struct error err;
	cleanup(rank_rows) struct rank_rows *rows = query_ranks(e->profile, &err);

	(void)rule;
	if (!rows || rows->count < 2 || !rows->median_busy_ns)
		return MEASURED_NOTHING;
	if (e->query.from_ns || e->query.to_ns)
		return finding_lacks(finding, "what each rank did is known of the whole run alone");
	const struct rank_row *first = rows->rows;
	finding->value = (double)first->busy_ns / (double)rows->median_busy_ns;
	if (!rows->straggles) {
		// Nobody waits for it: that is no loss.
		finding->value = finding->value > 1 + RANKS_SKEW ? 1 : finding->value;
		return MEASURED;
	}
	finding->saving_ns = rows->excess_ns < rows->waited_ns ? rows->excess_ns : rows->waited_ns;
	finding->share = e->wall_ns ? (double)finding->saving_ns / (double)e->wall_ns : 0;
	finding->share = finding->share > 1 ? 1 : finding->share;
	if (rows->because && add_because(e, rows->because, finding, &err) < 0)
		return finding_lacks(finding, "there is no memory");
	say_skew(rows, finding);
	return MEASURED;
}

const struct rule rules_ranks[] = {
	{ .id = "MPI-TIME",
	  .subject = RULES_RANKS,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 15,
	  .severe = 0,
	  .title = "MPI calls",
	  .formula = "time in calls of MPI, but for those that begin and end it, as a share of the "
	             "time of all threads that have ops; of merged profiles its price is that "
	             "of the rank that works longest",
	  .why = "In MPI calls ranks wait for each other and for the network, and compute "
	         "nothing.",
	  .advice = "Merge the profiles of all ranks (bottleneck merge) to see which rank the "
	            "others wait for. If all compute equally long, communicate less, in larger "
	            "messages, or during computation (MPI_Isend, MPI_Iallreduce).",
	  .source = "Intel's Application Performance Snapshot flags MPI time above 15 %",
	  .measure = measure_mpi },
	{ .id = "RANK-SKEW",
	  .subject = RULES_RANKS,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_RATIO,
	  .threshold = 1 + RANKS_SKEW,
	  .whole_run = true,
	  .narrows = true,
	  .title = "one rank delays the others",
	  .formula = "in a merged profile, CPU time outside of MPI of the rank that has most, "
	             "divided by the median of the others'; only where the others wait longer than "
	             "it does, for half of the difference or more",
	  .why = "All ranks proceed only as fast as the slowest one.",
	  .advice = "Distribute the work evenly; or find out why this rank takes longer: its "
	            "host, or its part of the data.",
	  .source = "our choice; Holistic Trace Analysis names who comes last",
	  .measure = measure_skew },
};

const size_t rules_ranks_count = sizeof(rules_ranks) / sizeof(rules_ranks[0]);
