// SPDX-License-Identifier: MIT
/*
 * Single calls, waits and works of GPUs of one part.
 *
 * Parts that share the rows of their threads would be drawn over each other: of those there are
 * none. Where all that the others have does not fit, each may bring the same part of what it has,
 * from its start on.
 */
#include "base/error.h"
#include "merge/join/merger_data.h"
#include "merge/query/query_slices.h"

#include <errno.h>

// How many the part may bring.
static uint64_t quota_of(const struct merger *m)
{
	uint64_t all = m->plan.slices, limit = m->profile->slices.limit;
	uint64_t kept = m->part->slices.kept;

	if (!m->apart || all <= limit)
		return limit;
	return (uint64_t)((unsigned __int128)limit * kept / all);
}

// False if it has no place here.
static bool translate(const struct merger *m, struct slice *slice)
{
	slice->begin_ns = merger_time(m, slice->begin_ns);
	slice->end_ns = merger_time(m, slice->end_ns);
	slice->call_ns = merger_time(m, slice->call_ns);
	slice->thread = merger_number(m->threads, slice->thread);
	switch (slice->kind) {
	case SLICE_OP:
		slice->what = merger_number(m->ops, slice->what);
		return true;
	case SLICE_WAIT:
		slice->place = merger_number(m->nodes, slice->place);
		return true;
	default:
		slice->what = merger_number(m->works, slice->what);
		slice->place = merger_number(m->streams, slice->place);
		return slice->what && slice->place;
	}
}

static void leave_out(struct merger *m, uint64_t count, uint64_t from_ns)
{
	struct slices *to = &m->profile->slices;

	to->dropped += count;
	if (from_ns && (!to->cut_ns || from_ns < to->cut_ns))
		to->cut_ns = from_ns;
}

static int add_all(struct merger *m, struct slice_reader *reader, struct error *err)
{
	struct slices *to = &m->profile->slices;
	uint64_t left = quota_of(m);
	struct slice slice;
	int more;

	while ((more = slice_reader_next_slice(reader, &slice, err)) > 0) {
		bool shaped = slice.kind == SLICE_OP && slice.place;
		if (shaped && !merger_text(m, slice.place, &slice.place))
			return error_set(err, ENOMEM, "could not merge a timeline");
		if (!translate(m, &slice) || !left) {
			leave_out(m, 1, slice.end_ns);
		} else {
			slices_add(to, &slice);
			left--;
		}
	}
	return more;
}

int merger_add_slices(struct merger *m, struct error *err)
{
	const struct slices *from = &m->part->slices;

	if (!merger_is_apart(m)) {
		m->unmerged_slices += from->kept != 0;
		return 0;
	}
	if (!m->profile->slices.limit)
		return 0;
	leave_out(m, from->dropped, merger_time(m, from->cut_ns));
	if (!from->kept)
		return 0;
	cleanup(slice_reader) struct slice_reader *reader =
		slice_reader_new(m->part, &(struct slice_query){ 0 }, err);
	return reader ? add_all(m, reader, err) : -1;
}
