// SPDX-License-Identifier: MIT
#include "merge/query/gpu_occupancy.h"

#define REGISTER_UNIT 256u // registers of a warp
#define SHARED_UNIT   128u // bytes of a block
#define SYSTEM_SHARED 1024u

static uint32_t round_up(uint32_t value, uint32_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static void take_least(uint32_t *blocks, enum gpu_limit *limit, uint32_t most, enum gpu_limit by)
{
	if (most >= *blocks)
		return;
	*blocks = most;
	*limit = by;
}

static uint64_t grid_of(const struct gpu_shape *shape)
{
	return (uint64_t)shape->grid[0] * shape->grid[1] * shape->grid[2];
}

static uint32_t warps_of(const struct gpu_device *device, const struct gpu_shape *shape)
{
	uint64_t threads = (uint64_t)shape->block[0] * shape->block[1] * shape->block[2];

	if (!threads || threads > 1024 || !device->max_warps || !device->warp_threads)
		return 0;
	return (uint32_t)(threads + device->warp_threads - 1) / device->warp_threads;
}

// Blocks of WARPS that a multiprocessor has room for, and for want of what no more.
static uint32_t room_of(const struct gpu_device *device, const struct gpu_shape *shape,
                        uint32_t warps, enum gpu_limit *limit)
{
	uint32_t blocks = device->max_warps / warps;
	uint32_t registers =
		round_up(shape->registers * device->warp_threads, REGISTER_UNIT) * warps;
	uint32_t shared = round_up(shape->static_shared + shape->dynamic_shared +
	                                   (device->compute_major >= 8 ? SYSTEM_SHARED : 0),
	                           SHARED_UNIT);

	*limit = GPU_LIMIT_WARPS;
	if (device->max_blocks)
		take_least(&blocks, limit, device->max_blocks, GPU_LIMIT_BLOCKS);
	if (device->max_registers && registers)
		take_least(&blocks, limit, device->max_registers / registers, GPU_LIMIT_REGISTERS);
	if (device->max_shared && shared)
		take_least(&blocks, limit, device->max_shared / shared, GPU_LIMIT_SHARED);
	return blocks;
}

double gpu_occupancy(const struct gpu_device *device, const struct gpu_shape *shape,
                     enum gpu_limit *limit)
{
	uint64_t grid = grid_of(shape);
	uint32_t warps = warps_of(device, shape);

	*limit = GPU_LIMIT_UNKNOWN;
	if (!warps)
		return 0;
	uint32_t blocks = room_of(device, shape, warps, limit);
	if (device->multiprocessors && grid) {
		uint64_t each = (grid + device->multiprocessors - 1) / device->multiprocessors;
		if (each < blocks)
			take_least(&blocks, limit, (uint32_t)each, GPU_LIMIT_GRID);
	}
	return (double)(blocks * warps) / device->max_warps;
}

double gpu_at_work(const struct gpu_device *device, const struct gpu_shape *shape)
{
	uint64_t grid = grid_of(shape);
	uint32_t warps = warps_of(device, shape);
	enum gpu_limit limit;

	if (!warps || !grid || !device->multiprocessors)
		return 0;
	uint64_t room = (uint64_t)room_of(device, shape, warps, &limit) * device->multiprocessors;
	if (!room)
		return 0;
	uint64_t whole = grid / room, rest = grid % room;
	double last = (double)rest / device->multiprocessors;
	return ((double)whole + (last < 1 ? last : 1)) / (double)(whole + (rest > 0));
}
