// SPDX-License-Identifier: MIT
#include "merge/table/paths.h"
#include "tests/support/expect.h"

#include <stdlib.h>

#define FOLDED 99

Test(paths, a_path_is_one_node_however_often_it_is_taken)
{
	struct paths p;

	cr_assert(paths_init(&p));
	uint32_t root = paths_child(&p, 0, 1);
	uint32_t main_node = paths_child(&p, root, 7);
	cr_expect(eq(u32, paths_child(&p, root, 7), main_node));
	cr_expect(ne(u32, paths_child(&p, root, 8), main_node));
	cr_expect(ne(u32, paths_child(&p, main_node, 7), main_node), "recursion is another node");
	cr_expect(eq(u32, p.count, 4));
	paths_fini(&p);
}

Test(paths, callers_have_smaller_ids_than_their_callees)
{
	struct paths p;

	cr_assert(paths_init(&p));
	for (uint32_t i = 0; i < 5000; i++)
		paths_child(&p, i ? 1 + i * 7 % p.count : 0, 1 + i % 13);
	cr_expect(gt(u32, p.count, 1000));
	for (uint32_t id = 1; id <= p.count; id++)
		cr_assert(lt(u32, paths_node(&p, id)->parent, id));
	paths_fini(&p);
}

// 1 root ── 2 (60) ─┬─ 3 (40)
//                   ├─ 4 (15) ── 5 (5)
//                   └─ 6 (5)
static void plant(struct paths *p)
{
	cr_assert(paths_init(p));
	paths_child(p, 0, 1);
	paths_child(p, 1, 20);
	paths_child(p, 2, 30);
	paths_child(p, 2, 40);
	paths_child(p, 4, 50);
	paths_child(p, 2, 60);
}

static const uint64_t weights[] = { 60, 60, 40, 15, 5, 5 };

Test(paths, folding_keeps_the_heaviest_and_their_callers)
{
	struct paths p;
	uint32_t map[6];

	plant(&p);
	cr_assert(paths_fold(&p, weights, 2, 4, FOLDED, map));
	// The root, 20, 30 and one child for the rest of what 20 has called.
	cr_expect(eq(u32, p.count, 4));
	cr_expect(eq(u32, paths_node(&p, map[2])->location, 30));
	cr_expect(eq(u32, paths_node(&p, map[3])->location, FOLDED));
	cr_expect(eq(u32, map[4], map[3]), "what is below goes to the same place");
	cr_expect(eq(u32, map[5], map[3]));
	cr_expect(eq(u32, paths_node(&p, map[3])->parent, map[1]));
	cr_expect(eq(u32, paths_child(&p, map[1], 30), map[2]), "the index knows the new ids");
	paths_fini(&p);
}

Test(paths, with_room_for_them_folded_leaves_keep_their_location)
{
	struct paths p;
	uint32_t map[6];

	plant(&p);
	cr_assert(paths_fold(&p, weights, 2, 100, FOLDED, map));
	// Below the root, as no other is heavy enough: [folded] with 40, 50 and 60.
	cr_expect(eq(u32, p.count, 7));
	for (int i = 3; i < 6; i++) {
		const struct path_node *leaf = paths_node(&p, map[i]);
		cr_expect(eq(u32, leaf->location, 10 * ((uint32_t)i + 1)), "node %d", i);
		cr_expect(eq(u32, paths_node(&p, leaf->parent)->location, FOLDED));
		cr_expect(eq(u32, paths_node(&p, leaf->parent)->parent, 1));
	}
	paths_fini(&p);
}

Test(paths, folding_twice_folds_the_folded)
{
	struct paths p;
	uint32_t map[6];
	const uint64_t again[] = { 60, 60, 40, 20 };

	plant(&p);
	cr_assert(paths_fold(&p, weights, 2, 4, FOLDED, map));
	cr_assert(paths_fold(&p, again, 0, 2, FOLDED, map));
	cr_expect(eq(u32, p.count, 2), "the root and its folded child");
	cr_expect(eq(u32, paths_node(&p, 2)->location, FOLDED));
	for (int i = 1; i < 4; i++)
		cr_expect(eq(u32, map[i], 2), "node %d", i);
	paths_fini(&p);
}

Test(paths, of_nodes_that_weigh_the_same_the_older_stay)
{
	struct paths p;
	uint64_t same[101];
	uint32_t map[101];

	cr_assert(paths_init(&p));
	for (uint32_t i = 0; i < 101; i++) {
		paths_child(&p, i, i + 1); // one long chain
		same[i] = 7;
	}
	cr_assert(paths_fold(&p, same, 10, 12, FOLDED, map));
	cr_expect(eq(u32, p.count, 12), "root, 10 nodes, the folded one");
	cr_expect(eq(u32, map[10], 11));
	cr_expect(eq(u32, map[100], 12));
	cr_expect(eq(u32, paths_node(&p, 12)->parent, 11));
	paths_fini(&p);
}

Test(paths, no_more_than_asked_for_stay_whatever_they_weigh)
{
	struct paths p;
	enum {
		COUNT = 20000
	};
	uint64_t *totals = calloc(COUNT, sizeof(*totals));
	uint32_t *map = calloc(COUNT, sizeof(*map));

	srand(7);
	for (uint32_t keep = 0; keep < 4000; keep += 777) {
		cr_assert(paths_init(&p));
		for (uint32_t i = 0; i < COUNT; i++) {
			paths_append(&p, i < 3 ? 0 : 1 + (uint32_t)rand() % i, i + 100);
			totals[i] = (uint64_t)rand() >> rand() % 31;
		}
		for (uint32_t id = COUNT; id > 3; id--)
			totals[paths_node(&p, id)->parent - 1] += totals[id - 1];
		cr_assert(paths_fold(&p, totals, keep, 0, FOLDED, map));
		uint32_t kept = 0;
		for (uint32_t id = 1; id <= p.count; id++) {
			cr_assert(lt(u32, paths_node(&p, id)->parent, id));
			kept += paths_node(&p, id)->parent &&
			        paths_node(&p, id)->location != FOLDED;
		}
		cr_expect(eq(u32, kept, keep));
		cr_expect(le(u32, p.count, 2 * (keep + 3)));
		paths_fini(&p);
	}
	free(totals);
	free(map);
}
