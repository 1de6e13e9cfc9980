// SPDX-License-Identifier: MIT
#include "merge/query/query_clock.h"

#include "base/error.h"
#include "merge/file/file.h"
#include "merge/table/clocks.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <stdio.h>
#include <unistd.h>

static struct fixture f;
static struct clocks clocks;

static void begin(void)
{
	fixture_init(&f, NULL);
	clocks = (struct clocks){ 0 };
}

static void end(void)
{
	fixture_fini(&f);
}

TestSuite(query_clock, .init = begin, .fini = end);

// Readings at MHZ every 100 ms.
static void at_clock(uint64_t mhz, uint64_t from_ms, uint64_t to_ms)
{
	for (uint64_t at_ms = from_ms; at_ms < to_ms; at_ms += 100)
		clocks_add(&clocks, at_ms * MS, mhz);
}

static void finish_with(const char *text, uint64_t wall_ms)
{
	const struct run run = { .start_ns = 1000 * MS,
		                 .wall_ns = wall_ms * MS,
		                 .cpu_clock = text };

	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:3");
	cr_assert(eq(int, profile_set_run(f.profile, &run, NULL), 0));
	name_all(&f);
}

static void finish(uint64_t wall_ms)
{
	char text[CLOCKS_TEXT];

	clocks_print(&clocks, text);
	finish_with(text, wall_ms);
}

// Of a warm-up of the first second: one second in an op, another one within it.
static bool rises(uint64_t excess_ms, struct clock_change *change)
{
	struct warmup_row row[] = {
		{ .begin_ns = 0, .end_ns = 1000 * MS, .slow_ns = 1000 * MS },
		{ .begin_ns = 0, .end_ns = 1000 * MS, .slow_ns = 900 * MS, .nested = true },
	};
	const struct warmup_rows rows = { .verdict = WARMUP_INCLUDED,
		                          .steady_ns = 1000 * MS,
		                          .excess_ns = excess_ms * MS,
		                          .rows = row,
		                          .count = 2 };

	return query_clock_rise(f.profile, &rows, change);
}

Test(query_clock, a_slow_clock_explains_its_part_of_the_excess)
{
	struct clock_change change;

	at_clock(1500, 0, 1000);
	at_clock(3000, 1000, 5000);
	finish(5000);
	cr_assert(rises(800, &change));
	cr_expect(eq(dbl, change.before_mhz, 1500));
	cr_expect(eq(dbl, change.after_mhz, 3000));
	cr_expect(eq(u64, change.excess_ns, 500 * MS), "half of the time at half of the clock");
	cr_assert(rises(300, &change));
	cr_expect(eq(u64, change.excess_ns, 300 * MS), "not more than there is");
	cr_expect(not(query_clock_fall(f.profile, &change)));
}

Test(query_clock, a_ramp_counts_by_time)
{
	struct clock_change change;

	at_clock(1000, 0, 500);
	at_clock(3000, 500, 5000);
	finish(5000);
	cr_assert(rises(800, &change));
	cr_expect(eq(dbl, change.before_mhz, 2000));
}

Test(query_clock, less_than_a_tenth_is_none)
{
	struct clock_change change;

	at_clock(2800, 0, 1000);
	at_clock(3000, 1000, 3000);
	at_clock(2800, 3000, 5000);
	finish(5000);
	cr_expect(not(rises(800, &change)));
	cr_expect(not(query_clock_fall(f.profile, &change)));
}

Test(query_clock, few_readings_tell_nothing)
{
	struct clock_change change;

	at_clock(1000, 0, 200);
	at_clock(3000, 1000, 5000);
	finish(5000);
	cr_expect(not(rises(800, &change)));
}

Test(query_clock, a_fall_is_where_it_parts_best)
{
	struct clock_change change;

	at_clock(3200, 0, 4000);
	at_clock(2100, 4000, 9000);
	finish(9000);
	cr_assert(query_clock_fall(f.profile, &change));
	cr_expect(eq(dbl, change.before_mhz, 3200));
	cr_expect(eq(dbl, change.after_mhz, 2100));
	cr_expect(eq(u64, change.at_ns, 4000 * MS));
	cr_expect(not(rises(800, &change)));
}

Test(query_clock, a_fall_after_a_ramp)
{
	struct clock_change change;

	at_clock(1000, 0, 300);
	at_clock(3200, 300, 4000);
	at_clock(2100, 4000, 9000);
	finish(9000);
	cr_assert(query_clock_fall(f.profile, &change));
	cr_expect(eq(u64, change.at_ns, 4000 * MS));
}

Test(query_clock, a_short_dip_is_no_fall)
{
	struct clock_change change;

	at_clock(3200, 0, 8600);
	at_clock(2100, 8600, 9000);
	finish(9000);
	cr_expect(not(query_clock_fall(f.profile, &change)));
}

Test(query_clock, nothing_is_known_of_it)
{
	static const char *const texts[] = { NULL, "", "0:1000", "rubbish",
		                             "0:1 0:1 0:1 0:1 0:1 0:1" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct clock_change change;
		finish_with(texts[i], 5000);
		cr_expect(not(rises(800, &change)), "%zu", i);
		cr_expect(not(query_clock_fall(f.profile, &change)), "%zu", i);
	}
}

Test(query_clock, the_same_from_a_file)
{
	struct error err = { 0 };
	struct clock_change change;
	char path[64];

	at_clock(3200, 0, 4000);
	at_clock(2100, 4000, 9000);
	finish(9000);
	snprintf(path, sizeof(path), "/tmp/query_clock_%d.bneck", (int)getpid());
	cr_assert(profile_write(f.profile, path, &err) == 0, "%s", err.text);
	cleanup(profile) struct profile *p = profile_read(path, &err);
	unlink(path);
	cr_assert(p != NULL, "%s", err.text);
	cr_assert(query_clock_fall(p, &change));
	cr_expect(eq(u64, change.at_ns, 4000 * MS));
}
