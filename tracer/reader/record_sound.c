// SPDX-License-Identifier: MIT
// What a record must have to be looked at: its sizes fit, and its texts end.
#include "tracer/reader/reader.h"

#include "base/await.h"
#include "base/device_bytes.h"
#include "base/record_gpu.h"

#include <string.h>

static bool text_ends(const struct record *record, size_t offset)
{
	return record->size > offset &&
	       memchr((const char *)record + offset, '\0', record->size - offset);
}

// Behind USED of the ROOM bytes at TAIL.
static bool chain_is_sound(const void *tail, uint64_t used, uint64_t room)
{
	uint64_t at = record_align(used);
	const struct python_chain *chain = (const struct python_chain *)((const char *)tail + at);

	if (at + sizeof(*chain) > room)
		return false;
	return (uint64_t)chain->count * sizeof(*chain->frames) <= room - at - sizeof(*chain);
}

static bool sample_is_sound(const struct record_sample *sample)
{
	if (sample->head.size < sizeof(*sample))
		return false;
	uint64_t room = sample->head.size - sizeof(*sample);
	uint64_t used = (uint64_t)sample->kernel_count * 8 + sample->stack_bytes;
	if (used > room)
		return false;
	return !(sample->head.flags & SAMPLE_PYTHON) || chain_is_sound(sample + 1, used, room);
}

static bool code_is_sound(const struct record_python_code *code)
{
	if (code->head.size < sizeof(*code))
		return false;
	return (uint64_t)code->file_bytes + code->name_bytes + code->table_bytes <=
	       code->head.size - sizeof(*code);
}

static bool patch_is_sound(const struct record_patch *patch)
{
	if (patch->head.size < sizeof(*patch) || patch->reason >= PATCH_REASONS)
		return false;
	return text_ends(&patch->head,
	                 sizeof(*patch) + patch->row_count * sizeof(struct patch_row));
}

// Each text fills its place, and so ends in it.
static bool calls_are_sound(const struct record_python_calls *record)
{
	if (record->head.size < sizeof(*record))
		return false;
	const char *names = (const char *)(record + 1);
	size_t first = record->name_bytes, second = record->caller_bytes;
	if (first + second > record->head.size - sizeof(*record))
		return false;
	return (!first || !names[first - 1]) && (!second || !names[first + second - 1]) &&
	       record->recursive <= record->calls;
}

static bool await_is_sound(const struct record_python_await *await)
{
	struct await_told places[AWAIT_PLACES_MAX];

	return await->head.size >= sizeof(*await) && await->kind >= 1 &&
	       await->kind < AWAIT_KINDS && await->count <= INT64_MAX && await->ns <= INT64_MAX &&
	       await->longest_ns <= INT64_MAX &&
	       await_read_places(await + 1, await->head.size - sizeof(*await), await->place_count,
	                         places);
}

static bool callers_are_sound(const struct record_python_chain *record)
{
	const struct python_chain *chain = (const struct python_chain *)(record + 1);
	uint64_t room = record->head.size - sizeof(*record);

	return record->head.size >= sizeof(*record) && chain_is_sound(chain, 0, room) &&
	       record->module_count * sizeof(struct torch_call) <= room - python_bytes(chain);
}

static bool begin_is_sound(const struct record_op_begin *begin)
{
	return begin->head.size >= sizeof(*begin) &&
	       begin->detail_count * sizeof(uint64_t) <= begin->head.size - sizeof(*begin);
}

static bool end_is_sound(const struct record_op_end *end)
{
	bool devices = end->head.size >= sizeof(*end) && end->head.flags & OP_ON_DEVICES;

	return end->head.size >= sizeof(*end) + (devices ? sizeof(struct op_device_bytes) : 0);
}

static bool site_is_sound(const struct record_op_site *site)
{
	return site->head.size >= sizeof(*site) &&
	       site->stack_bytes <= site->head.size - sizeof(*site);
}

static bool alloc_is_sound(const struct record_alloc *alloc)
{
	if (alloc->head.size < sizeof(*alloc))
		return false;
	uint64_t room = alloc->head.size - sizeof(*alloc);
	return alloc->stack_bytes <= room && (!(alloc->head.flags & ALLOC_PYTHON) ||
	                                      chain_is_sound(alloc + 1, alloc->stack_bytes, room));
}

static bool wait_is_sound(const struct record_wait *wait)
{
	return wait->head.size >= sizeof(*wait) &&
	       wait->count <= (wait->head.size - sizeof(*wait)) / sizeof(struct wait_part);
}

static size_t gpu_bytes(uint16_t type)
{
	static const uint8_t sizes[RECORD_GPU_LAST - RECORD_GPU_KERNEL + 1] = {
		[RECORD_GPU_KERNEL - RECORD_GPU_KERNEL] = sizeof(struct record_gpu_kernel),
		[RECORD_GPU_COPY - RECORD_GPU_KERNEL] = sizeof(struct record_gpu_copy),
		[RECORD_GPU_SET - RECORD_GPU_KERNEL] = sizeof(struct record_gpu_set),
		[RECORD_GPU_SYNC - RECORD_GPU_KERNEL] = sizeof(struct record_gpu_sync),
		[RECORD_GPU_MEMORY - RECORD_GPU_KERNEL] = sizeof(struct record_gpu_memory),
		[RECORD_GPU_POOL - RECORD_GPU_KERNEL] = sizeof(struct record_gpu_pool),
		[RECORD_GPU_GRAPH - RECORD_GPU_KERNEL] = sizeof(struct record_gpu_graph),
		[RECORD_GPU_JIT - RECORD_GPU_KERNEL] = sizeof(struct record_gpu_jit),
		[RECORD_GPU_OVERHEAD - RECORD_GPU_KERNEL] = sizeof(struct record_gpu_overhead),
		[RECORD_GPU_LAUNCH - RECORD_GPU_KERNEL] = sizeof(struct record_gpu_launch),
		[RECORD_GPU_DEVICE - RECORD_GPU_KERNEL] = sizeof(struct record_gpu_device),
		[RECORD_GPU_CONTEXT - RECORD_GPU_KERNEL] = sizeof(struct record_gpu_context),
		[RECORD_GPU_STREAM - RECORD_GPU_KERNEL] = sizeof(struct record_gpu_stream),
		[RECORD_GPU_LOST - RECORD_GPU_KERNEL] = sizeof(struct record_gpu_lost),
		[RECORD_GPU_GAP - RECORD_GPU_KERNEL] = sizeof(struct record_gpu_gap),
		[RECORD_GPU_PC - RECORD_GPU_KERNEL] = sizeof(struct record_gpu_pc),
		[RECORD_GPU_PC_SUM - RECORD_GPU_KERNEL] = sizeof(struct record_gpu_pc_sum),
		[RECORD_GPU_STALL - RECORD_GPU_KERNEL] = sizeof(struct record_gpu_stall),
		[RECORD_GPU_MANAGED - RECORD_GPU_KERNEL] = sizeof(struct record_gpu_managed),
	};

	return sizes[type - RECORD_GPU_KERNEL];
}

static bool gpu_is_sound(const struct record *record)
{
	if (record->size < gpu_bytes(record->type))
		return false;
	if (record->type == RECORD_GPU_PC)
		return ((const struct record_gpu_pc *)record)->stall_count <=
		       (record->size - sizeof(struct record_gpu_pc)) / sizeof(struct gpu_stall);
	return record->type != RECORD_GPU_DEVICE ||
	       text_ends(record, sizeof(struct record_gpu_device));
}

// OP_NAME and OP_COUNT are made by the reader itself; in a ring they are somebody else's.
bool record_is_sound(const struct record *record)
{
	switch (record->type) {
	case RECORD_SAMPLE:
		return sample_is_sound((const struct record_sample *)record);
	case RECORD_MAP:
		return record->size >= sizeof(struct record_map) &&
		       ((const struct record_map *)record)->build_id_size <= 32 &&
		       text_ends(record, sizeof(struct record_map));
	case RECORD_EXEC:
	case RECORD_THREAD:
		return text_ends(record, sizeof(struct record_name));
	case RECORD_FORK:
		return record->size >= sizeof(struct record_fork);
	case RECORD_OP_NAME:
	case RECORD_OP_COUNT:
		return false;
	case RECORD_UNMAP:
		return record->size >= sizeof(struct record_unmap);
	case RECORD_LOST:
		return record->size >= sizeof(struct record_lost);
	case RECORD_OP_BEGIN:
	case RECORD_OP_MARK:
		return begin_is_sound((const struct record_op_begin *)record);
	case RECORD_OP_END:
		return end_is_sound((const struct record_op_end *)record);
	case RECORD_OP_SITE:
		return site_is_sound((const struct record_op_site *)record);
	case RECORD_ALLOC:
		return alloc_is_sound((const struct record_alloc *)record);
	case RECORD_FREE:
		return record->size >= sizeof(struct record_free);
	case RECORD_MEMORY:
		return record->size >= sizeof(struct record_memory);
	case RECORD_BIRTH:
		return record->size >= sizeof(struct record_birth);
	case RECORD_RAN:
		return record->size >= sizeof(struct record_ran);
	case RECORD_WAIT:
		return wait_is_sound((const struct record_wait *)record);
	case RECORD_PATCH:
		return patch_is_sound((const struct record_patch *)record);
	case RECORD_PYTHON:
		return record->size >= sizeof(struct record_python);
	case RECORD_PYTHON_NAME:
		return text_ends(record, sizeof(struct record_python_name));
	case RECORD_PYTHON_CALLS:
		return calls_are_sound((const struct record_python_calls *)record);
	case RECORD_PYTHON_AWAIT:
		return await_is_sound((const struct record_python_await *)record);
	case RECORD_PYTHON_CHAIN:
		return callers_are_sound((const struct record_python_chain *)record);
	case RECORD_TORCH_MODULE:
		return text_ends(record, sizeof(struct record_torch_module));
	case RECORD_PYTHON_CODE:
		return code_is_sound((const struct record_python_code *)record);
	case RECORD_GPU_KERNEL ... RECORD_GPU_LAST:
		return gpu_is_sound(record);
	case RECORD_NOTE:
		return record->size >= sizeof(struct record_note) &&
		       text_ends(record, sizeof(struct record_note));
	default:
		return record->size >= sizeof(*record);
	}
}
