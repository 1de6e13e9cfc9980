// SPDX-License-Identifier: MIT
/*
 * What a merged profile has of its ranks. Other profiles have no such tables.
 */
#include "merge/file/file_reader.h"
#include "merge/file/file_writer.h"

#include <stddef.h>
#include <string.h>

#define RANK_WIDTH     18
#define SHARE_WIDTH    5
#define SHARE_DELTAS   0x1
#define MEETING_WIDTH  7
#define MEETING_DELTAS 0x10

static const char schema[] =
	"CREATE TABLE rank(number INTEGER, numbered INTEGER, host INTEGER, command INTEGER,"
	" exit_status INTEGER, start_ns INTEGER, wall_ns INTEGER, busy_ns INTEGER,"
	" mpi_busy_ns INTEGER, mpi_wait_ns INTEGER, wait_ns INTEGER, samples INTEGER,"
	" steps INTEGER, step_median_ns INTEGER, step_sum_ns INTEGER, meetings INTEGER,"
	" residual_ns INTEGER, ahead_ns INTEGER);"
	"CREATE TABLE meeting_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE rank_share_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE VIEW rank_time(rank, host, command, exit_status, start_ns, wall_ns, busy_ns,"
	" mpi_busy_ns, mpi_wait_ns, wait_ns, steps, step_median_ns, meetings, ahead_ns, residual_ns) AS"
	" SELECT r.number, h.text, c.text, r.exit_status, r.start_ns, r.wall_ns, r.busy_ns,"
	" r.mpi_busy_ns, r.mpi_wait_ns, r.wait_ns, r.steps, r.step_median_ns, r.meetings,"
	" r.ahead_ns, r.residual_ns"
	" FROM rank r LEFT JOIN string h ON h.id = r.host LEFT JOIN string c ON c.id = r.command;";

// The numbers behind the status, in their order.
static const size_t times[] = {
	offsetof(struct rank_info, start_ns),       offsetof(struct rank_info, wall_ns),
	offsetof(struct rank_info, busy_ns),        offsetof(struct rank_info, mpi_busy_ns),
	offsetof(struct rank_info, mpi_wait_ns),    offsetof(struct rank_info, wait_ns),
	offsetof(struct rank_info, samples),        offsetof(struct rank_info, steps),
	offsetof(struct rank_info, step_median_ns), offsetof(struct rank_info, step_sum_ns),
	offsetof(struct rank_info, meetings),       offsetof(struct rank_info, residual_ns),
};
#define TIMES (sizeof(times) / sizeof(times[0]))
_Static_assert(TIMES + 6 == RANK_WIDTH, "the columns of a rank");

static uint64_t *time_at(const struct rank_info *info, size_t i)
{
	return (uint64_t *)((char *)info + times[i]);
}

int write_rank_facts(struct file_writer *w)
{
	const struct ranks *r = &w->profile->ranks;

	if (!r->count)
		return 0;
	if (file_writer_fact(w, "ranks", r->count) < 0)
		return -1;
	if (file_writer_fact(w, "meetings", r->meetings.count) < 0)
		return -1;
	return file_writer_fact(w, "rank_shares", r->share_count);
}

static int write_rank(struct file_writer *w, const struct rank_info *info)
{
	file_writer_int(w, info->number);
	file_writer_int(w, info->numbered);
	file_writer_id(w, info->host);
	file_writer_id(w, info->command);
	file_writer_int(w, info->exit_status);
	for (size_t i = 0; i < TIMES; i++)
		file_writer_int(w, (int64_t)*time_at(info, i));
	file_writer_int(w, info->ahead_ns);
	return file_writer_row(w);
}

static void fill_share(const struct file_writer *w, const void *context, uint32_t index,
                       struct columns *c, uint32_t at)
{
	const struct rank_share *share = &w->profile->ranks.shares[index];

	(void)context;
	*columns_at(c, 0, at) = share->rank;
	*columns_at(c, 1, at) = share->function;
	*columns_at(c, 2, at) = share->module;
	*columns_at(c, 3, at) = share->busy_ns;
	*columns_at(c, 4, at) = share->wait_ns;
}

static void fill_meeting(const struct file_writer *w, const void *context, uint32_t index,
                         struct columns *c, uint32_t at)
{
	const struct meeting *meeting = &w->profile->ranks.meetings.items[index];

	(void)context;
	*columns_at(c, 0, at) = meeting->op;
	*columns_at(c, 1, at) = meeting->ranks;
	*columns_at(c, 2, at) = meeting->last;
	*columns_at(c, 3, at) = meeting->step;
	*columns_at(c, 4, at) = meeting->end_ns;
	*columns_at(c, 5, at) = meeting->last_ns;
	*columns_at(c, 6, at) = meeting->sum_ns;
}

int write_ranks(struct file_writer *w)
{
	const struct ranks *r = &w->profile->ranks;
	const struct chunked shares = { "rank_share_chunk", r->share_count, SHARE_WIDTH,
		                        SHARE_DELTAS,       fill_share,     NULL };

	const struct chunked meetings = { "meeting_chunk", r->meetings.count, MEETING_WIDTH,
		                          MEETING_DELTAS,  fill_meeting,      NULL };

	if (!r->count)
		return 0;
	if (file_writer_sql(w, schema) < 0 || file_writer_begin(w, "rank", RANK_WIDTH, true) < 0)
		return -1;
	for (uint32_t i = 0; i < r->count; i++)
		if (write_rank(w, &r->ranks[i]) < 0)
			return -1;
	if (file_writer_chunks(w, &shares) < 0)
		return -1;
	return file_writer_chunks(w, &meetings);
}

bool take_rank_fact(struct file_reader *r, const char *key, int64_t value)
{
	if (strcmp(key, "ranks") == 0)
		r->ranks = (uint64_t)value;
	else if (strcmp(key, "rank_shares") == 0)
		r->rank_shares = (uint64_t)value;
	else if (strcmp(key, "meetings") == 0)
		r->meetings = (uint64_t)value;
	else
		return false;
	return true;
}

static int take_rank(struct file_reader *r)
{
	uint64_t texts = strings_count(r->profile->strings);
	bool ok = r->profile->ranks.count < r->ranks;
	struct rank_info info = {
		.number = file_reader_id(r, 0, UINT32_MAX, &ok),
		.numbered = file_reader_id(r, 1, 1, &ok),
		.host = file_reader_id(r, 2, texts, &ok),
		.command = file_reader_id(r, 3, texts, &ok),
		.exit_status = (int)file_reader_int(r, 4),
	};

	for (size_t i = 0; i < TIMES; i++) {
		int64_t value = file_reader_int(r, 5 + (int)i);
		// Sums of as many as there may be stay below 2^63.
		ok &= value >= 0 && value < INT64_MAX / (int64_t)RANKS_MAX;
		*time_at(&info, i) = (uint64_t)value;
	}
	info.ahead_ns = file_reader_int(r, 5 + (int)TIMES);
	if (!ok)
		return file_reader_damaged(r, "a rank cannot be");
	return ranks_add(&r->profile->ranks, &info) ? 0 : file_reader_no_memory(r);
}

static int take_share(struct file_reader *r, struct columns *c, uint32_t row)
{
	struct ranks *ranks = &r->profile->ranks;
	uint64_t texts = strings_count(r->profile->strings);
	uint64_t rank = *columns_at(c, 0, row), function = *columns_at(c, 1, row);
	uint64_t module = *columns_at(c, 2, row);
	struct rank_share share = { .busy_ns = *columns_at(c, 3, row),
		                    .wait_ns = *columns_at(c, 4, row) };

	if (!rank || rank > ranks->count || !function || function > texts || module > texts ||
	    share.busy_ns >= INT64_MAX / RANKS_MAX || share.wait_ns >= INT64_MAX / RANKS_MAX ||
	    ranks->share_count >= r->rank_shares)
		return file_reader_damaged(r, "a rank's time cannot be");
	share.rank = (uint32_t)rank;
	share.function = (uint32_t)function;
	share.module = (uint32_t)module;
	return ranks_add_share(ranks, &share) ? 0 : file_reader_no_memory(r);
}

static int take_meeting(struct file_reader *r, struct columns *c, uint32_t row)
{
	struct ranks *ranks = &r->profile->ranks;
	uint64_t op = *columns_at(c, 0, row), count = *columns_at(c, 1, row);
	uint64_t last = *columns_at(c, 2, row), step = *columns_at(c, 3, row);
	const struct meeting meeting = {
		.op = (uint32_t)op,
		.ranks = (uint32_t)count,
		.last = (uint32_t)last,
		.step = (uint32_t)step,
		.end_ns = *columns_at(c, 4, row),
		.last_ns = *columns_at(c, 5, row),
		.sum_ns = *columns_at(c, 6, row),
	};

	if (!op || op > strings_count(r->profile->strings) || !count || count > ranks->count ||
	    !last || last > ranks->count || step > UINT32_MAX || meeting.end_ns > INT64_MAX ||
	    meeting.last_ns > INT64_MAX || meeting.sum_ns > INT64_MAX ||
	    ranks->meetings.count >= r->meetings)
		return file_reader_damaged(r, "a meeting of ranks cannot be");
	return meetings_add(&ranks->meetings, &meeting) ? 0 : file_reader_no_memory(r);
}

static int take_rank_number(struct file_reader *r)
{
	bool ok = r->profile->ranks.count < r->ranks;
	const struct rank_info info = { .number = file_reader_id(r, 0, UINT32_MAX, &ok),
		                        .numbered = file_reader_id(r, 1, 1, &ok) };

	if (!ok)
		return file_reader_damaged(r, "a rank cannot be");
	return ranks_add(&r->profile->ranks, &info) ? 0 : file_reader_no_memory(r);
}

int read_rank_numbers(struct file_reader *r)
{
	if (!r->ranks)
		return 0;
	if (file_reader_rows(r, "rank", RANK_WIDTH, take_rank_number) < 0)
		return -1;
	return r->profile->ranks.count == r->ranks ? 0
	                                           : file_reader_damaged(r, "a rank is missing");
}

int read_ranks(struct file_reader *r)
{
	const struct ranks *ranks = &r->profile->ranks;

	if (!r->ranks && !r->rank_shares && !r->meetings)
		return 0;
	if (r->ranks > RANKS_MAX || r->rank_shares > (uint64_t)RANKS_MAX * RANK_SHARES ||
	    r->meetings > MEETINGS_MAX)
		return file_reader_damaged(r, "its ranks cannot be");
	if (file_reader_rows(r, "rank", RANK_WIDTH, take_rank) < 0 ||
	    file_reader_chunks(r, "rank_share_chunk", SHARE_WIDTH, SHARE_DELTAS, take_share) < 0 ||
	    file_reader_chunks(r, "meeting_chunk", MEETING_WIDTH, MEETING_DELTAS, take_meeting) < 0)
		return -1;
	return ranks->count == r->ranks && ranks->share_count == r->rank_shares &&
	                       ranks->meetings.count == r->meetings
	               ? 0
	               : file_reader_damaged(r, "a rank is missing");
}
