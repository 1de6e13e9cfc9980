// SPDX-License-Identifier: MIT
// The times of a record from a process whose clock is shifted (a time namespace).
#include "tracer/reader/reader.h"

#include "base/record_gpu.h"

#include <string.h>

// How the records begin that a GPU's doings are told by.
struct gpu_interval {
	struct record head;
	uint64_t begin_ns, end_ns;
};

#define IS_INTERVAL(type)                                                                          \
	_Static_assert(                                                                            \
		offsetof(struct type, begin_ns) == offsetof(struct gpu_interval, begin_ns) &&      \
			offsetof(struct type, end_ns) == offsetof(struct gpu_interval, end_ns),    \
		#type)
IS_INTERVAL(record_gpu_kernel);
IS_INTERVAL(record_gpu_copy);
IS_INTERVAL(record_gpu_set);
IS_INTERVAL(record_gpu_sync);
IS_INTERVAL(record_gpu_graph);
IS_INTERVAL(record_gpu_jit);
IS_INTERVAL(record_gpu_overhead);
IS_INTERVAL(record_gpu_launch);
IS_INTERVAL(record_gpu_gap);
IS_INTERVAL(record_gpu_managed);
_Static_assert(offsetof(struct record_gpu_memory, at_ns) == offsetof(struct record_gpu_pool, at_ns),
               "one instant");

// 0 is no time.
static void shift(uint64_t *time_ns, int64_t by_ns)
{
	if (*time_ns)
		*time_ns += (uint64_t)by_ns;
}

static void shift_wait(struct record_wait *wait, int64_t by_ns)
{
	struct wait_part *parts = (struct wait_part *)(wait + 1);

	shift(&wait->begin_ns, by_ns);
	for (uint32_t i = 0; i < wait->count; i++)
		shift(&parts[i].until_ns, by_ns);
}

void record_shift(struct record *record, int64_t by_ns)
{
	if (!by_ns)
		return;
	record->time_ns += (uint64_t)by_ns;
	switch (record->type) {
	case RECORD_OP_END:
		shift(&((struct record_op_end *)record)->begin_ns, by_ns);
		break;
	case RECORD_WAIT:
		shift_wait((struct record_wait *)record, by_ns);
		break;
	case RECORD_GPU_KERNEL:
	case RECORD_GPU_COPY:
	case RECORD_GPU_SET:
	case RECORD_GPU_SYNC:
	case RECORD_GPU_GRAPH:
	case RECORD_GPU_JIT:
	case RECORD_GPU_OVERHEAD:
	case RECORD_GPU_LAUNCH:
	case RECORD_GPU_GAP:
	case RECORD_GPU_MANAGED:
		shift(&((struct gpu_interval *)record)->begin_ns, by_ns);
		shift(&((struct gpu_interval *)record)->end_ns, by_ns);
		break;
	case RECORD_GPU_MEMORY:
	case RECORD_GPU_POOL:
		shift(&((struct record_gpu_memory *)record)->at_ns, by_ns);
		break;
	default:
		break;
	}
}
