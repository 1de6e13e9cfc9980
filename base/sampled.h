/* SPDX-License-Identifier: MIT */
/*
 * What the sampler finds out about a run, in one type: it goes from the sampler through whoever
 * records it (merge/record) into the profile.
 *
 * All pointers are borrowed, and valid during the call that hands a struct sampled on.
 */
#pragma once

#include "base/await.h"
#include "base/gpu_event.h"
#include "base/gpu_pc_event.h"
#include "base/stack.h"

#include <stdbool.h>
#include <stdint.h>

enum sampled_kind {
	SAMPLED_PROCESS,
	SAMPLED_PROCESS_END,
	SAMPLED_THREAD,
	SAMPLED_THREAD_END,
	SAMPLED_STACK,
	SAMPLED_SPAN,
	SAMPLED_PEERS,
	SAMPLED_SIGNAL,
	SAMPLED_OP_BEGIN, /* only that an op has begun; at its end the whole op comes */
	SAMPLED_OP,
	SAMPLED_OP_COUNT,
	SAMPLED_ALLOC,
	SAMPLED_FREE,
	SAMPLED_MEMORY,
	SAMPLED_PYTHON_NAME,
	SAMPLED_PYTHON_CALLS,
	SAMPLED_PYTHON_AWAIT,
	SAMPLED_GOROUTINES,
	SAMPLED_PATCH,
	SAMPLED_GPU_SITE,
	SAMPLED_GPU,
	SAMPLED_GPU_PC,
	SAMPLED_GPU_PC_SUM,
	SAMPLED_WAIT
};

enum goroutine_state {
	GOROUTINE_RUNNING,
	GOROUTINE_RUNNABLE, /* wants a CPU, or a P of the scheduler, and has none */
	GOROUTINE_WAITING,
	GOROUTINE_IN_CALL /* a system call, or a call of C */
};

/* A part of a wait, up to UNTIL_NS; see struct wait_part, base/record.h. */
struct wait_share {
	uint64_t until_ns;
	uint32_t thread; /* number; 0: unknown */
	uint32_t how;    /* enum held_how */
};

/*
 * THREAD has waited for others, as its agent tells. What is left behind the last part is the time
 * that it took to run again.
 */
struct wait_event {
	uint32_t thread;
	uint64_t begin_ns, end_ns;
	uint64_t address;     /* in MODULE, if that is known */
	uint32_t module;      /* whose data it is; 0: of none */
	struct frame made;    /* the call that initialized it; module 0: not known */
	uint32_t kind, flags; /* enum held_kind, enum held_flags */
	uint64_t object;      /* of HELD_SEMAPHORE: the same for all who wait for it; else 0 */
	bool gil;             /* ADDRESS is that of the lock of Python's interpreter */
	uint64_t step_ns;     /* after so long THREAD was woken in any case; 0: it was not */
	uint32_t count;
	const struct wait_share *parts; /* in the order of time */
};

/* Goroutines that were seen doing the same at the same place, by estimate. */
struct goroutines_event {
	uint32_t process; /* number */
	uint64_t pass;    /* one look at all that run: rises */
	uint64_t time_ns; /* when that was */
	uint64_t count;   /* of goroutines */
	uint64_t ns; /* that they stand for: COUNT times what has gone by since the last look */
	enum goroutine_state state;
	const char *reason;   /* the runtime's, of GOROUTINE_WAITING: "chan receive"; "": unknown */
	struct frame start;   /* the function that they began in */
	uint32_t frame_count; /* 0: not known */
	const struct frame *frames; /* innermost first */
};

struct sampled {
	enum sampled_kind kind;
	union {
		const struct process_event *process;
		const struct thread_event *thread;
		const struct thread_end *thread_end;
		const struct stack *stack;
		const struct span_event *span;
		const struct peers_event *peers;
		const struct signal_event *signal;
		const struct op_event *op;
		const struct op_count_event *op_count;
		const struct alloc_event *alloc;
		const struct free_event *freed;
		const struct memory_event *memory;
		const struct python_name_event *python_name;
		const struct python_calls_event *python_calls;
		const struct python_await_event *python_await;
		const struct goroutines_event *goroutines;
		const struct patch_event *patch;
		const struct gpu_site_event *gpu_site;
		const struct gpu_event *gpu;
		const struct gpu_pc_event *gpu_pc;
		const struct gpu_pc_sum_event *gpu_pc_sum;
		const struct wait_event *wait;
		struct {
			uint32_t number; /* of a process (SAMPLED_PROCESS_END), or an op's id */
			uint64_t time_ns;
			uint32_t thread; /* of an op */
		} at;
	};
};
