// SPDX-License-Identifier: MIT
#include "tests/gpu/record_kinds.h"

#include "tracer/agent/cupti/cupti_abi.h"

// clang-format off
static const struct record_kind kinds[] = {
	{ CUPTI_KIND_MEMCPY, offsetof(struct cupti_copy, begin_ns), 2, 0,
	  { { 1208, 96 }, { 1106, 88 }, { 1101, 80 }, { 1100, 72 } } },
	{ CUPTI_KIND_MEMSET, offsetof(struct cupti_set, begin_ns), 2, 0,
	  { { 1106, 88 }, { 1101, 80 }, { 1100, 72 } } },
	{ CUPTI_KIND_KERNEL, offsetof(struct cupti_kernel, begin_ns), 3,
	  offsetof(struct cupti_kernel, name),
	  { { 1300, 216 }, { 1200, 208 }, { 1108, 200 }, { 1106, 176 }, { 1102, 168 }, { 1100, 160 } } },
	{ CUPTI_KIND_DRIVER, offsetof(struct cupti_api, begin_ns), 2, 0, { { 1100, 40 } } },
	{ CUPTI_KIND_RUNTIME, offsetof(struct cupti_api, begin_ns), 2, 0, { { 1100, 40 } } },
	{ CUPTI_KIND_DEVICE, 0, 0, offsetof(struct cupti_device, name),
	  { { 1204, 184 }, { 1100, 176 } } },
	{ CUPTI_KIND_CONTEXT, 0, 0, 0, { { 1206, 32 }, { 1204, 24 }, { 1100, 16 } } },
	{ CUPTI_KIND_CONCURRENT_KERNEL, offsetof(struct cupti_kernel, begin_ns), 3,
	  offsetof(struct cupti_kernel, name),
	  { { 1300, 216 }, { 1200, 208 }, { 1108, 200 }, { 1106, 176 }, { 1102, 168 }, { 1100, 160 } } },
	{ CUPTI_KIND_OVERHEAD, offsetof(struct cupti_overhead, begin_ns), 2, 0,
	  { { 1204, 56 }, { 1202, 48 }, { 1100, 40 } } },
	{ CUPTI_KIND_PEER_MEMCPY, offsetof(struct cupti_peer_copy, begin_ns), 2, 0,
	  { { 1106, 96 }, { 1101, 88 }, { 1100, 80 } } },
	{ CUPTI_KIND_MANAGED, offsetof(struct cupti_managed, begin_ns), 2, 0,
	  { { 1208, 104 }, { 1100, 64 } } },
	{ CUPTI_KIND_STREAM, 0, 0, 0, { { 1100, 24 } } },
	{ CUPTI_KIND_SYNCHRONIZATION, offsetof(struct cupti_sync, begin_ns), 2, 0,
	  { { 1208, 56 }, { 1100, 40 } } },
	{ CUPTI_KIND_INTERNAL_LAUNCH, offsetof(struct cupti_api, begin_ns), 2, 0, { { 1100, 40 } } },
	{ CUPTI_KIND_MEMORY, offsetof(struct cupti_memory, time_ns), 1,
	  offsetof(struct cupti_memory, name),
	  { { 1206, 128 }, { 1104, 120 }, { 1102, 112 } } },
	{ CUPTI_KIND_MEMORY_POOL, offsetof(struct cupti_pool, time_ns), 1, 0,
	  { { 1300, 80 }, { 1104, 72 }, { 1102, 64 } } },
	{ CUPTI_KIND_GRAPH_TRACE, offsetof(struct cupti_graph, begin_ns), 2, 0,
	  { { 1203, 56 }, { 1107, 48 } } },
	{ CUPTI_KIND_JIT, offsetof(struct cupti_jit, begin_ns), 2, 0,
	  { { 1204, 72 }, { 1200, 64 } } },
};
// clang-format on

const struct record_kind *record_kind(uint32_t kind)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].kind == kind)
			return &kinds[i];
	return NULL;
}

size_t record_bytes(uint32_t kind, uint32_t cuda)
{
	const struct record_kind *known = record_kind(kind);

	for (size_t i = 0; known && known->sizes[i].cuda; i++)
		if (cuda >= known->sizes[i].cuda)
			return known->sizes[i].bytes;
	return 0;
}
