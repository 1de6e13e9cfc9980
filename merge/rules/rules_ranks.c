// SPDX-License-Identifier: MIT
// Rules on MPI, and on ranks beside each other.
#include "base/op.h"
#include "merge/query/query_ranks.h"
#include "merge/rules/evidence.h"

#include <stdio.h>
#include <string.h>

// Those take their time once, and do not wait for who works too long.
static bool is_talk(const struct op_row *row)
{
	return strcmp(row->provider, op_provider_name(OP_MPI)) == 0 &&
	       strncmp(row->name, "MPI_Init", strlen("MPI_Init")) != 0 &&
	       strcmp(row->name, "MPI_Finalize") != 0;
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

static enum measured measure_mpi(const struct evidence *e, const struct rule *rule,
                                 struct finding *finding)
{
	uint64_t all_ns = 0, calls = 0;
	const struct op_row *most = most_of(e->ops, &all_ns, &calls);

	(void)rule;
	if (!most || !e->ops->wall_ns)
		return MEASURED_NOTHING;
	finding->share = (double)all_ns / (double)e->ops->wall_ns;
	finding->share = finding->share > 1 ? 1 : finding->share;
	finding->value = 100 * finding->share;
	finding->saving_ns = (uint64_t)(finding->share * (double)e->wall_ns);
	finding_add(finding, &(struct finding_row){
				     .function = most->function ? most->function : most->name,
				     .file = most->file,
				     .line = most->line,
				     .callee = most->name,
				     .ns = most->total_ns,
				     .calls = most->calls,
			     });
	return finding_say(finding,
	                   "%.0f %% of the time of the threads that call MPI is in its "
	                   "%llu calls, most in %s",
	                   finding->value, (unsigned long long)calls, most->name);
}

static uint32_t number_of(const struct rank_rows *rows, size_t row)
{
	return rows->rows[row].number;
}

static void say_skew(const struct rank_rows *rows, struct finding *finding)
{
	const struct rank_row *first = rows->rows;
	char where[160] = "", late[128] = "";

	if (rows->because)
		snprintf(where, sizeof(where), ", %.3g s more of it in %.100s",
		         (double)(rows->because->most_ns - rows->because->median_ns) / 1e9,
		         rows->because->function);
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

// What the others wait for the one that works most is all there is to be had.
static enum measured measure_skew(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	cleanup(rank_rows) struct rank_rows *rows = query_ranks(e->profile, NULL);

	(void)rule;
	if (!rows || rows->count < 2 || !rows->median_busy_ns)
		return MEASURED_NOTHING;
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
	if (rows->because)
		finding_add(finding, &(struct finding_row){ .function = rows->because->function,
		                                            .ns = rows->because->most_ns });
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
	  .title = "much of the time is in calls of MPI",
	  .formula = "time in calls of MPI, but for those that begin and end it, as a share of the "
	             "time of all threads that have ops",
	  .why = "In them ranks wait for each other, and for the network: nothing is computed.",
	  .advice =
	          "Merge the profiles of all ranks (bottleneck merge) to see who is waited for. If "
	          "all work alike, send less, in larger messages, or while computing (MPI_Isend, "
	          "MPI_Iallreduce).",
	  .source = "Intel's Application Performance Snapshot flags MPI time above 15 %",
	  .measure = measure_mpi },
	{ .id = "RANK-SKEW",
	  .subject = RULES_RANKS,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_RATIO,
	  .threshold = 1 + RANKS_SKEW,
	  .whole_run = true,
	  .title = "one rank holds the others up",
	  .formula =
	          "in a merged profile, CPU time outside of MPI of the rank that has most, divided "
	          "by the median of the others'; only where the others wait longer than it does, for half of the "
	          "difference or more",
	  .why = "All ranks get on only as fast as the slowest one.",
	  .advice =
	          "Divide the work anew, so that all have the same; or find out why this rank takes "
	          "longer for it: its host, its part of the data.",
	  .source = "our choice; Holistic Trace Analysis names who comes last",
	  .measure = measure_skew },
};

const size_t rules_ranks_count = sizeof(rules_ranks) / sizeof(rules_ranks[0]);
