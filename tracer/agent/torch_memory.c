// SPDX-License-Identifier: MIT
/*
 * What tensors on the CPU take: PyTorch's allocator tells its reporter of each block, by a call
 * through its library's table, in front of which we stand. What profiled ops are told of is the
 * numbers that torch.profiler has: bytes as they were asked for, not as malloc() rounds them.
 *
 * The reporter is not told how large a block is that goes: that is remembered here, each block
 * in one of the few places that its address allows. Nobody else uses the address meanwhile, so
 * that nobody has to wait.
 */
#include "tracer/agent/definition.h"
#include "tracer/agent/op.h"
#include "tracer/agent/wrap.h"

#include <malloc.h>

#define BUCKETS 65536 // a power of two
#define PLACES  4

// Blocks that lie beside each other are remembered beside each other: what a program allocates
// again and again stays in the cache. They begin at multiples of 64.
struct bucket {
	uint64_t addresses[PLACES]; // atomic; 0: free
	uint64_t bytes[PLACES];
};
static struct bucket buckets[BUCKETS] __attribute__((aligned(64)));

static struct bucket *bucket_of(const void *block)
{
	uint64_t address = (uint64_t)(uintptr_t)block >> 6;

	return &buckets[(address ^ address >> 16 ^ address >> 32) % BUCKETS];
}

static void remember(const void *block, uint64_t bytes)
{
	struct bucket *b = bucket_of(block);

	for (unsigned i = 0; i < PLACES; i++) {
		uint64_t none = 0;
		if (__atomic_load_n(&b->addresses[i], __ATOMIC_RELAXED) ||
		    !__atomic_compare_exchange_n(&b->addresses[i], &none,
		                                 (uint64_t)(uintptr_t)block, false,
		                                 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		b->bytes[i] = bytes;
		return;
	}
}

// What found no place is taken for what malloc() made of it.
static uint64_t forget(void *block)
{
	struct bucket *b = bucket_of(block);

	for (unsigned i = 0; i < PLACES; i++) {
		if (__atomic_load_n(&b->addresses[i], __ATOMIC_RELAXED) !=
		    (uint64_t)(uintptr_t)block)
			continue;
		uint64_t bytes = b->bytes[i];
		__atomic_store_n(&b->addresses[i], 0, __ATOMIC_RELEASE);
		return bytes;
	}
	return malloc_usable_size(block);
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
		remember(block, bytes);
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
