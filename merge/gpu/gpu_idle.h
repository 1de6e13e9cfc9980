/* SPDX-License-Identifier: MIT */
/*
 * What threads did while a GPU had nothing to do.
 *
 *	GPU      ██████        ███      a gap is of the thread whose work ends it
 *	thread   ··▒▒▒▒▓▓▓▓▓▓▓▓··       its samples and waits in there: ▓
 *
 * Stacks come in time, gaps seconds later. So a stack waits until all gaps at its time are known,
 * or there is no room: then its time is not told. Threads that have not launched anything yet may
 * be about to end a gap; as most never do, their stacks have a room of their own, from the first
 * launch of anybody on: what came before is in no gap. One thread at a time.
 */
#pragma once

#include "base/metric.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_IDLE_GAPS   (1u << 17) /* the newest are remembered */
#define GPU_IDLE_STACKS (1u << 16) /* that wait */

struct gpu_gap_time {
	uint64_t begin_ns, end_ns;
	uint32_t thread; /* slot; 0: unknown */
	uint32_t device; /* any number for each */
};

/* One sample or wait of a thread. */
struct gpu_idle_stack {
	uint64_t begin_ns;
	uint64_t duration_ns; /* 0: a moment */
	uint64_t weight_ns;
	uint32_t node, thread;
	enum metric metric; /* what the thread was doing */
};

/* A GPU waited for STACK's thread while that was there. */
struct gpu_idle_part {
	const struct gpu_idle_stack *stack;
	uint32_t device;
	uint64_t begin_ns;
	uint64_t duration_ns; /* 0: a moment */
	uint64_t ns;          /* that it stands for */
};
typedef void gpu_idle_told(void *context, const struct gpu_idle_part *part);

/* Stacks, in the order in which they were told. */
struct gpu_idle_stacks {
	struct gpu_idle_stack *stacks;
	size_t count, capacity;
};

/* Zeroed when there is no GPU. */
struct gpu_idle {
	struct gpu_gap_time *gaps; /* in the order of their ends, of all GPUs */
	size_t gap_count, gap_capacity;
	struct gpu_idle_stacks launching, others;
	bool *launches; /* [thread slot - 1]: it has launched something */
	size_t launch_count, launch_capacity;
};

void gpu_idle_fini(struct gpu_idle *idle);

/* THREAD launches. False if there is no memory. */
bool gpu_idle_launches(struct gpu_idle *idle, uint32_t thread);

/* Before anything was launched it is left alone. */
void gpu_idle_add(struct gpu_idle *idle, const struct gpu_idle_stack *stack);

/* Gaps of one GPU come in order. */
void gpu_idle_gap(struct gpu_idle *idle, const struct gpu_gap_time *gap);

/* All gaps that begin before UNTIL_NS are known: TOLD hears of the stacks that ended by then. */
void gpu_idle_settle(struct gpu_idle *idle, uint64_t until_ns, gpu_idle_told *told, void *context);

/* Node numbers have changed: MAP[node - 1]. */
void gpu_idle_move_nodes(struct gpu_idle *idle, const uint32_t *map);
