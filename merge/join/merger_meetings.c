// SPDX-License-Identifier: MIT
// Where the rank of one part meets the others, by the single calls that its timeline has kept.
#include "base/array.h"
#include "base/error.h"
#include "base/message.h"
#include "merge/join/merger_data.h"
#include "merge/query/query_slices.h"
#include "merge/query/query_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// A call that may be a meeting, if as many ranks take part as in any other.
struct call {
	uint32_t op; // string of the merged profile
	uint32_t thread, ranks;
	uint64_t begin_ns, end_ns;
};

struct calls {
	struct call *calls;
	uint32_t count;
	size_t capacity;
	uint32_t ranks; // most of them
};

static void calls_at_scope_end(const struct calls *c)
{
	free(c->calls);
}

static bool has_meetings(const struct profile *part)
{
	uint32_t count = part->ops ? ops_count(part->ops) : 0;

	for (uint32_t id = 1; id <= count; id++) {
		const struct op *op = ops_get(part->ops, id);
		if (op->provider == OP_MPI && meeting_is_one(op->name))
			return true;
	}
	return false;
}

// Whether SLICE is one that all of a communicator take part in; then CALL is.
static bool take(struct merger *m, const struct slice *slice, struct call *call)
{
	const struct op *op = ops_get(m->part->ops, slice->what);
	const char *shape = strings_get(m->part->strings, slice->place);
	struct message message;

	if (!op || op->provider != OP_MPI || (slice->number & SLICE_LEFT_OPEN) ||
	    !meeting_is_one(op->name) || !shape || !message_parse(shape, &message))
		return false;
	*call = (struct call){ .op = strings_add(m->profile->strings, op->name),
		               .thread = slice->thread,
		               .ranks = message.ranks,
		               .begin_ns = slice->begin_ns,
		               .end_ns = slice->end_ns };
	return call->op && call->ranks > 1;
}

static int read_calls(struct merger *m, struct calls *calls, struct error *err)
{
	const struct slice_query query = { .kinds = 1u << SLICE_OP };
	cleanup(slice_reader) struct slice_reader *reader = slice_reader_new(m->part, &query, err);
	struct slice slice;
	struct call call;
	int more = -1;

	while (reader && calls->count < MEETINGS_MAX &&
	       (more = slice_reader_next_slice(reader, &slice, err)) > 0) {
		if (!take(m, &slice, &call))
			continue;
		if (!array_reserve(&calls->calls, &calls->capacity, (size_t)calls->count + 1))
			return error_set(err, ENOMEM, "could not compare the ranks");
		calls->calls[calls->count++] = call;
		calls->ranks = call.ranks > calls->ranks ? call.ranks : calls->ranks;
	}
	return more < 0 ? -1 : 0;
}

// Those of all ranks, of the thread that has the first of them: of several nobody knows the order.
static bool keep_calls(struct meetings *meetings, const struct calls *calls)
{
	uint32_t thread = 0;

	for (uint32_t i = 0; i < calls->count; i++) {
		const struct call *call = &calls->calls[i];
		if (call->ranks < calls->ranks || (thread && call->thread != thread))
			continue;
		thread = call->thread;
		uint64_t took_ns = call->end_ns - call->begin_ns;
		const struct meeting meeting = { .op = call->op,
			                         .ranks = 1,
			                         .end_ns = call->end_ns,
			                         .last_ns = took_ns,
			                         .sum_ns = took_ns };
		if (!meetings_add(meetings, &meeting))
			return false;
	}
	meetings->begun = meetings->count != 0;
	return true;
}

// Of a part that is merged already.
static bool copy_meetings(struct merger *m)
{
	const struct meetings *from = &m->part->ranks.meetings;

	for (uint32_t i = 0; i < from->count; i++) {
		struct meeting meeting = from->items[i];
		if (!merger_text(m, meeting.op, &meeting.op) ||
		    !meetings_add(&m->meetings, &meeting))
			return false;
	}
	m->meetings.begun = from->count != 0;
	return true;
}

int merger_find_meetings(struct merger *m, struct error *err)
{
	cleanup(calls) struct calls calls = { 0 };

	m->meetings.count = 0;
	m->meetings.begun = false;
	if (m->part->ranks.count)
		return copy_meetings(m) ? 0 : error_set(err, ENOMEM, "could not keep the ranks");
	if (m->part->slices.kept && has_meetings(m->part) && read_calls(m, &calls, err) < 0)
		return -1;
	return keep_calls(&m->meetings, &calls)
	               ? 0
	               : error_set(err, ENOMEM, "could not compare the ranks");
}

// The step of the part that TIME_NS, since the start of it, is in.
static uint32_t step_at(const struct steps *steps, uint64_t time_ns)
{
	size_t after = array_search(steps->count, i, steps->steps[i].begin_ns <= time_ns);

	if (!steps->name || !after || steps->steps[after - 1].end_ns < time_ns)
		return 0;
	return steps->steps[after - 1].calls == 1 ? (uint32_t)steps->steps[after - 1].first : 0;
}

bool merger_join_meetings(struct merger *m, uint32_t before, const struct steps *steps)
{
	struct meetings *own = &m->meetings;

	for (uint32_t i = 0; i < own->count; i++) {
		struct meeting *meeting = &own->items[i];
		uint64_t begin_ns = meeting->end_ns - meeting->last_ns;
		// What has made it late was before.
		if (steps)
			meeting->step = step_at(steps, begin_ns - profile_start_ns(m->part) - 1);
		meeting->last = steps ? before + 1 : meeting->last + before;
		meeting->end_ns += (uint64_t)m->meeting_shift_ns;
	}
	return meetings_join(&m->profile->ranks.meetings, own);
}

bool merger_compare_clocks(const struct merger *m, int64_t shift_ns, struct meetings_clock *out)
{
	if (!meetings_clock(&m->profile->ranks.meetings, &m->meetings, out))
		return false;
	if (out->count >= MEETINGS_LEAST)
		out->ahead_ns += shift_ns;
	return true;
}
