/* SPDX-License-Identifier: MIT */
/*
 * Questions about GPUs: what they ran, how busy they were, what they waited for.
 *
 * Times of what ran are exact, by CUPTI. Answers borrow their texts from the profile, which must
 * outlive them.
 */
#pragma once

#include "base/cleanup.h"
#include "base/record_gpu.h"
#include "merge/gpu/gpu_works.h"
#include "merge/query/query.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

/* What limits how many warps of a kernel a multiprocessor holds. */
enum gpu_limit {
	GPU_LIMIT_UNKNOWN,
	GPU_LIMIT_WARPS, /* nothing but the multiprocessor's own limit */
	GPU_LIMIT_BLOCKS,
	GPU_LIMIT_REGISTERS,
	GPU_LIMIT_SHARED,
	GPU_LIMIT_GRID /* there are not enough blocks for all multiprocessors */
};

struct gpu_row {
	const char *name; /* readable */
	enum gpu_work_kind kind;
	uint64_t calls;
	uint64_t untimed; /* of them */
	uint64_t total_ns, average_ns;
	uint64_t median_ns, q1_ns, q3_ns, min_ns, max_ns; /* of the whole run */
	uint64_t bytes;                                   /* of copies and sets */
	double bytes_per_s;                               /* 0: unknown */
	enum gpu_copy_kind direction;                     /* of a copy */
	enum gpu_memory_kind from, to;                    /* the same */
	bool async;                                       /* the same: all of them */
	struct gpu_shape shape; /* of most of its time; block 0: no kernel, or unknown */
	size_t shapes;          /* how many it was launched in */
	double occupancy;       /* 0 … 1, of SHAPE: estimated; 0: unknown */
	enum gpu_limit limit;   /* of that */
	double at_work;         /* 0 … 1, the same: of the GPU's multiprocessors; 0: unknown */
	bool tensor_cores;      /* by its name */
	uint32_t op;            /* id */
	const char *function,
		*file; /* the user's own code that launched most of it; NULL: unknown */
	int line;
};

struct gpu_rows {
	struct gpu_row *rows; /* most time first */
	size_t count;
	uint64_t total_ns; /* of all rows */
	uint64_t calls;
};

/* Of QUERY: thread, process and window. NULL on error. */
struct gpu_rows *query_gpu(const struct profile *p, const struct query *query, struct error *err);
void gpu_rows_free(struct gpu_rows *rows);

CLEANUP(gpu_rows, struct gpu_rows *, gpu_rows_free)

/*
 * One GPU. Times are within QUERY's window, and between the first and the last that it ran; streams
 * are those of the whole run.
 */
struct gpu_device_row {
	const char *name;    /* "" if unknown */
	const char *process; /* of a merged profile whose it is; else "" */
	uint32_t number;
	uint32_t compute_major, compute_minor, multiprocessors;
	uint64_t memory_bytes, memory_bytes_per_s; /* 0: unknown */
	uint64_t peak_bytes;                       /* allocated at once, in the whole run */
	bool peak_within;                          /* that was within the window */
	uint64_t span_ns;                          /* from its first to its last activity */
	uint64_t busy_ns;                          /* of that: the union over streams */
	uint64_t kernel_ns, copy_ns;               /* the same of kernels, and of copies and sets */
	uint64_t overlap_ns;                       /* several at once */
	uint64_t copy_hidden_ns;                   /* copies while kernels ran */
	uint32_t streams;                          /* that something ran on */
};

/* One stream that something ran on, in all of the run. */
struct gpu_stream_row {
	uint32_t number, context; /* as CUPTI numbers them */
	uint32_t device;          /* its number */
	const char *device_name;  /* "" if unknown */
	const char *process;      /* of a merged profile whose it is; else "" */
	uint32_t pid;             /* 0: unknown */
	uint64_t works, kernels;  /* all that ran there; of them */
	uint64_t busy_ns;
	uint64_t shared_ns; /* of that: other streams of the device were busy, too */
	uint64_t span_ns;   /* from the device's first activity to its last */
};

struct gpu_stream_rows {
	struct gpu_stream_row *rows; /* busiest first */
	size_t count;
	size_t devices, processes; /* that they are of */
};

/* NULL on error. */
struct gpu_stream_rows *query_gpu_streams(const struct profile *p, struct error *err);
void gpu_stream_rows_free(struct gpu_stream_rows *rows);

CLEANUP(gpu_stream_rows, struct gpu_stream_rows *, gpu_stream_rows_free)

/* What the driver did with managed memory, of one kind, for one cause, in all of the run. */
struct gpu_managed_row {
	enum gpu_managed_kind kind; /* 0: one that CUPTI does not name */
	uint32_t cause;             /* as in struct record_gpu_managed */
	bool has_device;
	uint32_t device;     /* its number */
	const char *process; /* of a merged profile whose it is; else "" */
	uint32_t pid;        /* 0: unknown */
	uint64_t count, ns;  /* ns 0: unknown, or it takes none */
	uint64_t bytes;      /* but for faults */
	uint64_t groups;     /* of page faults of a device, that CUPTI takes together */
	double bytes_per_s;  /* of what moved; 0: unknown */
};

struct gpu_managed_rows {
	struct gpu_managed_row *rows; /* most time first */
	size_t count;
};

/* NULL on error. */
struct gpu_managed_rows *query_gpu_managed(const struct profile *p, struct error *err);
void gpu_managed_rows_free(struct gpu_managed_rows *rows);

CLEANUP(gpu_managed_rows, struct gpu_managed_rows *, gpu_managed_rows_free)

/*
 * Code of the host that had page faults, by line: of the user's own line where code was inlined
 * there. What was moved for a fault is the line's as far as the two were found to belong together.
 */
struct gpu_fault_row {
	const char *function, *file; /* NULL if unknown */
	int line;
	const char *module; /* "" if unknown */
	const char *caller; /* code of others: the user's own function that called it most, by
	                       samples; NULL: it is the user's own, or no sample tells */
	const char *caller_file;
	int caller_line;
	const char *process;    /* of a merged profile whose it is; else "" */
	uint64_t reads, writes; /* faults; of atomic and unknown ones neither */
	uint64_t faults;        /* all */
	uint64_t moves, bytes;  /* to the host for it */
	uint64_t ns;            /* that those took */
};

struct gpu_fault_rows {
	struct gpu_fault_row *rows; /* most time first */
	size_t count;
	uint64_t faults, ns; /* of all rows */
};

/* Of the whole run. NULL on error. */
struct gpu_fault_rows *query_gpu_faults(const struct profile *p, struct error *err);
void gpu_fault_rows_free(struct gpu_fault_rows *rows);

CLEANUP(gpu_fault_rows, struct gpu_fault_rows *, gpu_fault_rows_free)

/* Managed memory in all of the run. */
struct gpu_paging {
	uint64_t ns, bytes;                /* pages moved without the program's asking for it */
	uint64_t to_host_ns;               /* of that */
	uint64_t evicted_ns;               /* the same: as a GPU had no room */
	uint64_t thrashing;                /* times that several processors wanted the same pages */
	uint64_t throttled_ns;             /* for which one of them had to wait */
	uint64_t remote_bytes;             /* used from afar */
	uint64_t host_faults, host_writes; /* all; of them */
	uint64_t device_groups, device_writes; /* the same in groups, of GPUs */
};

/*
 * All that is known but rows. Below sync_ns everything is of the whole run, as medians are: it is
 * not kept by time.
 */
struct gpu_facts {
	struct gpu_device_row *devices;
	size_t device_count;
	uint64_t span_ns, busy_ns;    /* over all devices */
	uint64_t latency_average_ns;  /* from a call to its beginning; 0: unknown */
	double queue;                 /* launched and not begun, on average over SPAN_NS */
	uint64_t sync_count, sync_ns; /* host waits for streams, events, devices */
	uint64_t latency_ns,
		latency90_ns;  /* median and 90 % from a call to its beginning; 0: unknown */
	uint64_t stream_waits; /* streams that were told to wait for others */
	uint64_t allocations;  /* on devices */
	uint64_t jit_count, jit_ns;
	struct gpu_paging managed;
	uint64_t overhead_ns;                /* of CUPTI itself, as far as it says */
	uint64_t overhead_compile_ns;        /* of the driver's compiler */
	uint64_t losses[GPU_LOSSES];         /* enum gpu_lost */
	uint64_t gap_count, gap_ns;          /* another client of CUPTI had the records */
	uint64_t untied, lost, folded, late; /* activities without a call, without room … */
};

/* NULL on error; no devices: nothing is known of GPUs. */
struct gpu_facts *query_gpu_facts(const struct profile *p, const struct query *query,
                                  struct error *err);
void gpu_facts_free(struct gpu_facts *facts);

CLEANUP(gpu_facts, struct gpu_facts *, gpu_facts_free)

/* What a launching thread can be doing in a call of CUDA's. */
enum gpu_call_kind {
	GPU_CALL_NONE, /* in none of these */
	GPU_CALL_LAUNCH,
	GPU_CALL_SYNC,
	GPU_CALL_COPY, /* and set */
	GPU_CALL_MEMORY,
	GPU_CALL_OTHER,
	GPU_CALL_KINDS
};

/*
 * What the GPUs, or the query's one of them, waited for, between their first and their last
 * activity: what the thread was doing whose launch ended the wait. Rows are the user's own
 * functions, or the innermost ones where those have no lines, by self; metrics tell whether they
 * computed or waited.
 */
struct gpu_wait {
	uint64_t span_ns, idle_ns; /* over these devices */
	uint64_t told_ns;          /* sum of the rows: what stacks say about idle_ns */
	uint64_t runnable_ns;      /* beside that: the thread waited for a free CPU, which may hit
	                              any function */
	struct rows *functions;    /* most first; never NULL */
	struct rows *threads;      /* the same by thread */
	bool main_thread;          /* the first of THREADS is the first of its process */
	uint64_t call_ns[GPU_CALL_KINDS]; /* told_ns by the call that the thread was in */
	uint64_t longest_ns;              /* gap of the whole run */
};

/* NULL on error. */
struct gpu_wait *query_gpu_wait(const struct profile *p, const struct query *query,
                                struct error *err);
void gpu_wait_free(struct gpu_wait *wait);

CLEANUP(gpu_wait, struct gpu_wait *, gpu_wait_free)

/* What kind of call CUDA's function NAME is. */
enum gpu_call_kind gpu_call_kind(const char *name);
