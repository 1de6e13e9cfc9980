/* SPDX-License-Identifier: MIT */
/*
 * Which instruction of the host had pages of managed memory come back from a GPU.
 *
 *	page fault   at 0x7f0000201000, by the instruction at location 12   ──┐
 *	moved        0x7f0000200000, 2 MB, to the host, for a page fault     ─┴─► location 12
 *
 * CUPTI tells faults and moves apart. They belong together if the fault lies in what was moved, or
 * in one of the driver's blocks of 2 MB that this is part of, and was at most a little before; of
 * several the latest. Each may be reported first. Some of the latest are remembered. One thread at
 *a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GPU_TOUCHES_KEPT 256u
#define GPU_MOVES_KEPT   64u

struct gpu_touch {
	uint64_t time_ns, address;
	uint32_t process;  /* slot */
	uint32_t location; /* of the instruction; never 0 */
};

struct gpu_move {
	uint64_t begin_ns, address, bytes;
	uint64_t ns;
	uint32_t process;       /* slot */
	uint32_t device, cause; /* as in struct gpu_managed */
};

/* All zeros: nothing has been told. Rings: the count says how many there ever were. */
struct gpu_touches {
	struct gpu_touch touches[GPU_TOUCHES_KEPT];
	struct gpu_move moves[GPU_MOVES_KEPT]; /* whose fault is not known; no bytes: found since */
	size_t touch_count, move_count;
};

/* The location of the fault that MOVE was made for; 0: it is not known yet. */
uint32_t gpu_touches_move(struct gpu_touches *f, const struct gpu_move *move);

/* Calls FOUND for each move of which that was 0 and that is FAULT's. */
void gpu_touches_add(struct gpu_touches *f, const struct gpu_touch *fault, void *context,
                     void (*found)(void *context, const struct gpu_move *move));

/* Gives each location the number MAP[location - 1]. */
void gpu_touches_move_locations(struct gpu_touches *f, const uint32_t *map);
