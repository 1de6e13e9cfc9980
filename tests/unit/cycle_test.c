// SPDX-License-Identifier: MIT
#include "merge/warmup/cycle.h"

#include "base/cleanup.h"
#include "tests/support/expect.h"

#include <string.h>

// Looks told as letters ("aab" is phase 1 twice, then 2), ".", nothing seen, or "#", elsewhere.
static struct cycle find(const char *text)
{
	uint8_t looks[4096];
	struct cycle cycle;
	size_t count = strlen(text);

	cr_assert(lt(sz, count, sizeof(looks)));
	for (size_t i = 0; i < count; i++)
		looks[i] = text[i] == '.'   ? CYCLE_NOTHING
		           : text[i] == '#' ? CYCLE_ELSEWHERE
		                            : (uint8_t)(text[i] - 'a' + 1);
	cr_assert(cycle_find(&cycle, looks, count));
	return cycle;
}

static void repeat(char *text, const char *part, int times)
{
	while (times--)
		strcat(text, part);
}

Test(cycle, a_loop_of_two_phases_is_cut_where_the_first_one_begins)
{
	char text[4096] = "ccccccc";

	repeat(text, "aaabbbb", 10);
	cleanup(cycle) struct cycle cycle = find(text);
	cr_assert(eq(sz, cycle.count, 10));
	for (uint32_t i = 0; i <= 10; i++)
		cr_expect(eq(u32, cycle.starts[i], 7 + 7 * i));
	cr_expect(eq(u32, cycle.phases, 0x3));
}

Test(cycle, a_slow_first_one_is_a_cycle_like_the_others)
{
	char text[4096] = "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
	size_t slow = strlen(text);

	repeat(text, "aaabbbb", 20);
	cleanup(cycle) struct cycle cycle = find(text);
	cr_assert(eq(sz, cycle.count, 21));
	cr_expect(eq(u32, cycle.starts[1] - cycle.starts[0], (uint32_t)slow));
}

Test(cycle, what_happens_only_now_and_then_belongs_to_the_cycle_it_happens_in)
{
	char text[4096] = "";

	for (int i = 0; i < 5; i++) {
		repeat(text, "aaaabbbb", 7);
		repeat(text, "cccc", 1);
	}
	cleanup(cycle) struct cycle cycle = find(text);
	cr_assert(eq(sz, cycle.count, 35));
	cr_expect(eq(u32, cycle.starts[7] - cycle.starts[6], 12));
}

Test(cycle, phases_that_alternate_faster_than_one_can_look_are_one)
{
	char text[4096] = "";

	repeat(text, "abababcccc", 20);
	cleanup(cycle) struct cycle cycle = find(text);
	cr_assert(eq(sz, cycle.count, 20));
	cr_expect(eq(u32, cycle.starts[1] - cycle.starts[0], 10));
}

Test(cycle, looks_at_which_nothing_was_seen_are_as_those_before_them)
{
	char text[4096] = "..";

	repeat(text, "a.abb.b", 12);
	cleanup(cycle) struct cycle cycle = find(text);
	cr_assert(eq(sz, cycle.count, 12));
	cr_expect(eq(u32, cycle.starts[0], 2));
}

Test(cycle, work_that_grows_is_a_loop)
{
	char text[4096] = "";

	for (int i = 4; i < 40; i++) {
		repeat(text, "a", i);
		repeat(text, "b", i);
	}
	cleanup(cycle) struct cycle cycle = find(text);
	cr_expect(eq(sz, cycle.count, 36));
}

// At first b is too brief to be seen: several turns seem to be one.
Test(cycle, work_that_grows_from_nothing_has_no_slow_first_turn)
{
	char text[4096] = "";

	for (int i = 0; i < 40; i++) {
		repeat(text, "a", 4);
		repeat(text, "b", i / 4);
	}
	cleanup(cycle) struct cycle cycle = find(text);
	cr_assert(eq(sz, cycle.count, 28));
	cr_expect(eq(u32, cycle.starts[0], 4 * 4 + 4 * 5 + 4 * 6));
	cr_expect(eq(u32, cycle.starts[1] - cycle.starts[0], 7));
}

Test(cycle, what_begins_like_a_cycle_but_is_none_is_left_out)
{
	char text[4096] = "";

	repeat(text, "aaacccc", 3);
	repeat(text, "aaabbbb", 20);
	cleanup(cycle) struct cycle cycle = find(text);
	cr_assert(eq(sz, cycle.count, 20));
	cr_expect(eq(u32, cycle.starts[0], 21));
}

Test(cycle, a_first_one_in_which_something_else_was_done_stays)
{
	char text[4096] = "aaaccccccccccccbbbb";

	repeat(text, "aaabbbb", 20);
	cleanup(cycle) struct cycle cycle = find(text);
	cr_assert(eq(sz, cycle.count, 21));
	cr_expect(eq(u32, cycle.starts[1], 19));
}

// A phase that is always brief is as it is.
Test(cycle, a_slow_first_one_stays_where_phases_are_brief)
{
	char text[4096] = "aaaaaaaaaaaaaaaaaaaabbb";

	for (int i = 0; i < 10; i++)
		repeat(text, "aaabbbaaaabb", 1);
	cleanup(cycle) struct cycle cycle = find(text);
	cr_assert(eq(sz, cycle.count, 21));
	cr_expect(eq(u32, cycle.starts[1], 23));
}

static uint32_t dice(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 16;
}

Test(cycle, phases_that_come_and_go_by_chance_are_no_loop)
{
	char text[4096] = "";
	uint32_t state = 1;
	size_t length = 0;

	// Each look may be the last of its phase: the shorter, the likelier.
	for (bool b = false; length + 1 < sizeof(text); length++) {
		text[length] = b ? 'b' : 'a';
		b ^= dice(&state) % 8 == 0;
	}
	cleanup(cycle) struct cycle cycle = find(text);
	cr_expect(eq(sz, cycle.count, 0));
}

Test(cycle, phases_in_any_order_are_no_loop)
{
	char text[4096] = "";
	uint32_t state = 7;
	const char *parts[] = { "aaaa", "bbbb", "cccc", "dddd", "eeee" };

	for (int i = 0; i < 300; i++)
		repeat(text, parts[dice(&state) % 5], 1);
	cleanup(cycle) struct cycle cycle = find(text);
	cr_expect(eq(sz, cycle.count, 0));
}

Test(cycle, nothing_is_found_where_there_is_no_loop)
{
	char once[4096] = "", few[4096] = "", fast[4096] = "";

	repeat(once, "a", 500);
	repeat(few, "aaabbbb", 3);
	repeat(fast, "ab", 500);
	const char *texts[] = { "", "....", "a", once, few, fast };
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		cleanup(cycle) struct cycle cycle = find(texts[i]);
		cr_expect(eq(sz, cycle.count, 0), "%zu", i);
	}
}

Test(cycle, brief_looks_elsewhere_cut_nothing)
{
	char text[4096] = "aaaaaa#aaaaaaaaaaa#####aaa#aaabbbb";
	size_t slow = strlen(text);

	repeat(text, "aa#aabbbaaaaab#baaaaabbb#aaa#abbb", 5);
	cleanup(cycle) struct cycle cycle = find(text);
	cr_assert(eq(sz, cycle.count, 21));
	cr_expect(eq(u32, cycle.starts[0], 0));
	cr_expect(eq(u32, cycle.starts[1], (uint32_t)slow));
}

Test(cycle, a_phase_that_is_seen_once_a_time_tells_where_the_cycle_ends)
{
	char text[4096] = "";

	repeat(text, "aaaaaaabaaaaaabb", 10);
	cleanup(cycle) struct cycle cycle = find(text);
	cr_assert(eq(sz, cycle.count, 20));
	cr_expect(eq(u32, cycle.starts[1], 8));
}

Test(cycle, whatever_befalls_one_line_now_and_then_is_no_cycle)
{
	static const int stays[] = { 3, 90, 1, 17, 2, 230, 41, 1, 6, 128, 9, 2, 33, 310, 5, 77 };
	char text[4096] = "";

	for (size_t i = 0; i < sizeof(stays) / sizeof(stays[0]); i++) {
		repeat(text, "a", stays[i]);
		repeat(text, i % 3 ? "#" : "####", 1);
	}
	cleanup(cycle) struct cycle cycle = find(text);
	cr_expect(eq(sz, cycle.count, 0));
}

static double draw(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(*state >> 33) / (double)(UINT64_C(1) << 31);
}

// Phases that follow each other in any order, each for STAY looks on average and for any number.
static bool has_cycle(int phases, double stay, size_t count, uint64_t *state)
{
	uint8_t looks[300], phase = 1;
	struct cycle cycle;

	for (size_t i = 0; i < count; i++) {
		if (draw(state) * stay < 1)
			phase = (uint8_t)(1 + (phase + (int)(draw(state) * (phases - 1))) % phases);
		looks[i] = phase;
	}
	cr_assert(cycle_find(&cycle, looks, count));
	bool found = cycle.count > 0;
	cycle_fini(&cycle);
	return found;
}

// What a busy machine makes of work that does not repeat; of many turns, or even ones, it is
// another matter.
Test(cycle, few_turns_of_all_lengths_are_no_loop)
{
	static const int lengths[] = { 40, 62, 55, 45, 70, 50, 66, 42, 58, 47, 63, 38 };
	static const struct {
		int turns;
		bool even;
		size_t count;
	} table[] = { { 12, false, 0 }, { 12, true, 12 }, { 36, false, 35 } };

	for (size_t row = 0; row < sizeof(table) / sizeof(table[0]); row++) {
		char text[4096] = "";
		for (int i = 0; i < table[row].turns; i++) {
			int length = table[row].even ? 50 + lengths[i % 12] % 5 : lengths[i % 12];
			repeat(text, "a", length - 5);
			repeat(text, "b", 5);
		}
		cleanup(cycle) struct cycle cycle = find(text);
		cr_expect(eq(sz, cycle.count, table[row].count), "row %zu", row);
	}
}

// Without a bound on chance it was 134 of these 400.
Test(cycle, chance_alone_makes_hardly_any)
{
	static const double stays[] = { 3, 5 };
	uint64_t state = 1;
	int found = 0;

	for (int phases = 2; phases <= 3; phases++)
		for (int i = 0; i < 200; i++)
			found += has_cycle(phases, stays[phases == 2], i % 2 ? 60 : 200, &state);
	cr_expect(le(int, found, 8), "%d of 400 have a cycle", found);
}
