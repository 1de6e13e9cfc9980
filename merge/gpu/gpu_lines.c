// SPDX-License-Identifier: MIT
#include "merge/gpu/gpu_lines.h"

#include "base/array.h"

#include <stdlib.h>

static uint64_t hash_of_pc(const struct gpu_pc *pc)
{
	return hash_pair(pc->cubin_crc ^ (uint64_t)pc->function << 32, pc->offset);
}

static uint64_t hash_of_stall(const struct gpu_pc_samples *stall)
{
	return hash_pair(stall->pc, stall->reason);
}

void gpu_lines_fini(struct gpu_lines *g)
{
	free(g->pcs);
	free(g->stalls);
	hash_fini(&g->pc_index);
	hash_fini(&g->stall_index);
	*g = (struct gpu_lines){ 0 };
}

static bool make_room(struct hash *index)
{
	return index->slots ? hash_make_room(index) : hash_init(index, 256);
}

static bool is_same(const struct gpu_pc *a, const struct gpu_pc *b)
{
	return a->cubin_crc == b->cubin_crc && a->offset == b->offset && a->function == b->function;
}

uint32_t gpu_lines_pc(struct gpu_lines *g, const struct gpu_pc *pc)
{
	uint32_t at;

	if (!make_room(&g->pc_index))
		return 0;
	for (at = hash_start(&g->pc_index, hash_of_pc(pc)); g->pc_index.slots[at];
	     at = hash_next(&g->pc_index, at))
		if (is_same(&g->pcs[g->pc_index.slots[at] - 1], pc))
			return g->pc_index.slots[at];
	if (g->pc_count >= GPU_PCS_MAX || !array_reserve(&g->pcs, &g->pc_capacity, g->pc_count + 1))
		return 0;
	g->pcs[g->pc_count++] = *pc;
	hash_insert(&g->pc_index, at, hash_of_pc(pc), g->pc_count);
	return g->pc_count;
}

bool gpu_lines_add(struct gpu_lines *g, const struct gpu_pc_samples *more)
{
	uint32_t at;

	if (!make_room(&g->stall_index))
		return false;
	for (at = hash_start(&g->stall_index, hash_of_stall(more)); g->stall_index.slots[at];
	     at = hash_next(&g->stall_index, at)) {
		struct gpu_pc_samples *known = &g->stalls[g->stall_index.slots[at] - 1];
		if (known->pc != more->pc || known->reason != more->reason)
			continue;
		known->samples += more->samples;
		return true;
	}
	if (g->stall_count >= GPU_STALLS_MAX ||
	    !array_reserve(&g->stalls, &g->stall_capacity, g->stall_count + 1))
		return false;
	g->stalls[g->stall_count++] = *more;
	hash_insert(&g->stall_index, at, hash_of_stall(more), g->stall_count);
	return true;
}
