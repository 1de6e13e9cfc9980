/* SPDX-License-Identifier: MIT */
/*
 * What the sampler finds out about a run, in one type: it goes from the sampler through whoever
 * records it (merge/record) into the profile.
 *
 * All pointers are borrowed, and valid during the call that hands a struct sampled on.
 */
#pragma once

#include "base/gpu_event.h"
#include "base/gpu_pc_event.h"
#include "base/stack.h"

#include <stdint.h>

enum sampled_kind {
	SAMPLED_PROCESS,
	SAMPLED_PROCESS_END,
	SAMPLED_THREAD,
	SAMPLED_THREAD_END,
	SAMPLED_STACK,
	SAMPLED_OP_BEGIN, /* only that an op has begun; at its end the whole op comes */
	SAMPLED_OP,
	SAMPLED_OP_COUNT,
	SAMPLED_ALLOC,
	SAMPLED_FREE,
	SAMPLED_MEMORY,
	SAMPLED_PYTHON_NAME,
	SAMPLED_PYTHON_CALLS,
	SAMPLED_PATCH,
	SAMPLED_GPU_SITE,
	SAMPLED_GPU,
	SAMPLED_GPU_PC,
	SAMPLED_GPU_PC_SUM
};

struct sampled {
	enum sampled_kind kind;
	union {
		const struct process_event *process;
		const struct thread_event *thread;
		const struct thread_end *thread_end;
		const struct stack *stack;
		const struct op_event *op;
		const struct op_count_event *op_count;
		const struct alloc_event *alloc;
		const struct free_event *freed;
		const struct memory_event *memory;
		const struct python_name_event *python_name;
		const struct python_calls_event *python_calls;
		const struct patch_event *patch;
		const struct gpu_site_event *gpu_site;
		const struct gpu_event *gpu;
		const struct gpu_pc_event *gpu_pc;
		const struct gpu_pc_sum_event *gpu_pc_sum;
		struct {
			uint32_t number; /* of a process (SAMPLED_PROCESS_END), or an op's id */
			uint64_t time_ns;
		} at;
	};
};
