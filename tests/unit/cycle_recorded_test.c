// SPDX-License-Identifier: MIT
/*
 * Turns of loops in what was seen of real programs, quiet ones and such on a busy machine, as
 * merge/query/query_iterations.c looks at them: "a10" is ten looks at phase a, "." is nothing seen,
 * "#" elsewhere.
 */
#include "base/cleanup.h"
#include "merge/warmup/cycle.h"
#include "merge/warmup/warmup.h"
#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

// Python that imports in its first turn (c), between two computations; machine load 10.
static const char imports_cold[] =
	".2#62a11c#3c2#c2#c#c#3c2#4c8#c3#5c9#c2#5c2#2c2#3c2#5c3#6c2#c2#10c6#2c#3c2#5c#2c#"
	"c3#6c3#c#3c#2c#4c3#2c#3c5#c#5c#3c3#8c2b7#a12b8a10b7a7#acb#b3#b3#b2a#a9b8a4#a5b8a"
	"11b8a10b7a8b6#ba9#b6a10b8a10b8a10b7a10b7a5#a5b5a2#a6b4#b3a3#a3#ab2#b4a5#a5b7a10b"
	"7a3#a7b2#b5a10b7a5#a3#b3#ba2#a6c#b3#b2a4#a5b4#b3a7b2#b3#24";

// The same program, its imports done before.
static const char imports_warm[] =
	".#.#49c#c#c15#c3#c2#c#c8#c3#c2#c3#c6#c#c#c4#c2#a10#b6a3#a2#a4#b2#b#b2a7#a#2b6#2a"
	"5#a#3b4#b#a3#a3#a2b8a#a7#b3#b3#a3#a3#a2b5#b2a10b7a3#a7b6#a3#a4#a2b#b6a2#a7#b6#a#"
	"a6#ab2#b3#ba2#a#a5b8a3#a3#a2b5#ba2#a3#a3#b#b5a4#a3#ab2#b3#a7#a3#b4#ba2#a3#a4b#b3"
	"#b3a4#a3#b3#b3#ba8#ab3#b4a10#b7a11b7a3#a5b#b3#b2a#a6#a#b#b3#ba2#a8b#b3#b2#46";

// Python that computes for a while or for four times as long, at random; machine load 14.
static const char bimodal[] =
	".2#8.#14a5.a2.ab2.a10b5.b2a.a9.ba3.a7b8a9b8a8.a2b2a.a3.a4.b2a10b2a8b2a3.a.a3b8a1"
	"1b8a2.2a.a5b2a10ba8.ab8a4.a2.a.b.b6a11ba10b2a.a3.a6b8a8ba.a8b2a5.a5b7a9b8a11b2a1"
	"2b2a11b9a5.a3.b.b6a11b.b.b6a3.a3.a4b2a3.a2.a5b10a10b7a11ba2.a9ba.a6b.ba8b2.b6a2."
	"a3.a4b.b4a9b2a11b7.a.a6.2ba.a7b7a4.a5b3.b3.b#3";

// Python that reads a file of 400 MB (a), then computes (d), after it wrote the file (b, c).
static const char file_cold[] =
	".2#28b#2b#2b#2b#2b#b#2b#2b#b#2b#b#2b#b#2b#2b#2b#b#2b#b#b#2b#b#2b#2b#b#2b#b#2b#2b"
	"#b#2b#2b#b#2b#b#2b#b#2b#2b#2b#b#2b#2b#4b#2b#2b#b#2b#2b#b#2b#b#2b#b#2b#b#2b#b#2b#"
	"b#2b#b#2b#2b#b#2b#b#2b#2b#3b#2b#3b#2b#2b#3b#2b#2b#3b#3b#2b#3b#2b#2b#b#2b#b#2b#2b"
	"#2b#b#2b#b#2b#b#2b#2b#b#2b#b#2b#2b#b#2b#b#2b#b#2b#b#2b#b#2b#2b#b#2b#2b#3b#2b#2b#"
	"b#b#2b#b#2b#b#b#2b#b#2b#b#2b#b#2b#b#2b#b#2b#b#2b#b#2b#b#2b#2b#b#2b#b#b#2b#b#2b#2"
	"b#b#2b#2b#8b#2b#b#2b#b#2b#2b#b#2b#b#2b#b#2b#b#2b#2b#5b#5b#5b#3b#4b#5b#3b#3b#3b#2"
	"b#3b#2b#2b#3b#3b#3b#3b#3b#3b#3b#2b#b#3b#2b#2b#3b#b#3b#b#3b#2b#3b#2b#3b#2b#3b#b#6"
	"b#2b#3b#2b#3b#b#3b#3b#3b#3b#2b#3b#2b#3b#3b#3b#3b#2b#3b#2b#b#2b#2b#2b#b#2b#b#2b#2"
	"b#3b#2b#b#2b#2b#2b#b#2b#2b#b#2b#2b#2b#b#3b#2b#b#2b#2b#2b#b#2b#2b#2b#b#2b#b#2b#2b"
	"#b#2b#2b#2b#2b#2b#2b#2b#2b#2b#2b#b#2b#b#2b#2b#b#2b#2b#2b#b#2b#b#2b#b#2b#2b#2b#b#"
	"2b#b#2b14#2b#2b#2b#b#2b#b#3b#2b#2b#2b#b#2b#b#2b#2b#b#2b#2b#b#2b#b#2b#2b2#3b#b#b#"
	"2b#b#2b#b#2b#2b#b#2b#2b#b#2b#b#2b#2b#b#2b#b#2b#2b#c63#5c56#5c57#c32#18a50#2a200#"
	"5a2#ad3#d3#d4a2#a4#a2#a#a2#a17#a5#a18#a18#a3#a6d10#d2a9#a15#a6#a5#a3#a9#a4#a#a5#"
	"a10#a#a#a#a5d12a13#a#a4#a24#a4#a2#a19#a4#a6d11a#a3#a31#a36#a3d#d6a24#a31d8#a3#a#"
	"a35#a#a12d7a24#a29d8a8#a#a2#a39d7#a36#a16d8a18#a3#a31d7#a3#a11#a#a2#a2#a31#ad6#a"
	"42#a10d8a12#a5#a35d5#d#a38#a15d8a14#2a11#a28d7a6#a4#a3#a32#a2#a3d2#d4a36#a2#a#a3"
	"#a6d8a21#a7#3a17#a3#a3#a8d8a11#a25#a#a#a3#a15d12#2e78#4";

// The same with the file in memory.
static const char file_warm[] =
	".2#30e#4d#d6#d3#d95#4b42#5b53#6b77#b82#a70#a3#ac12a4#a3#a#a4#a8#a3#a3#a#a4#a4#a3"
	"#a3#a#a3#a#a2#a2#a3#a#a#ac11#a2#a#a2#a#a66c11a75c11a66c8a58c7a53c9a12#a7#a8#a19#"
	"a7c7a#a3#a12#a8#a9#a8#a5c7a#a3#a2#a2#a4#a2#a6#a#a25c9a68c9a68c9a68c11a69c11a71c9"
	"a69c10a76c10a79c11a36#a5#a2#a5#a5#a4#a4#a3#ac7a3#a2#a#a47c7#21e85#4";

// NumPy that sorts (a) and then fills an array (b) whose pages it touches in the first turn; load
// 14, and so long a run that a look is two milliseconds.
static const char touch_cold[] =
	".#14c13.6c18.2c4#a18b3.b2.b.2b3.3b.3b.2b3.b3.2b2.3b.b6.b3.b4.2b.2b.4b.3b.3b.4b.3"
	"b.2b.b.ba15b2a16b3a17b3a17b2a15b3a15b3a15b4a17b3a16b4a14b4a16b3a15b3a15b3a16b3a1"
	"6b3a16b4a14b2a17b4a16b4a15b3a16b4a15b3a16b3a16b3a16b2a16b3a15b4a15b4a15b2#.#15";

static uint8_t look_of(char letter)
{
	return letter == '.'   ? CYCLE_NOTHING
	       : letter == '#' ? CYCLE_ELSEWHERE
	                       : (uint8_t)(letter - 'a' + 1);
}

static struct cycle find(const char *text)
{
	uint8_t looks[4096];
	size_t count = 0;
	struct cycle cycle;

	while (*text) {
		uint8_t look = look_of(*text++);
		char *end;
		unsigned long times = strtoul(text, &end, 10);
		for (unsigned long i = 0; i < (end > text ? times : 1); i++)
			looks[count++] = look;
		cr_assert(lt(sz, count, sizeof(looks)));
		text = end;
	}
	cr_assert(cycle_find(&cycle, looks, count));
	return cycle;
}

static enum warmup_verdict verdict_of(const struct cycle *cycle)
{
	cleanup_free uint64_t *ns = calloc(cycle->count + 1, sizeof(*ns));
	struct warmup warmup;

	for (size_t i = 0; i < cycle->count; i++)
		ns[i] = cycle->starts[i + 1] - cycle->starts[i];
	cr_assert(warmup_judge(&warmup, ns, NULL, cycle->count));
	return warmup.verdict;
}

static void expect(const char *text, size_t turns, enum warmup_verdict verdict)
{
	cleanup(cycle) struct cycle cycle = find(text);

	cr_assert(ge(sz, cycle.count, turns - turns / 10), "%zu", cycle.count);
	cr_assert(le(sz, cycle.count, turns + turns / 10), "%zu", cycle.count);
	cr_expect(eq(int, verdict_of(&cycle), verdict));
}

Test(cycle_recorded, imports_in_the_first_turn_are_warm_up)
{
	expect(imports_cold, 25, WARMUP_INCLUDED);
}

Test(cycle_recorded, imports_before_the_first_turn_are_none)
{
	expect(imports_warm, 25, WARMUP_NONE);
}

Test(cycle_recorded, turns_that_last_now_this_long_now_that_long_are_turns)
{
	expect(bimodal, 40, WARMUP_NONE);
}

// All of its work is in the first turn as in others; brief looks elsewhere do not cut it.
Test(cycle_recorded, a_first_turn_that_reads_from_the_disk_is_whole)
{
	cleanup(cycle) struct cycle cycle = find(file_cold);

	expect(file_cold, 20, WARMUP_INCLUDED);
	cr_expect(gt(u32, cycle.starts[1] - cycle.starts[0], 200));
}

Test(cycle_recorded, a_file_in_memory_is_read_without_warm_up)
{
	expect(file_warm, 20, WARMUP_NONE);
}

Test(cycle_recorded, pages_that_are_touched_first_in_the_first_turn_are_warm_up)
{
	expect(touch_cold, 30, WARMUP_INCLUDED);
}
