// SPDX-License-Identifier: MIT
/*
 * What tensors on the CPU take: PyTorch's allocator tells its reporter of each block, by a call
 * through its library's table, in front of which we stand. What profiled ops are told of is the
 * numbers that torch.profiler has: bytes as they were asked for, not as malloc() rounds them.
 *
 * The reporter is not told how large a block is that goes: torch_blocks.h remembers.
 */
#include "tracer/agent/definition.h"
#include "tracer/agent/op.h"
#include "tracer/agent/torch_blocks.h"
#include "tracer/agent/wrap.h"

#include <malloc.h>

// What has found no room is taken for what malloc() made of it.
static uint64_t forget(void *block)
{
	uint64_t bytes = torch_blocks_take(block);

	return bytes ? bytes : malloc_usable_size(block);
}

static void *next(void **cache, const char *name, const void *caller)
{
	void *known = __atomic_load_n(cache, __ATOMIC_RELAXED);

	if (!known) {
		known = definition_find(name, (uint64_t)(uintptr_t)caller);
		__atomic_store_n(cache, known, __ATOMIC_RELAXED);
	}
	return known;
}

// c10::ProfiledCPUMemoryReporter::New(void *, size_t)
// NOLINTNEXTLINE(bugprone-reserved-identifier)
EXPORT void _ZN3c1025ProfiledCPUMemoryReporter3NewEPvm(void *self, void *block, size_t bytes)
{
	typedef void new (void *self, void *block, size_t bytes);
	static void *cache; // atomic
	new *theirs = (new *)next(&cache, "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm",
	                          __builtin_return_address(0));

	if (block && bytes && op_is_on(OP_TORCH)) {
		torch_blocks_put(block, bytes);
		op_tensors.allocated += bytes;
	}
	if (theirs)
		theirs(self, block, bytes);
}

// c10::ProfiledCPUMemoryReporter::Delete(void *)
// NOLINTNEXTLINE(bugprone-reserved-identifier)
EXPORT void _ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv(void *self, void *block)
{
	typedef void delete (void *self, void *block);
	static void *cache; // atomic
	delete *theirs = (delete *)next(&cache, "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv",
	                                __builtin_return_address(0));

	if (block && op_is_on(OP_TORCH))
		op_tensors.freed += forget(block);
	if (theirs)
		theirs(self, block);
}
