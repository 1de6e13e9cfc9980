// SPDX-License-Identifier: MIT
#include "merge/query/query_ranks.h"

#include "base/array.h"
#include "base/error.h"
#include "merge/numbers/median.h"
#include "merge/profile/profile_parts.h"
#include "merge/table/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_SHARE 0.01 // of the longest wall time: less of a difference is none

// What MPI's libraries do themselves is how they wait, and so is what they ask of the kernel.
static const char *const waiting[] = { "libmpi",   "libopen-",  "mca_",    "libuc",  "libpmi",
	                               "libmpich", "libfabric", "libnccl", "[kernel" };

struct asking {
	const struct profile *profile;
	struct rank_rows *rows;
	uint32_t *row_of;                 // [rank index]
	const struct rank_share **shares; // by function, module
	double *values;                   // [ranks]
	uint64_t wall_ns;                 // the longest
	size_t skew_capacity;
};

void rank_rows_free(struct rank_rows *rows)
{
	if (!rows)
		return;
	free(rows->rows);
	free(rows->skews);
	free(rows);
}

static int compare_rows(const void *a, const void *b)
{
	const struct rank_row *left = a, *right = b;

	if (left->busy_ns != right->busy_ns)
		return left->busy_ns < right->busy_ns ? 1 : -1;
	return (left->number > right->number) - (left->number < right->number);
}

static int compare_shares(const void *a, const void *b)
{
	const struct rank_share *left = *(const struct rank_share *const *)a;
	const struct rank_share *right = *(const struct rank_share *const *)b;

	if (left->function != right->function)
		return left->function < right->function ? -1 : 1;
	return (left->module > right->module) - (left->module < right->module);
}

static int compare_skews(const void *a, const void *b)
{
	const struct rank_skew *left = a, *right = b;
	uint64_t more = left->most_ns - left->median_ns, other = right->most_ns - right->median_ns;

	if (more != other)
		return more < other ? 1 : -1;
	return strcmp(left->function, right->function);
}

static bool is_waiting(const struct rank_skew *skew)
{
	const char *name = skew->function;

	if (strncmp(name, "MPI_", 4) == 0 || strncmp(name, "PMPI_", 5) == 0 ||
	    strncmp(name, "[kernel", 7) == 0)
		return true;
	for (size_t i = 0; skew->module && i < sizeof(waiting) / sizeof(waiting[0]); i++)
		if (strncmp(skew->module, waiting[i], strlen(waiting[i])) == 0)
			return true;
	return false;
}

// Rows by index first, then in their order; ROW_OF tells where each went.
static void fill_rows(struct asking *a)
{
	const struct ranks *ranks = profile_ranks(a->profile);
	const struct strings *strings = profile_strings(a->profile);

	for (uint32_t i = 0; i < ranks->count; i++) {
		const struct rank_info *info = &ranks->ranks[i];
		a->rows->rows[i] = (struct rank_row){
			.number = info->number,
			.numbered = info->numbered,
			.host = strings_get(strings, info->host),
			.command = strings_get(strings, info->command),
			.exit_status = info->exit_status,
			.start_ns = info->start_ns,
			.wall_ns = info->wall_ns,
			.busy_ns = info->busy_ns,
			.mpi_ns = info->mpi_busy_ns + info->mpi_wait_ns,
			.wait_ns = info->wait_ns,
			.steps = info->steps,
			.step_median_ns = info->step_median_ns,
			.meetings = info->meetings,
			.ahead_ns = info->ahead_ns,
			.residual_ns = info->residual_ns,
		};
		a->wall_ns = info->wall_ns > a->wall_ns ? info->wall_ns : a->wall_ns;
	}
	a->rows->count = ranks->count;
}

static void name_functions(struct asking *a)
{
	const struct ranks *ranks = profile_ranks(a->profile);
	cleanup_free uint64_t *most = calloc((size_t)ranks->count + 1, sizeof(*most));

	for (uint32_t i = 0; most && i < ranks->share_count; i++) {
		const struct rank_share *share = &ranks->shares[i];
		const char *name = profile_string(a->profile, share->function);
		const struct rank_skew skew = {
			.function = name,
			.module = profile_string(a->profile, share->module),
		};
		if (share->busy_ns <= most[share->rank - 1] || is_waiting(&skew))
			continue;
		most[share->rank - 1] = share->busy_ns;
		a->rows->rows[share->rank - 1].function = name;
	}
}

struct placed {
	struct rank_row row; // first, for compare_rows()
	uint32_t index;
};

static bool sort_rows(struct asking *a)
{
	size_t count = a->rows->count;
	cleanup_free struct placed *placed = calloc(count + 1, sizeof(*placed));

	if (!placed)
		return false;
	for (uint32_t i = 0; i < count; i++)
		placed[i] = (struct placed){ a->rows->rows[i], i };
	qsort(placed, count, sizeof(*placed), compare_rows);
	for (uint32_t i = 0; i < count; i++) {
		a->rows->rows[i] = placed[i].row;
		a->row_of[placed[i].index] = i;
	}
	return true;
}

static void count_hosts(struct asking *a)
{
	const struct ranks *ranks = profile_ranks(a->profile);

	for (uint32_t i = 0; i < ranks->count; i++) {
		uint32_t before = 0;
		while (before < i && ranks->ranks[before].host != ranks->ranks[i].host)
			before++;
		a->rows->hosts += before == i;
	}
}

static uint64_t waited(const struct rank_row *row)
{
	return row->mpi_ns + row->wait_ns;
}

static void judge(struct asking *a)
{
	struct rank_rows *rows = a->rows;
	const struct rank_row *first = rows->rows;
	size_t others = rows->count - 1;

	for (size_t i = 0; i < others; i++)
		a->values[i] = (double)first[i + 1].busy_ns;
	rows->median_busy_ns = (uint64_t)median_in_place(a->values, others);
	for (size_t i = 0; i < others; i++)
		a->values[i] = (double)waited(&first[i + 1]);
	uint64_t wait = (uint64_t)median_in_place(a->values, others);
	rows->excess_ns = first->busy_ns - rows->median_busy_ns;
	rows->waited_ns = wait > waited(first) ? wait - waited(first) : 0;
	rows->straggles = (double)rows->excess_ns > RANKS_SKEW * (double)rows->median_busy_ns &&
	                  (double)rows->excess_ns >= LEAST_SHARE * (double)a->wall_ns &&
	                  rows->waited_ns >= rows->excess_ns / 2;
}

static void judge_steps(struct asking *a)
{
	struct rank_rows *rows = a->rows;
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].step_median_ns > rows->rows[rows->slowest].step_median_ns)
			rows->slowest = i;
	for (size_t i = 0; i < rows->count; i++)
		if (i != rows->slowest && rows->rows[i].step_median_ns)
			a->values[count++] = (double)rows->rows[i].step_median_ns;
	if (count)
		rows->step_ratio = (double)rows->rows[rows->slowest].step_median_ns /
		                   median_in_place(a->values, count);
}

// Of one function, COUNT shares; ranks that have none had next to nothing of it.
static bool add_skew(struct asking *a, const struct rank_share *const *shares, size_t count)
{
	struct rank_rows *rows = a->rows;
	struct rank_skew skew = {
		.function = profile_string(a->profile, shares[0]->function),
		.module = profile_string(a->profile, shares[0]->module),
	};
	size_t most = 0, others = 0;

	for (size_t i = 1; i < count; i++)
		most = shares[i]->busy_ns > shares[most]->busy_ns ? i : most;
	for (size_t i = 0; i < count; i++)
		if (i != most)
			a->values[others++] = (double)shares[i]->busy_ns;
	while (others + 1 < rows->count)
		a->values[others++] = 0;
	skew.rank = a->row_of[shares[most]->rank - 1];
	skew.most_ns = shares[most]->busy_ns;
	skew.median_ns = (uint64_t)median_in_place(a->values, others);
	double excess = (double)skew.most_ns - (double)skew.median_ns;
	if (is_waiting(&skew) || excess <= RANKS_SKEW * (double)skew.median_ns ||
	    excess < LEAST_SHARE * (double)a->wall_ns)
		return true;
	if (!array_reserve(&rows->skews, &a->skew_capacity, rows->skew_count + 1))
		return false;
	rows->skews[rows->skew_count++] = skew;
	return true;
}

static bool add_skews(struct asking *a)
{
	const struct ranks *ranks = profile_ranks(a->profile);
	struct rank_rows *rows = a->rows;

	for (uint32_t i = 0; i < ranks->share_count; i++)
		a->shares[i] = &ranks->shares[i];
	qsort(a->shares, ranks->share_count, sizeof(struct rank_share *), compare_shares);
	for (size_t i = 0, end; i < ranks->share_count; i = end) {
		for (end = i + 1; end < ranks->share_count; end++)
			if (compare_shares(&a->shares[i], &a->shares[end]) != 0)
				break;
		if (!add_skew(a, a->shares + i, end - i))
			return false;
	}
	if (rows->skew_count)
		qsort(rows->skews, rows->skew_count, sizeof(*rows->skews), compare_skews);
	for (size_t i = rows->skew_count; rows->straggles && i-- > 0;)
		if (rows->skews[i].rank == 0)
			rows->because = &rows->skews[i];
	return true;
}

static void keep_worst(struct rank_rows *rows, const struct rank_meeting *meeting)
{
	size_t at = rows->worst_count;

	if (!meeting->waited_ns)
		return;
	while (at > 0 && rows->worst[at - 1].waited_ns < meeting->waited_ns)
		at--;
	if (at == RANK_MEETINGS)
		return;
	rows->worst_count += rows->worst_count < RANK_MEETINGS;
	memmove(&rows->worst[at + 1], &rows->worst[at],
	        (rows->worst_count - at - 1) * sizeof(*meeting));
	rows->worst[at] = *meeting;
}

static void judge_meetings(struct asking *a)
{
	const struct meetings *meetings = &profile_ranks(a->profile)->meetings;
	uint64_t start_ns = profile_start_ns(a->profile);
	struct rank_rows *rows = a->rows;

	for (uint32_t i = 0; i < meetings->count; i++) {
		const struct meeting *meeting = &meetings->items[i];
		const struct rank_meeting one = {
			.op = profile_string(a->profile, meeting->op),
			.end_ns = meeting->end_ns > start_ns ? meeting->end_ns - start_ns : 0,
			.step = meeting->step,
			.rank = a->row_of[meeting->last - 1],
			.waited_ns = meeting_excess_ns(meeting),
		};
		rows->rows[one.rank].last++;
		rows->rows[one.rank].held_ns += one.waited_ns;
		rows->held_ns += one.waited_ns;
		keep_worst(rows, &one);
	}
	rows->meetings = meetings->count;
	for (size_t i = 1; i < rows->count; i++)
		if (rows->rows[i].held_ns > rows->rows[rows->latest].held_ns)
			rows->latest = i;
}

static bool answer(struct asking *a)
{
	fill_rows(a);
	name_functions(a);
	count_hosts(a);
	if (!sort_rows(a))
		return false;
	if (a->rows->count < 2)
		return true;
	judge(a);
	judge_steps(a);
	judge_meetings(a);
	return add_skews(a);
}

struct rank_rows *query_ranks(const struct profile *p, struct error *err)
{
	const struct ranks *ranks = profile_ranks(p);
	cleanup(rank_rows) struct rank_rows *rows = calloc(1, sizeof(*rows));
	cleanup_free uint32_t *row_of = calloc((size_t)ranks->count + 1, sizeof(*row_of));
	cleanup_free const struct rank_share **shares =
		calloc((size_t)ranks->share_count + 1, sizeof(struct rank_share *));
	// Two shares of one rank may be called alike: templates, and copies of a function.
	cleanup_free double *values =
		calloc((size_t)ranks->count + ranks->share_count + 1, sizeof(*values));
	struct asking a = { p, rows, row_of, shares, values, 0, 0 };

	if (rows)
		rows->rows = calloc((size_t)ranks->count + 1, sizeof(*rows->rows));
	if (!rows || !rows->rows || !row_of || !shares || !values || !answer(&a)) {
		error_set(err, ENOMEM, "could not compare the ranks");
		return NULL;
	}
	return steal(rows);
}
