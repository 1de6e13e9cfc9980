// SPDX-License-Identifier: MIT
// Bins of a thread are compared with a table that is indexed by all there is.
#include "merge/wall/wall_state.h"

#include "tests/support/expect.h"

#include <math.h>

#define BINS   16
#define NODES  64
#define OWNERS 4
#define PARTS  20000

static double table[BINS][OWNERS][NODES];
static uint32_t seed;

static uint32_t drawn(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)seed * below >> 32);
}

// As time goes on; one in LATE is of an earlier bin.
static void fill(struct history *h, uint32_t late)
{
	const struct bin_rules rules = { 1000, NODES * OWNERS, &seed };

	memset(table, 0, sizeof(table));
	for (uint32_t i = 0; i < PARTS; i++) {
		uint32_t bin = i * BINS / PARTS, node = drawn(NODES), owner = drawn(OWNERS);
		if (drawn(late) == 0)
			bin = drawn(bin + 1);
		const struct wall_part part = { .thread = owner + 1,
			                        .node = node + 1,
			                        .metric = METRIC_ON_CPU,
			                        .from_ns = bin * 1000 + 10,
			                        .to_ns = bin * 1000 + 20,
			                        .weight_ns = drawn(100) + 1 };
		cr_assert(history_bin(h, &rules, &part, 0));
		table[bin][owner][node] += part.weight_ns;
	}
}

// All of WIDTH bins of the table are in one of H's, once for each path, in the order of time.
static void expect_as_table(const struct history *h, uint32_t width)
{
	static uint32_t seen[BINS][OWNERS][NODES];
	uint32_t last = 0, wrong = 0, missing = 0;

	memset(seen, 0, sizeof(seen));
	for (size_t i = 0; i < h->folds.count; i++) {
		const struct fold *f = deque_at(&h->folds, struct fold, i);
		double ns = 0;
		for (uint32_t k = 0; k < width; k++)
			ns += table[f->bin * width + k][f->owner - 1][f->node - 1];
		wrong += f->bin < last || fabs(f->ns - ns) > 0.5 ||
		         seen[f->bin][f->owner - 1][f->node - 1]++;
		last = f->bin;
	}
	for (uint32_t bin = 0; bin < BINS; bin++)
		for (uint32_t owner = 0; owner < OWNERS; owner++)
			for (uint32_t node = 0; node < NODES; node++)
				missing += table[bin][owner][node] > 0 &&
				           !seen[bin / width][owner][node];
	cr_expect(eq(u32, wrong, 0));
	cr_expect(eq(u32, missing, 0));
}

Test(history, parts_that_come_late_are_put_into_their_bins)
{
	struct history h = { 0 };

	fill(&h, 3);
	expect_as_table(&h, 1);
	history_fini(&h);
}

Test(history, bins_that_become_wider_keep_each_path_once)
{
	struct history h = { 0 };

	fill(&h, 10);
	history_widen(&h);
	expect_as_table(&h, 2);
	history_widen(&h);
	expect_as_table(&h, 4);
	history_fini(&h);
}

Test(history, a_place_is_known_of_states_and_causes_that_had_time)
{
	struct history h = { 0 };

	history_add_loose(&h, THREAD_BLOCKED, METRIC_OFF_LOCK, 1, false, 5);
	history_add_loose(&h, THREAD_RUNS, METRIC_ON_CPU, 2, false, 0);
	cr_expect(eq(u32, h.loose_metrics[THREAD_BLOCKED], 1u << METRIC_OFF_LOCK));
	cr_expect(eq(u32, h.loose_metrics[THREAD_RUNS], 0));
	for (uint32_t node = 3; node < 3 + LOOSE_MAX; node++)
		history_add_loose(&h, THREAD_BLOCKED, METRIC_OFF_PIPE, node, false, 10);
	cr_expect(eq(u32, h.loose_metrics[THREAD_BLOCKED], 1u << METRIC_OFF_PIPE),
	          "the least goes");
}
