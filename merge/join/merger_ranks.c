// SPDX-License-Identifier: MIT
// What a part did with its time, as a row among others.
#include "base/error.h"
#include "base/path.h"
#include "merge/join/merger_data.h"
#include "merge/query/query.h"
#include "merge/query/query_steps.h"

#include <errno.h>
#include <string.h>

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

// What a program calls of MPI: such functions do not call each other.
static bool is_mpi(const char *function)
{
	return begins_with(function, "MPI_") || begins_with(function, "PMPI_");
}

static uint64_t waited(const uint64_t ns[METRIC_COUNT])
{
	uint64_t sum = 0;

	for (int i = 0; i < METRIC_COUNT; i++)
		sum += metric_is_off_cpu(i) ? ns[i] : 0;
	return sum;
}

// For a free CPU it is others, and not ranks that are not there yet, who make it wait. In MPI it is
// both: there it looks again and again, and gives the CPU away between.
static void add_row(const struct row *row, struct rank_info *info, uint64_t *mpi_other_ns)
{
	info->busy_ns += row->self_ns[METRIC_ON_CPU];
	info->wait_ns += waited(row->self_ns) - row->self_ns[METRIC_OFF_RUNNABLE];
	if (!is_mpi(row->name))
		return;
	info->mpi_busy_ns += row->total_ns[METRIC_ON_CPU];
	info->mpi_wait_ns += waited(row->total_ns);
	*mpi_other_ns += waited(row->total_ns) - row->total_ns[METRIC_OFF_RUNNABLE];
}

static bool add_shares(struct merger *m, const struct rows *rows)
{
	size_t most = rows->count < RANK_SHARES ? rows->count : RANK_SHARES;
	struct strings *strings = m->profile->strings;

	for (size_t i = 0; i < most; i++) {
		const struct row *row = &rows->rows[i]; // most self first
		if ((double)row->self < RANK_SHARE_LEAST * (double)rows->all)
			break;
		struct rank_share share = {
			.rank = m->profile->ranks.count,
			.function = strings_add(strings, row->name),
			.module = strings_add(strings, path_base(row->module)),
			.busy_ns = row->self_ns[METRIC_ON_CPU],
			.wait_ns = row->self - row->self_ns[METRIC_ON_CPU],
		};
		if (!share.function || !ranks_add_share(&m->profile->ranks, &share))
			return false;
	}
	return true;
}

static bool add_steps(struct merger *m, const struct steps *steps, struct rank_info *info)
{
	info->steps = steps->name ? steps->calls : 0;
	info->step_median_ns = steps->name ? steps->median_ns : 0;
	info->step_sum_ns = steps->name ? steps->sum_ns : 0;
	return merger_join_meetings(m, m->profile->ranks.count, steps);
}

// Of a part that is merged already: its ranks as they are.
static bool keep_ranks(struct merger *m)
{
	const struct ranks *from = &m->part->ranks;
	struct ranks *to = &m->profile->ranks;
	uint32_t before = to->count;

	if (!merger_join_meetings(m, before, NULL))
		return false;
	uint64_t start_ns = merger_time(m, m->part->run.start_ns) - profile_start_ns(m->profile);

	for (uint32_t i = 0; i < from->count; i++) {
		struct rank_info info = from->ranks[i];
		info.numbered = info.numbered && !m->plan.by_place;
		info.number = info.numbered ? info.number : to->count;
		info.start_ns += start_ns;
		if (!merger_text(m, info.host, &info.host) ||
		    !merger_text(m, info.command, &info.command) || !ranks_add(to, &info))
			return false;
	}
	for (uint32_t i = 0; i < from->share_count; i++) {
		struct rank_share share = from->shares[i];
		share.rank += before;
		if (!merger_text(m, share.function, &share.function) ||
		    !merger_text(m, share.module, &share.module) || !ranks_add_share(to, &share))
			return false;
	}
	return true;
}

static int add_rank(struct merger *m, struct error *err)
{
	const struct query query = { .by = BY_FUNCTION, .without_others = true };
	const struct run *run = &m->part->run;
	struct strings *strings = m->profile->strings;
	cleanup(rows) struct rows *rows = query_run(m->part, &query, err);
	cleanup(steps) struct steps *steps = query_steps(m->part, &(struct steps_query){ 0 }, err);
	bool numbered = run->has_rank && !m->plan.by_place;
	struct rank_info info = {
		.number = numbered ? run->rank : m->profile->ranks.count,
		.numbered = numbered,
		.host = strings_add(strings, run->host),
		.command = strings_add(strings, run->command),
		.exit_status = run->exit_status,
		.start_ns = merger_time(m, run->start_ns) - profile_start_ns(m->profile),
		.wall_ns = run->wall_ns,
		.samples = run->samples,
		.meetings = m->clock.count,
		.ahead_ns = m->clock.ahead_ns,
		.residual_ns = m->clock.residual_ns,
	};

	uint64_t mpi_other_ns = 0; // of wait_ns
	if (!rows || !steps)
		return -1;
	if (!add_steps(m, steps, &info))
		return error_set(err, ENOMEM, "could not keep a rank");
	for (size_t i = 0; i < rows->count; i++)
		add_row(&rows->rows[i], &info, &mpi_other_ns);
	info.busy_ns -= info.mpi_busy_ns < info.busy_ns ? info.mpi_busy_ns : info.busy_ns;
	info.wait_ns -= mpi_other_ns < info.wait_ns ? mpi_other_ns : info.wait_ns;
	return ranks_add(&m->profile->ranks, &info) && add_shares(m, rows)
	               ? 0
	               : error_set(err, ENOMEM, "could not keep a rank");
}

int merger_add_rank(struct merger *m, struct error *err)
{
	if (!m->part->ranks.count)
		return add_rank(m, err);
	return keep_ranks(m) ? 0 : error_set(err, ENOMEM, "could not keep the ranks");
}
