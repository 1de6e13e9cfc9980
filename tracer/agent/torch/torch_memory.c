// SPDX-License-Identifier: MIT
/*
 * What tensors on the CPU take: PyTorch's allocator tells its reporter of each block, by a call
 * through its library's table, in front of which we stand. What profiled ops are told of is the
 * numbers that torch.profiler has: bytes as they were asked for, not as malloc() rounds them.
 *
 * The reporter is not told how large a block is that goes: torch_blocks.h remembers.
 *
 * The allocators of GPUs tell torch.profiler of each block, by a function of c10's that they call
 * whether it is at work or not, in front of which we stand as well: bytes as the allocator rounds
 * them, and what it holds on the device by then, which becomes two counters.
 */
#include "base/op.h"
#include "base/record.h"
#include "base/tensors.h"
#include "tracer/agent/op/definition.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/torch/torch_blocks.h"
#include "tracer/agent/wrap/wrap.h"

#include <malloc.h>
#include <stdio.h>

#define CPU     0 // c10::DeviceType
#define DEVICES 64

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

struct device { // c10::Device
	int8_t type, index;
};

static void tell(struct op_thread *t, uint32_t domain, const char *text, uint64_t bytes,
                 struct op_here here)
{
	struct name name = { .provider = OP_TORCH,
		             .domain = domain,
		             .category = op_name(t, OP_TORCH, 0, OP_COUNTER),
		             .text = text };
	struct op_details value = { .kind = OP_DETAIL_UNSIGNED, .count = 1, .values = &bytes };

	op_mark(t, op_name_in(t, &name), here, &value);
}

// What the allocator has reserved changes seldom.
static bool is_news(struct device device, uint64_t reserved)
{
	static uint64_t known[DEVICES]; // atomic
	uint64_t *place = &known[((uint8_t)device.type * 8u + (uint8_t)device.index) % DEVICES];

	return __atomic_load_n(place, __ATOMIC_RELAXED) != reserved &&
	       __atomic_exchange_n(place, reserved, __ATOMIC_RELAXED) != reserved;
}

static void use(int64_t bytes, uint64_t allocated, uint64_t reserved, struct device device,
                struct op_here here)
{
	char domain[32];

	op_use_devices(bytes > 0 ? (uint64_t)bytes : 0, bytes < 0 ? -(uint64_t)bytes : 0);
	struct op_thread *t = op_enter();
	if (!t)
		return;
	if (device.index < 0)
		snprintf(domain, sizeof(domain), "%s", tensors_device_name((uint8_t)device.type));
	else
		snprintf(domain, sizeof(domain), "%s:%d", tensors_device_name((uint8_t)device.type),
		         device.index);
	uint32_t id = op_name(t, OP_TORCH, 0, domain);
	tell(t, id, OP_TORCH_ALLOCATED, allocated, here);
	if (is_news(device, reserved))
		tell(t, id, OP_TORCH_RESERVED, reserved, here);
	op_leave(t);
}

typedef void report(void *block, int64_t bytes, uint64_t allocated, uint64_t reserved,
                    struct device device);

// c10::reportMemoryUsageToProfiler(void *, int64_t, size_t, size_t, c10::Device), 2.0 and later
// NOLINTNEXTLINE(bugprone-reserved-identifier)
EXPORT void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *block, int64_t bytes,
                                                                  uint64_t allocated,
                                                                  uint64_t reserved,
                                                                  struct device device)
{
	static void *cache; // atomic
	report *theirs =
		(report *)next(&cache, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
	                       __builtin_return_address(0));

	if (device.type != CPU && op_is_on(OP_TORCH))
		use(bytes, allocated, reserved, device, OP_HERE());
	if (theirs)
		theirs(block, bytes, allocated, reserved, device);
}

// The same up to 1.13.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
EXPORT void _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE(void *block, int64_t bytes,
                                                                  uint64_t allocated,
                                                                  uint64_t reserved,
                                                                  struct device device)
{
	static void *cache; // atomic
	report *theirs =
		(report *)next(&cache, "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE",
	                       __builtin_return_address(0));

	if (device.type != CPU && op_is_on(OP_TORCH))
		use(bytes, allocated, reserved, device, OP_HERE());
	if (theirs)
		theirs(block, bytes, allocated, reserved, device);
}
