// SPDX-License-Identifier: MIT
#include "base/gpu_event.h"

#include <stddef.h>

// All that run begin alike.
struct work {
	struct record head;
	uint64_t begin_ns, end_ns;
	struct gpu_place place;
};

#define IS_WORK(type)                                                                              \
	_Static_assert(offsetof(type, begin_ns) == offsetof(struct work, begin_ns) &&              \
	                       offsetof(type, end_ns) == offsetof(struct work, end_ns) &&          \
	                       offsetof(type, place) == offsetof(struct work, place),              \
	               #type)
IS_WORK(struct record_gpu_kernel);
IS_WORK(struct record_gpu_copy);
IS_WORK(struct record_gpu_set);
IS_WORK(struct record_gpu_graph);
IS_WORK(struct record_gpu_sync);
IS_WORK(struct record_gpu_jit);

// What is at a moment, likewise.
struct moment {
	struct record head;
	uint64_t at_ns;
	struct gpu_place place;
};

_Static_assert(offsetof(struct record_gpu_memory, place) == offsetof(struct moment, place), "");
_Static_assert(offsetof(struct record_gpu_pool, place) == offsetof(struct moment, place), "");

bool gpu_record_work(const struct record *record, struct gpu_place *place, uint64_t *begin_ns,
                     uint64_t *end_ns)
{
	const struct work *work = (const struct work *)record;

	switch (record->type) {
	case RECORD_GPU_KERNEL:
	case RECORD_GPU_COPY:
	case RECORD_GPU_SET:
	case RECORD_GPU_GRAPH:
		*place = work->place;
		*begin_ns = work->begin_ns;
		*end_ns = work->end_ns;
		return true;
	default:
		return false;
	}
}

uint32_t gpu_record_correlation(const struct record *record)
{
	switch (record->type) {
	case RECORD_GPU_KERNEL:
	case RECORD_GPU_COPY:
	case RECORD_GPU_SET:
	case RECORD_GPU_GRAPH:
	case RECORD_GPU_SYNC:
	case RECORD_GPU_JIT:
		return ((const struct work *)record)->place.correlation;
	case RECORD_GPU_MEMORY:
	case RECORD_GPU_POOL:
		return ((const struct moment *)record)->place.correlation;
	case RECORD_GPU_LAUNCH:
		return ((const struct record_gpu_launch *)record)->correlation;
	default:
		return 0;
	}
}
