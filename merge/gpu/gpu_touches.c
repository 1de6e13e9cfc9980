// SPDX-License-Identifier: MIT
#include "merge/gpu/gpu_touches.h"

#include "base/clock.h"

#include <stdbool.h>

#define BLOCK_BYTES (UINT64_C(2) << 20)
#define AFTER_NS    (50 * NS_PER_MS) // a move waits for others
#define BEFORE_NS   NS_PER_MS        // the two clocks are not quite one

static bool belong(const struct gpu_touch *fault, const struct gpu_move *move)
{
	uint64_t begin = move->address - move->address % BLOCK_BYTES;
	uint64_t end = (move->address + move->bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;

	return move->bytes && fault->process == move->process && fault->address >= begin &&
	       fault->address < end && fault->time_ns <= move->begin_ns + BEFORE_NS &&
	       move->begin_ns <= fault->time_ns + AFTER_NS;
}

uint32_t gpu_touches_move(struct gpu_touches *f, const struct gpu_move *move)
{
	size_t kept = f->touch_count < GPU_TOUCHES_KEPT ? f->touch_count : GPU_TOUCHES_KEPT;
	const struct gpu_touch *latest = NULL;

	for (size_t i = 0; i < kept; i++)
		if (belong(&f->touches[i], move) &&
		    (!latest || f->touches[i].time_ns > latest->time_ns))
			latest = &f->touches[i];
	if (!latest)
		f->moves[f->move_count++ % GPU_MOVES_KEPT] = *move;
	return latest ? latest->location : 0;
}

void gpu_touches_add(struct gpu_touches *f, const struct gpu_touch *fault, void *context,
                     void (*found)(void *context, const struct gpu_move *move))
{
	size_t kept = f->move_count < GPU_MOVES_KEPT ? f->move_count : GPU_MOVES_KEPT;

	f->touches[f->touch_count++ % GPU_TOUCHES_KEPT] = *fault;
	for (size_t i = 0; i < kept; i++) {
		struct gpu_move move = f->moves[i];
		if (!belong(fault, &move))
			continue;
		f->moves[i].bytes = 0;
		found(context, &move);
	}
}

void gpu_touches_move_locations(struct gpu_touches *f, const uint32_t *map)
{
	size_t kept = f->touch_count < GPU_TOUCHES_KEPT ? f->touch_count : GPU_TOUCHES_KEPT;

	for (size_t i = 0; i < kept; i++)
		f->touches[i].location = map[f->touches[i].location - 1];
}
