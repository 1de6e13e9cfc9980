/* SPDX-License-Identifier: MIT */
/*
 * What is kept of GPUs: devices, streams, what ran there, when, and for which call path.
 *
 * Times in the call tree are cells of nodes (merge/table/cells.h), kept apart from those of
 * threads: GPU time is never added to CPU time. For the files of merge/ alone. One thread at a
 * time.
 */
#pragma once

#include "base/gpu_event.h"
#include "merge/gpu/gpu_busy.h"
#include "merge/gpu/gpu_idle.h"
#include "merge/gpu/gpu_touches.h"
#include "merge/gpu/gpu_works.h"
#include "merge/table/cells.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_DEVICES_MAX 256u
#define GPU_STREAMS_MAX 4096u
#define GPU_MANAGED_MAX 4096u
#define GPU_PLACES_MAX  2048u /* rows of them that have a location; more have none */
#define GPU_SYNC_KINDS  5     /* enum gpu_sync_kind */
#define GPU_OVERHEADS   10    /* see gpu_count_overhead() */

/* Facts as in struct record_gpu_device; 0 where unknown. */
struct gpu_device {
	uint32_t name; /* string */
	uint32_t number;
	uint32_t process; /* slot; of the first that reported it */
	uint8_t uuid[16];
	uint64_t memory_bytes, memory_bytes_per_s;
	uint32_t clock_khz, compute_major, compute_minor, multiprocessors;
	uint32_t max_warps, max_blocks, max_shared, max_registers, warp_threads, copy_engines;
	uint64_t live_bytes, peak_bytes, peak_ns; /* allocated by the program, all pools */
	uint64_t first_ns, end_ns;                /* of what ran; 0: nothing did */
	uint64_t longest_gap_ns;                  /* in which nothing ran */
	uint64_t late;
};

struct gpu_stream {
	uint32_t device;  /* index + 1 */
	uint32_t process; /* slot */
	uint32_t context, number;
	uint64_t works, busy_ns;
	uint64_t kernels;   /* of works */
	uint64_t shared_ns; /* of busy_ns: others of the device were busy, too */
};

struct gpu_count {
	uint64_t count, ns;
};

/* What the driver did with managed memory, of one kind, for one cause, by one process. */
struct gpu_managed {
	uint32_t kind;     /* enum gpu_managed_kind */
	uint32_t cause;    /* as in struct record_gpu_managed */
	uint32_t device;   /* index + 1; 0: none, or several */
	uint32_t process;  /* slot */
	uint32_t location; /* the host's instruction that had a page fault, or that pages were moved
	                      for; 0: none, or unknown */
	uint64_t count, ns;
	uint64_t value; /* bytes; of faults of devices: groups; of faults of the host: 0 */
};

/* Which device a process means by its number. */
struct gpu_alias {
	uint32_t process, number; /* PROCESS as the sampler numbers it */
	uint32_t device;          /* index + 1 */
};

/* Not in files: what is under way. */
struct gpu_live {
	struct gpu_alias *aliases;
	size_t alias_count, alias_capacity;
	struct gpu_busy *busy;  /* [device index] */
	uint32_t *site_nodes;   /* [site - 1]: where it stands in the tree; 0: nowhere */
	uint32_t *site_threads; /* [site - 1]: slots */
	size_t site_count, site_capacity, site_thread_capacity;
	struct gpu_idle idle;
	struct gpu_touches touches;
	uint64_t told_ns;    /* the latest record */
	uint64_t settled_ns; /* what was before is final */
	uint64_t gap_begin_ns[GPU_GAPS];
};

struct gpu {
	struct gpu_device *devices;
	uint32_t device_count;
	size_t device_capacity;
	struct gpu_stream *streams;
	uint32_t stream_count;
	size_t stream_capacity;
	struct gpu_works works;
	struct gpu_managed *managed; /* each (kind, cause, device, process, location) once */
	uint32_t managed_count;
	size_t managed_capacity;
	struct histogram latencies; /* from the call to the beginning */
	struct gpu_count syncs[GPU_SYNC_KINDS];
	struct gpu_count overheads[GPU_OVERHEADS];
	struct gpu_count jit;
	struct gpu_count gaps[GPU_GAPS]; /* in what we see: another client of CUPTI */
	uint64_t losses[GPU_LOSSES];
	uint64_t allocations; /* on devices */
	uint64_t untied;      /* works whose call is not known */
	uint64_t lost;        /* what found no memory */
	struct cells paths;   /* by node: what it has launched ran so long; the metric is 0 */
	struct cells idle;    /* by node and gpu_idle_metric(): it waited for its thread, which was
	                         there */
	struct cells states;  /* by device index + 1 and enum gpu_state, enum gpu_call_time */
	struct gpu_live live;
};

/* The metrics of cells of states behind enum gpu_state. Stored in profile files: append only. */
enum gpu_call_time {
	GPU_HOST_WAITS = GPU_STATES, /* the host waited; of the first device: CUPTI tells none */
	GPU_QUEUED,                  /* works waited for their beginning, from their calls on */
	GPU_STATE_METRICS
};

/* The metric of cells of idle time: which GPU waited (index), and what the thread did. */
static inline uint32_t gpu_idle_metric(uint32_t device, enum metric metric)
{
	return device * METRIC_COUNT + (uint32_t)metric;
}

bool gpu_init(struct gpu *g); /* false if there is no memory */
void gpu_fini(struct gpu *g);

/* Whether anything of a GPU is known. */
bool gpu_is_empty(const struct gpu *g);

/* The index + 1 of the device that PROCESS (number and slot) calls NUMBER, made if it is new; 0 if
   there is no room. */
uint32_t gpu_device_of(struct gpu *g, uint32_t process, uint32_t slot, uint32_t number);

/* What RECORD says about it. NAME: a string. */
void gpu_know_device(struct gpu *g, uint32_t process, uint32_t slot,
                     const struct record_gpu_device *record, uint32_t name);

/* NULL if there is no room. */
struct gpu_stream *gpu_stream_of(struct gpu *g, uint32_t device, uint32_t process_slot,
                                 uint32_t context, uint32_t number);

void gpu_count_memory(struct gpu *g, uint32_t device, const struct record_gpu_memory *record);
void gpu_count_sync(struct gpu *g, const struct record_gpu_sync *record);

/* Adds to what is alike. False if there is no room. */
bool gpu_add_managed(struct gpu *g, const struct gpu_managed *more);

/* SOME, which was added without a location, is of this one. The same. */
bool gpu_place_managed(struct gpu *g, const struct gpu_managed *some, uint32_t location);

/* Marks the locations that it has in KEPT[location - 1]; and gives each the number MAP[location -
   1]. */
void gpu_keep_locations(const struct gpu *g, bool *kept);
void gpu_move_locations(struct gpu *g, const uint32_t *map);
/* CUPTI's kinds are 1 << 16, 2 << 16 …; the driver's compiler, which
   is 1, comes last, and what is unknown first. */
void gpu_count_overhead(struct gpu *g, const struct record_gpu_overhead *record);
void gpu_count_gap(struct gpu *g, const struct record_gpu_gap *record);

/* Gives each node the number MAP[node - 1]. */
void gpu_move_nodes(struct gpu *g, const uint32_t *map);
