/* SPDX-License-Identifier: MIT */
/*
 * The ring in which a process tells what its GPUs did (base/record_gpu.h), in a file of its own.
 *
 * Records come by the thousand, from threads of CUPTI's: a full ring is waited for, for a moment,
 * and then they are dropped and counted. Not for handlers. Between lock and unlock nothing of the
 * target's may be called.
 */
#pragma once

#include "base/record_gpu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent;

/* Makes the file. False if there is no room. */
bool gpu_lane_start(struct agent *a);

/* In a forked child: the ring is the parent's. */
void gpu_lane_fork(void);

void gpu_lane_lock(void);
void gpu_lane_unlock(void);

/*
 * Room for a record of TYPE, zeroed but for its head; gpu_lane_commit() makes it visible. NULL if
 * there is none: it is counted as one of CUPTI's KIND that is lost. Locked.
 */
void *gpu_lane_reserve(enum record_type type, size_t size, uint32_t kind);
void gpu_lane_commit(void *record);

/* Bytes that have been written so far. Any thread, any time. */
uint64_t gpu_lane_written(void);

/* COUNT things of CUPTI's KIND (0: of all) are not there, or not whole. Any thread, any time. */
void gpu_lane_lose(enum gpu_lost what, uint32_t kind, uint64_t count);

/* Writes what has been lost since the last time. Locked. */
void gpu_lane_tell_lost(void);
