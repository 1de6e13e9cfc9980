/* SPDX-License-Identifier: MIT */
/*
 * What a GPU did, as CUPTI tells it: records of base/record.h.
 *
 * They stand in a ring of their own, in the order in which they were told: head.time_ns is when
 * that was, up to seconds after BEGIN_NS and END_NS, which are CLOCK_MONOTONIC as well. head.tid is
 * the process's main thread, unless it says otherwise.
 *
 * CORRELATION ties them to the call that caused them, in the process that head.pid names:
 *
 *	thread's ring   OP_BEGIN cudaLaunchKernel, OP_DETAIL_CORRELATION 17   (before, or the next)
 *	GPU's ring      GPU_KERNEL correlation 17
 *
 * The op that began with it knows thread, time, open ops and place. Ids are 32 bits and grow; they
 * wrap after 2^32 calls. One call may have several records (a graph whose nodes are told, a copy in
 * parts), or none. 0: unknown.
 */
#pragma once

#include "base/record.h"

#include <stdbool.h>

enum gpu_flags {
	GPU_UNTIMED = 1 << 0, /* CUPTI had no times for it: both are 0 */
	GPU_ASYNC = 1 << 1    /* copies, memory: the call did not wait for it */
};

/* Where something ran. Numbers are CUPTI's, of the process. */
struct gpu_place {
	uint32_t correlation;
	uint32_t device, context, stream;
};
_Static_assert(sizeof(struct gpu_place) == 16, "place");

struct record_gpu_kernel {
	struct record head; /* flags: enum gpu_flags */
	uint64_t begin_ns, end_ns;
	struct gpu_place place;
	uint64_t graph_node; /* 0: none */
	uint32_t name;    /* of provider OP_GPU, mangled; RECORD_OP_NAME comes before; 0: unknown */
	uint32_t grid[3]; /* blocks */
	uint16_t block[3];                      /* threads */
	uint16_t registers;                     /* of a thread */
	uint32_t static_shared, dynamic_shared; /* bytes of a block */
	uint32_t local_per_thread;              /* bytes */
	uint32_t reserved;
};
_Static_assert(sizeof(struct record_gpu_kernel) == 24 + 16 + 16 + 8 + 16 + 8 + 16, "kernel");

/* Where memory lies. As CUPTI numbers it. */
enum gpu_memory_kind {
	GPU_MEMORY_UNKNOWN = 0,
	GPU_MEMORY_PAGEABLE = 1,
	GPU_MEMORY_PINNED = 2,
	GPU_MEMORY_DEVICE = 3,
	GPU_MEMORY_ARRAY = 4,
	GPU_MEMORY_MANAGED = 5,
	GPU_MEMORY_DEVICE_STATIC = 6,
	GPU_MEMORY_MANAGED_STATIC = 7
};

enum gpu_copy_kind {
	GPU_COPY_HOST_TO_DEVICE = 1,
	GPU_COPY_DEVICE_TO_HOST = 2,
	GPU_COPY_HOST_TO_ARRAY = 3,
	GPU_COPY_ARRAY_TO_HOST = 4,
	GPU_COPY_ARRAY_TO_ARRAY = 5,
	GPU_COPY_ARRAY_TO_DEVICE = 6,
	GPU_COPY_DEVICE_TO_ARRAY = 7,
	GPU_COPY_DEVICE_TO_DEVICE = 8,
	GPU_COPY_HOST_TO_HOST = 9,
	GPU_COPY_PEER = 10
};

struct record_gpu_copy {
	struct record head;
	uint64_t begin_ns, end_ns;
	struct gpu_place place;
	uint64_t bytes;
	uint32_t from_device, to_device; /* of GPU_COPY_PEER; else both are the place's */
	uint8_t kind;                    /* enum gpu_copy_kind */
	uint8_t from, to;                /* enum gpu_memory_kind */
	uint8_t reserved[5];
};
_Static_assert(sizeof(struct record_gpu_copy) == 24 + 16 + 16 + 8 + 8 + 8, "copy");

struct record_gpu_set {
	struct record head;
	uint64_t begin_ns, end_ns;
	struct gpu_place place;
	uint64_t bytes;
	uint32_t value;
	uint32_t memory; /* enum gpu_memory_kind */
};
_Static_assert(sizeof(struct record_gpu_set) == 24 + 16 + 16 + 16, "set");

/* As CUPTI numbers it. */
enum gpu_sync_kind {
	GPU_SYNC_EVENT = 1,
	GPU_SYNC_STREAM_WAIT = 2, /* a stream waits for an event; the host does not */
	GPU_SYNC_STREAM = 3,
	GPU_SYNC_CONTEXT = 4
};

/* The times are the host's. */
struct record_gpu_sync {
	struct record head;
	uint64_t begin_ns, end_ns;
	struct gpu_place place; /* no device; no stream: UINT32_MAX */
	uint32_t kind;          /* enum gpu_sync_kind */
	uint32_t event;         /* UINT32_MAX: none */
};
_Static_assert(sizeof(struct record_gpu_sync) == 24 + 16 + 16 + 8, "sync");

enum gpu_memory_operation {
	GPU_ALLOCATED = 1,
	GPU_RELEASED = 2
};

struct record_gpu_memory {
	struct record head;
	uint64_t at_ns;
	struct gpu_place place;
	uint64_t address, bytes;
	uint64_t pool;      /* the address of the pool it is of; 0: none */
	uint32_t operation; /* enum gpu_memory_operation */
	uint32_t memory;    /* enum gpu_memory_kind */
};
_Static_assert(sizeof(struct record_gpu_memory) == 24 + 8 + 16 + 24 + 8, "memory");

enum gpu_pool_operation {
	GPU_POOL_CREATED = 1,
	GPU_POOL_DESTROYED = 2,
	GPU_POOL_TRIMMED = 3
};

struct record_gpu_pool {
	struct record head;
	uint64_t at_ns;
	struct gpu_place place; /* no context, no stream */
	uint64_t address, bytes;
	uint64_t kept_bytes; /* of GPU_POOL_TRIMMED: at least so many stay */
	uint32_t operation;  /* enum gpu_pool_operation */
	uint32_t reserved;
};
_Static_assert(sizeof(struct record_gpu_pool) == 24 + 8 + 16 + 24 + 8, "pool");

/* What the driver did with pages of managed memory. As CUPTI numbers it. */
enum gpu_managed_kind {
	GPU_MANAGED_TO_DEVICE = 1, /* moved there */
	GPU_MANAGED_TO_HOST = 2,
	GPU_MANAGED_HOST_FAULT = 3,
	GPU_MANAGED_DEVICE_FAULT = 4,
	GPU_MANAGED_THRASHING = 5,  /* several processors want the same pages */
	GPU_MANAGED_THROTTLING = 6, /* one of them has to wait for that */
	GPU_MANAGED_REMOTE_MAP = 7, /* used where they are, from afar */
	GPU_MANAGED_BETWEEN = 8,    /* moved between devices */
	GPU_MANAGED_KINDS
};

static inline bool gpu_managed_moves(uint32_t kind)
{
	return kind == GPU_MANAGED_TO_DEVICE || kind == GPU_MANAGED_TO_HOST ||
	       kind == GPU_MANAGED_BETWEEN;
}

/* Why pages were moved. As CUPTI numbers it. */
enum gpu_managed_cause {
	GPU_MANAGED_UNKNOWN = 0,
	GPU_MANAGED_ASKED = 1,   /* by the program: a prefetch */
	GPU_MANAGED_ACCESS = 2,  /* a page fault */
	GPU_MANAGED_AHEAD = 3,   /* by the driver, before they were used */
	GPU_MANAGED_EVICTED = 4, /* the device had no room */
	GPU_MANAGED_OFTEN = 5,   /* they were used from afar often */
	GPU_MANAGED_CAUSES
};

/* What a page fault was about. As CUPTI numbers it. */
enum gpu_managed_access {
	GPU_MANAGED_READ = 1,
	GPU_MANAGED_WRITE = 2,
	GPU_MANAGED_ATOMIC = 3,
	GPU_MANAGED_PREFETCH = 4 /* by an instruction that prefetches */
};

/* Why pages are used from afar. As CUPTI numbers it. */
enum gpu_managed_map {
	GPU_MANAGED_MAP_COHERENT = 1,
	GPU_MANAGED_MAP_THRASHING = 2, /* so that they do no more */
	GPU_MANAGED_MAP_ADVISED = 3,   /* by the program, or the driver's own rules */
	GPU_MANAGED_MAP_NO_ROOM = 4,
	GPU_MANAGED_MAP_EVICTED = 5
};

#define GPU_MANAGED_HOST UINT32_MAX

struct record_gpu_managed {
	struct record head;
	uint64_t begin_ns, end_ns; /* alike for what takes no time, or CUPTI does not say */
	uint64_t address;
	uint64_t value;  /* bytes; DEVICE_FAULT: groups of faults; HOST_FAULT: the instruction */
	uint32_t kind;   /* enum gpu_managed_kind */
	uint32_t cause;  /* of what is moved: enum gpu_managed_cause; of faults: …_access; of
	                    REMOTE_MAP: …_map; else 0 */
	uint32_t device; /* GPU_MANAGED_HOST: none, or several */
	uint32_t reserved;
};
_Static_assert(sizeof(struct record_gpu_managed) == 24 + 16 + 16 + 16, "managed");

/* One launch of a graph, as a whole. */
struct record_gpu_graph {
	struct record head;
	uint64_t begin_ns, end_ns;
	struct gpu_place place;
	uint32_t graph;
	uint32_t reserved;
};
_Static_assert(sizeof(struct record_gpu_graph) == 24 + 16 + 16 + 8, "graph");

/* The host has made or loaded machine code. */
struct record_gpu_jit {
	struct record head;
	uint64_t begin_ns, end_ns;
	struct gpu_place place; /* no context, no stream */
	uint32_t entry;         /* CUPTI's: 1: PTX to cubin, 2: NVVM to PTX */
	uint32_t operation;     /* CUPTI's: 1: taken from a cache, 2: put there, 3: compiled */
};
_Static_assert(sizeof(struct record_gpu_jit) == 24 + 16 + 16 + 8, "jit");

/* What the GPU's tools cost: CUPTI and the driver's compiler. */
struct record_gpu_overhead {
	struct record head; /* tid: the thread that paid, if CUPTI says so */
	uint64_t begin_ns, end_ns;
	uint32_t what; /* CUPTI's: CUpti_ActivityOverheadKind */
	uint32_t reserved;
};
_Static_assert(sizeof(struct record_gpu_overhead) == 24 + 16 + 8, "overhead");

/* A launch outside of all calls that are ops; its kernels bear its correlation. */
struct record_gpu_launch {
	struct record head; /* tid: the thread */
	uint64_t begin_ns, end_ns;
	uint32_t correlation;
	uint32_t reserved;
};
_Static_assert(sizeof(struct record_gpu_launch) == 24 + 16 + 8, "launch");

/* Followed by the name and its NUL. */
struct record_gpu_device {
	struct record head;
	uint64_t memory_bytes;
	uint64_t memory_bytes_per_s;
	uint32_t device;
	uint32_t clock_khz;
	uint32_t compute_major, compute_minor;
	uint32_t multiprocessors;
	uint32_t warp_threads;
	uint32_t max_warps, max_blocks;                        /* of one multiprocessor */
	uint32_t max_shared, max_registers;                    /* the same: bytes, registers */
	uint32_t block_shared, block_registers, block_threads; /* at most, of a block */
	uint32_t l2_bytes;
	uint32_t copy_engines;
	uint32_t reserved;
	uint8_t uuid[16];
};
_Static_assert(sizeof(struct record_gpu_device) == 24 + 16 + 64 + 16, "device");

struct record_gpu_context {
	struct record head;
	uint32_t context, device;
	uint32_t null_stream; /* the stream that stands for 0 there */
	uint32_t reserved;
};
_Static_assert(sizeof(struct record_gpu_context) == 24 + 16, "context");

struct record_gpu_stream {
	struct record head;
	uint32_t context, stream;
	uint32_t priority;
	uint32_t flag; /* CUPTI's: 1: default, 2: non-blocking, 3: null, 4: of each thread */
	uint32_t correlation;
	uint32_t reserved;
};
_Static_assert(sizeof(struct record_gpu_stream) == 24 + 24, "stream");

/* What is not there, or not whole. Stored in profile files: append only. */
enum gpu_lost {
	GPU_LOST_DROPPED = 1, /* CUPTI had no buffer for it */
	GPU_LOST_NO_ROOM = 2, /* the ring was full */
	GPU_LOST_UNKNOWN = 3, /* of a kind that was not asked for */
	GPU_LOST_DAMAGED = 4, /* buffers that ended in something that is no record */
	GPU_LOST_UNTIMED = 5, /* it is there, GPU_UNTIMED */
	GPU_LOST_REFUSED = 6, /* kinds that CUPTI will not report */
	GPU_LOST_NAME = 7,    /* kernels whose names found no room */
	GPU_LOST_BUFFER = 8,  /* buffers that CUPTI wanted and did not get */
	GPU_LOST_CUBIN = 9,   /* machine code whose lines found no room, or could not be kept */
	GPU_LOST_SAMPLED =
		10, /* times that the GPU's buffer of samples was full: all in it are lost */
	GPU_LOSSES
};

/* What has come since the last one of the same WHAT and KIND. */
struct record_gpu_lost {
	struct record head;
	uint64_t count;
	uint32_t what; /* enum gpu_lost */
	uint32_t kind; /* CUPTI's CUpti_ActivityKind; 0: of all kinds */
};
_Static_assert(sizeof(struct record_gpu_lost) == 24 + 16, "lost");

enum gpu_gap {
	GPU_GAP_ACTIVITY = 1, /* another client of CUPTI in the process has the records */
	GPU_GAP_CALLS = 2,    /* and the calls: they are no ops */
	GPU_GAPS
};

/* Written when it begins, with END_NS 0, and when it ends. */
struct record_gpu_gap {
	struct record head;
	uint64_t begin_ns, end_ns;
	uint32_t what; /* enum gpu_gap */
	uint32_t reserved;
};
_Static_assert(sizeof(struct record_gpu_gap) == 24 + 24, "gap");

/* A reason that threads of kernels wait for, before the first instruction that has it. */
struct record_gpu_stall {
	struct record head;
	uint32_t reason; /* name of provider OP_GPU, CUPTI's word */
	uint32_t reserved;
};
_Static_assert(sizeof(struct record_gpu_stall) == 24 + 8, "stall record");

/* What samples of an instruction waited for. */
struct gpu_stall {
	uint32_t reason; /* 0: unknown */
	uint32_t samples;
};
_Static_assert(sizeof(struct gpu_stall) == 8, "stall");

/*
 * Samples of one instruction that have come since the last record of it: of threads of the kernel
 * that were there, running or waiting. Followed by stall_count of struct gpu_stall. The cubin that
 * CRC is of, if it has lines, is a file of the session: PROTOCOL_CUBIN_FILE.
 */
struct record_gpu_pc {
	struct record head;
	uint64_t cubin_crc;
	uint64_t offset;   /* in the function, bytes */
	uint32_t function; /* name of provider OP_GPU, mangled; 0: unknown */
	uint32_t stall_count;
};
_Static_assert(sizeof(struct record_gpu_pc) == 24 + 24, "pc");

/* What the samples of all instructions make together, since the last one of these. */
struct record_gpu_pc_sum {
	struct record head;
	uint64_t samples; /* all, with those below */
	uint64_t dropped; /* by the GPU, which could not keep up */
	uint64_t
		other; /* of kernels that are not the program's own: no instructions are reported */
};
_Static_assert(sizeof(struct record_gpu_pc_sum) == 24 + 24, "pc sum");
