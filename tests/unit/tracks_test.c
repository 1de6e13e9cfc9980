// SPDX-License-Identifier: MIT
#include "cli/export/tracks.h"

#include "cli/export/launches.h"
#include "tests/support/expect.h"

static uint32_t placed(struct tracks *t, uint64_t begin_ns, uint64_t end_ns)
{
	bool is_new;
	const struct lane *lane = tracks_place(t, &t->tracks[0], begin_ns, end_ns, 0, &is_new);

	return lane ? lane->tid : 0;
}

Test(tracks, what_nests_stays_in_one_lane_and_what_overlaps_does_not)
{
	static const struct {
		const char *label;
		uint64_t begin_ns, end_ns;
		uint32_t tid; // after the first
	} rows[] = {
		{ "the first", 0, 100, 42 },
		{ "within it", 10, 50, 42 },
		{ "as long as that", 10, 50, 42 },
		{ "in its end", 20, 50, 42 },
		{ "beyond its end", 30, 60, TRACK_MADE },
		{ "right behind it", 50, 70, 42 },
		{ "an instant", 55, 55, 42 },
		{ "beyond all", 60, 200, TRACK_MADE },
		{ "and that once more", 65, 300, TRACK_MADE + 1 },
		{ "behind all", 300, 310, 42 },
	};
	cleanup(tracks) struct tracks t = { 0 };

	cr_assert(ne(ptr, tracks_add(&t, 7, 42, true), NULL));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect(eq(u32, placed(&t, rows[i].begin_ns, rows[i].end_ns), rows[i].tid), "%s",
		          rows[i].label);
}

Test(tracks, works_of_a_stream_stand_in_a_row)
{
	cleanup(tracks) struct tracks t = { 0 };

	cr_assert(ne(ptr, tracks_add(&t, 0, 13, false), NULL));
	cr_expect(eq(u32, placed(&t, 0, 100), 13));
	cr_expect(eq(u32, placed(&t, 10, 50), TRACK_MADE)); // it would nest
	cr_expect(eq(u32, placed(&t, 100, 150), 13));
}

Test(tracks, a_number_is_given_once_in_a_process)
{
	cleanup(tracks) struct tracks t = { 0 };

	cr_expect(eq(u32, tracks_add(&t, 7, 42, true)->tid, 42));
	cr_expect(eq(u32, tracks_add(&t, 8, 42, true)->tid, 42));
	cr_expect(eq(u32, tracks_add(&t, 7, 42, true)->tid, TRACK_MADE));
}

Test(tracks, there_is_a_most_of_lanes)
{
	cleanup(tracks) struct tracks t = { 0 };

	cr_assert(ne(ptr, tracks_add(&t, 7, 42, false), NULL));
	for (uint64_t i = 0; i < TRACK_LANES_MAX; i++)
		cr_expect(ne(u32, placed(&t, i, 1000000), 0));
	cr_expect(eq(u32, placed(&t, TRACK_LANES_MAX, 1000000), 0));
	cr_expect(eq(u32, placed(&t, 1000000, 1000001), 42));
}

Test(launches, a_call_is_found_by_its_thread_and_begin_until_it_is_old)
{
	cleanup(launches) struct launches l = { 0 };

	cr_assert(eq(int, launches_init(&l), 0));
	for (uint64_t i = 1; i <= 1000000; i++) {
		const struct launch_call call = { .thread = 1 + i % 3,
			                          .begin_ns = 1000 * i,
			                          .number = i };
		launches_add(&l, &call);
	}
	for (uint64_t i = 1000000; i > 998000; i--) {
		const struct launch_call *call = launches_find(&l, 1 + i % 3, 1000 * i);
		cr_assert(ne(ptr, (void *)call, NULL), "%lu", (unsigned long)i);
		cr_assert(eq(u64, call->number, i));
	}
	cr_expect(eq(ptr, (void *)launches_find(&l, 2, 1000 * 3), NULL)); // of another thread
	cr_expect(eq(ptr, (void *)launches_find(&l, 2, 1000), NULL));
}
