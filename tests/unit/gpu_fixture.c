// SPDX-License-Identifier: MIT
#include "tests/unit/gpu_fixture.h"

static uint32_t correlation, sites;

static uint32_t gpu_op(const char *name)
{
	const struct op wanted = { .provider = OP_GPU, .domain = "", .category = "", .name = name };

	return ops_add(f.ops, &wanted)->id;
}

uint32_t site(uint32_t thread, const char *stack)
{
	struct frame frames[64];
	struct gpu_site_event event = { .site = ++sites,
		                        .thread = thread,
		                        .time_ns = f.now_ns,
		                        .count = frames_of(&f, stack, frames),
		                        .frames = frames };

	profile_add_gpu_site(f.profile, &event);
	return event.site;
}

void tell(const struct record *record, uint32_t op, uint32_t from)
{
	const struct gpu_event event = {
		.process = 1, .op = op, .record = record, .call = { from, from ? 1 : 0, f.now_ns }
	};

	profile_add_gpu(f.profile, &event);
}

void kernel_ns(const char *name, uint64_t begin_ns, uint64_t end_ns, uint32_t stream, uint32_t from)
{
	const struct record_gpu_kernel record = {
		.head = { .type = RECORD_GPU_KERNEL, .time_ns = f.now_ns + end_ns },
		.begin_ns = f.now_ns + begin_ns,
		.end_ns = f.now_ns + end_ns,
		.place = { ++correlation, 0, 1, stream },
		.grid = { 8, 1, 1 },
		.block = { 256, 1, 1 },
		.registers = 32,
	};

	tell(&record.head, gpu_op(name), from);
}

void kernel(const char *name, uint64_t begin_ms, uint64_t end_ms, uint32_t stream, uint32_t from)
{
	kernel_ns(name, begin_ms * MS, end_ms * MS, stream, from);
}

void copy(uint64_t begin_ms, uint64_t end_ms, uint64_t bytes)
{
	const struct record_gpu_copy record = {
		.head = { .type = RECORD_GPU_COPY, .time_ns = f.now_ns + end_ms * MS },
		.begin_ns = f.now_ns + begin_ms * MS,
		.end_ns = f.now_ns + end_ms * MS,
		.place = { ++correlation, 0, 1, 7 },
		.bytes = bytes,
		.kind = GPU_COPY_HOST_TO_DEVICE,
		.from = GPU_MEMORY_PAGEABLE,
		.to = GPU_MEMORY_DEVICE,
	};

	tell(&record.head, gpu_op("copy pageable to device"), 0);
}

void device(void)
{
	struct {
		struct record_gpu_device record;
		char name[16];
	} told = { .record = { .head = { .type = RECORD_GPU_DEVICE },
		               .memory_bytes = UINT64_C(80) << 30,
		               .multiprocessors = 4,
		               .warp_threads = 32,
		               .max_warps = 64,
		               .max_blocks = 32,
		               .max_shared = 233472,
		               .max_registers = 65536,
		               .compute_major = 9,
		               .uuid = { 1, 2, 3 } },
		   .name = "H100" };

	tell(&told.record.head, 0, 0);
}
