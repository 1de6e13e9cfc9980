// SPDX-License-Identifier: MIT
#include "cli/report/ranks_json.h"

#include "cli/json.h"
#include "merge/query/query_ranks.h"

static void put_row(struct json *j, const struct rank_rows *rows, const struct rank_row *row)
{
	json_open(j, NULL, '{');
	json_put_count(j, "rank", row->number);
	json_put_text(j, "host", row->host);
	json_put_text(j, "command", row->command);
	json_put_count(j, "start_ns", row->start_ns);
	json_put_count(j, "wall_ns", row->wall_ns);
	json_put_count(j, "busy_ns", row->busy_ns);
	json_put_count(j, "mpi_ns", row->mpi_ns);
	json_put_count(j, "wait_ns", row->wait_ns);
	json_put_count(j, "steps", row->steps);
	json_put_count(j, "step_median_ns", row->step_median_ns);
	json_put_text(j, "function", row->function);
	if (rows->meetings) {
		json_put_count(j, "last", row->last);
		json_put_count(j, "held_ns", row->held_ns);
	} else {
		json_put_null(j, "last");
		json_put_null(j, "held_ns");
	}
	if (row->meetings >= MEETINGS_LEAST) {
		json_put_integer(j, "ahead_ns", row->ahead_ns);
		json_put_count(j, "residual_ns", row->residual_ns);
	} else {
		json_put_null(j, "ahead_ns");
		json_put_null(j, "residual_ns");
	}
	json_close(j);
}

static void put_straggler(struct json *j, const struct rank_rows *rows)
{
	if (!rows->straggles) {
		json_put_null(j, "straggler");
		return;
	}
	json_open(j, "straggler", '{');
	json_put_count(j, "rank", rows->rows[0].number);
	json_put_text(j, "host", rows->rows[0].host);
	json_put_count(j, "excess_ns", rows->excess_ns);
	json_put_count(j, "waited_ns", rows->waited_ns);
	json_put_text(j, "function", rows->because ? rows->because->function : NULL);
	json_close(j);
}

static void put_meetings(struct json *j, const struct rank_rows *rows)
{
	json_put_count(j, "meetings", rows->meetings);
	json_put_count(j, "held_ns", rows->held_ns);
	json_open(j, "worst", '[');
	for (size_t i = 0; i < rows->worst_count; i++) {
		const struct rank_meeting *meeting = &rows->worst[i];
		json_open(j, NULL, '{');
		json_put_text(j, "op", meeting->op);
		json_put_count(j, "end_ns", meeting->end_ns);
		json_put_count(j, "waited_ns", meeting->waited_ns);
		json_put_count(j, "rank", rows->rows[meeting->rank].number);
		if (meeting->step)
			json_put_count(j, "step", meeting->step);
		else
			json_put_null(j, "step");
		json_close(j);
	}
	json_close(j);
}

static void put_skews(struct json *j, const struct rank_rows *rows)
{
	json_open(j, "skews", '[');
	for (size_t i = 0; i < rows->skew_count; i++) {
		const struct rank_skew *skew = &rows->skews[i];
		json_open(j, NULL, '{');
		json_put_text(j, "function", skew->function);
		json_put_text(j, "module", skew->module);
		json_put_count(j, "rank", rows->rows[skew->rank].number);
		json_put_count(j, "most_ns", skew->most_ns);
		json_put_count(j, "median_ns", skew->median_ns);
		json_close(j);
	}
	json_close(j);
}

int ranks_json(struct json *j, const struct profile *profile, struct error *err)
{
	cleanup(rank_rows) struct rank_rows *rows = query_ranks(profile, err);

	if (!rows)
		return -1;
	if (!rows->count)
		return 0;
	json_open(j, "ranks", '{');
	json_put_count(j, "hosts", rows->hosts);
	put_straggler(j, rows);
	put_meetings(j, rows);
	put_skews(j, rows);
	json_open(j, "rows", '[');
	for (size_t i = 0; i < rows->count; i++)
		put_row(j, rows, &rows->rows[i]);
	json_close(j);
	json_close(j);
	return 0;
}
