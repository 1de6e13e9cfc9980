/* SPDX-License-Identifier: MIT */
/*
 * What GPUs ran: sums over kernels, copies, sets and graphs that are alike, in bounded memory.
 *
 * Beyond a limit new rows leave out how the kernel was launched; that is counted. For the files of
 * merge/ alone. One thread at a time.
 */
#pragma once

#include "base/hash.h"
#include "merge/numbers/histogram.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stored in profile files: append only. */
enum gpu_work_kind {
	GPU_WORK_KERNEL = 0,
	GPU_WORK_COPY = 1,
	GPU_WORK_SET = 2,
	GPU_WORK_GRAPH = 3,
	GPU_WORK_KINDS
};

/* How a kernel is launched. All zeros: not known, or no kernel. */
struct gpu_shape {
	uint32_t grid[3];  /* blocks */
	uint32_t block[3]; /* threads */
	uint32_t registers;
	uint32_t static_shared, dynamic_shared; /* bytes */
	uint32_t local_per_thread;
};

/* Without padding: keys are compared as bytes. */
struct gpu_work_key {
	uint32_t kind;    /* enum gpu_work_kind */
	uint32_t op;      /* id, base/op.h */
	uint32_t process; /* slot */
	uint32_t device;  /* index + 1 */
	uint32_t copy;    /* enum gpu_copy_kind, from << 8 and to << 16: enum gpu_memory_kind */
	uint32_t async;
	struct gpu_shape shape;
};
_Static_assert(sizeof(struct gpu_work_key) == 16 * sizeof(uint32_t), "gpu work key");

struct gpu_work_sums {
	uint64_t calls;
	uint64_t untimed; /* of them: how long they took is not known */
	uint64_t untied;  /* what caused them is not known */
	uint64_t total_ns, min_ns, max_ns;
	uint64_t bytes;     /* of copies and sets */
	uint64_t queued_ns; /* from the call to the beginning, of those that are tied and timed */
};

struct gpu_work {
	struct gpu_work_key key;
	struct gpu_work_sums sums;
	struct histogram durations;
	uint32_t series; /* id, merge/table/series.h; 0: none. Not in files */
};

struct gpu_works {
	struct gpu_work *works;
	uint32_t count;
	size_t capacity;
	struct hash index;
	uint64_t folded; /* calls whose shape was left out */
	uint64_t lost;   /* calls that found no memory */
};

#define GPU_WORKS_MAX 16384u

void gpu_works_fini(struct gpu_works *w);

/* The row of KEY, made if it is new, maybe without its shape. NULL if there is no room. */
struct gpu_work *gpu_works_get(struct gpu_works *w, const struct gpu_work_key *key);

/* The row of KEY as it is, e.g. from a file. NULL if there is no room. */
struct gpu_work *gpu_works_append(struct gpu_works *w, const struct gpu_work_key *key);

/* Adds FROM's sums to TO's. */
void gpu_work_sums_add(struct gpu_work_sums *to, const struct gpu_work_sums *from);
