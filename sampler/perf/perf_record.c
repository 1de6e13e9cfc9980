// SPDX-License-Identifier: MIT
#include "sampler/perf/perf_record.h"

#include "base/bytes.h"
#include "sampler/perf/perf_wakeup.h"

#include <string.h>

// sample_id_all appends these to every record that is not a sample: pid and tid, time,
// identifier. The order is the kernel's (perf_event_open(2), struct sample_id).
#define TRAILER_BYTES 24

// A sample begins with its identifier, then pid and tid, then its time.
#define SAMPLE_TIME_OFFSET (sizeof(struct perf_event_header) + 16)

static const char *take_text(struct cursor *b)
{
	const char *text = cursor_string(b);

	return text ? text : "";
}

size_t perf_record_time_offset(const struct perf_event_header *header)
{
	size_t fixed = header->type == PERF_RECORD_SAMPLE ? SAMPLE_TIME_OFFSET + 8
	                                                  : sizeof(*header) + TRAILER_BYTES;

	if (header->size < fixed)
		return 0;
	return header->type == PERF_RECORD_SAMPLE ? SAMPLE_TIME_OFFSET : header->size - 16u;
}

// perf's order of registers (asm/perf_regs.h) in DWARF numbers.
static const uint8_t dwarf_register[DWARF_REGISTERS] = {
	DWARF_RAX, DWARF_RBX, DWARF_RCX, DWARF_RDX, DWARF_RSI, DWARF_RDI,
	DWARF_RBP, DWARF_RSP, DWARF_RIP, DWARF_R8,  DWARF_R9,  DWARF_R10,
	DWARF_R11, DWARF_R12, DWARF_R13, DWARF_R14, DWARF_R15,
};

static bool is_context_mark(uint64_t address)
{
	return address >= (uint64_t)PERF_CONTEXT_MAX;
}

// The chain is [mark, kernel addresses, other marks and theirs]: the slice behind the first
// mark, up to the next, can be used where it lies.
static void take_kernel_chain(struct cursor *b, struct event_sample *sample)
{
	uint64_t count = cursor_u64(b);
	const uint8_t *chain = count <= UINT16_MAX ? cursor_take(b, count * 8) : NULL;
	if (!chain) {
		b->bad = true;
		return;
	}

	uint64_t first = 0, end, address = 0;
	while (first < count && memcpy(&address, chain + first * 8, 8) && is_context_mark(address))
		first++;
	for (end = first; end < count; end++) {
		memcpy(&address, chain + end * 8, 8);
		if (is_context_mark(address))
			break;
	}
	sample->kernel = (const uint64_t *)(const void *)(chain + first * 8);
	sample->kernel_count = (uint32_t)(end - first);
}

static void take_user(struct cursor *b, struct event_sample *sample)
{
	uint64_t abi = cursor_u64(b);
	if (abi != PERF_SAMPLE_REGS_ABI_NONE)
		for (size_t i = 0; i < DWARF_REGISTERS; i++)
			sample->regs[dwarf_register[i]] = cursor_u64(b);

	uint64_t room = cursor_u64(b);
	sample->stack = cursor_take(b, room);
	uint64_t used = room ? cursor_u64(b) : 0;
	if (used > room)
		b->bad = true;
	sample->stack_bytes = (uint32_t)used;
	// Registers of a 32-bit program lead into code that we have no rules for. In the kernel
	// without a byte of stack: an exit or an exec has already taken the memory away, and what
	// is at that address by the time we look belongs to somebody else.
	sample->has_user =
		!b->bad && abi == PERF_SAMPLE_REGS_ABI_64 && (used || !sample->kernel_count);
	sample->has_rbp = sample->has_user;
}

static enum perf_verdict decode_wakeup(const struct perf_wakeup_format *format, struct cursor *b,
                                       struct event *out)
{
	cursor_u64(b); // identifier
	out->type = RECORD_WAKING;
	out->pid = cursor_u32(b);
	out->tid = cursor_u32(b);
	out->time_ns = cursor_u64(b);
	uint32_t size = cursor_u32(b);
	const uint8_t *raw = cursor_take(b, size);
	if (!raw || b->bad)
		return PERF_RECORD_DAMAGED;
	// The format may be another kernel's: that is no reason to see nothing more.
	return perf_wakeup_read(format, raw, size, &out->waking) ? PERF_RECORD_EVENT
	                                                         : PERF_RECORD_SKIP;
}

static enum perf_verdict decode_sample(const struct perf_format *format, struct cursor *b,
                                       struct event *out)
{
	struct event_sample *sample = &out->sample;

	if (format->wakeup)
		return decode_wakeup(format->wakeup, b, out);
	cursor_u64(b); // identifier

	out->type = RECORD_SAMPLE;
	out->pid = cursor_u32(b);
	out->tid = cursor_u32(b);
	out->time_ns = cursor_u64(b);
	memset(sample, 0, sizeof(*sample));
	sample->kind = format->switches ? SAMPLE_SWITCH : SAMPLE_ON_CPU;
	sample->syscall = -1;
	uint64_t period = cursor_u64(b);
	if (sample->kind == SAMPLE_ON_CPU)
		sample->weight_ns = period; // task-clock counts nanoseconds
	if (format->kernel)
		take_kernel_chain(b, sample);
	take_user(b, sample);
	return b->bad ? PERF_RECORD_DAMAGED : PERF_RECORD_EVENT;
}

static void decode_map(struct cursor *b, uint16_t misc, struct event *out)
{
	struct event_map *map = &out->map;

	out->type = RECORD_MAP;
	out->pid = cursor_u32(b);
	out->tid = cursor_u32(b);
	memset(map, 0, sizeof(*map));
	map->start = cursor_u64(b);
	map->length = cursor_u64(b);
	map->file_offset = cursor_u64(b);
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		const uint8_t *size = cursor_take(b, 4); // and three bytes of padding
		map->build_id = cursor_take(b, 20);
		map->build_id_size = size && *size <= 20 ? *size : 0;
	} else {
		map->device_major = cursor_u32(b);
		map->device_minor = cursor_u32(b);
		map->inode = cursor_u64(b);
		cursor_u64(b); // inode generation
	}
	map->protection = cursor_u32(b);
	cursor_u32(b); // flags
	map->path = take_text(b);
}

static void decode_name(struct cursor *b, uint16_t misc, struct event *out)
{
	out->type = misc & PERF_RECORD_MISC_COMM_EXEC ? RECORD_EXEC : RECORD_THREAD;
	out->given = false;
	out->pid = cursor_u32(b);
	out->tid = cursor_u32(b);
	out->name = take_text(b);
}

// FORK and EXIT: pid, parent's pid, tid, parent's tid.
static void decode_task(struct cursor *b, uint32_t type, struct event *out)
{
	out->type = type == PERF_RECORD_FORK ? RECORD_FORK : RECORD_EXIT;
	out->pid = cursor_u32(b);
	out->fork.parent_pid = cursor_u32(b);
	out->tid = cursor_u32(b);
	out->fork.parent_tid = cursor_u32(b);
}

static void decode_switch(struct cursor *trailer, uint16_t misc, struct event *out)
{
	out->type = RECORD_SWITCH;
	out->pid = cursor_u32(trailer);
	out->tid = cursor_u32(trailer);
	out->sched.in = !(misc & PERF_RECORD_MISC_SWITCH_OUT);
	out->sched.preempted = misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	out->sched.cause = METRIC_ON_CPU;
}

static void decode_lost(struct cursor *b, uint32_t type, struct event *out)
{
	out->type = RECORD_LOST;
	out->pid = out->tid = 0;
	if (type == PERF_RECORD_LOST)
		cursor_u64(b); // the event's id
	out->lost = cursor_u64(b);
}

// A task that died before its record was written, or of another pid namespace.
static bool is_nobody(const struct event *event)
{
	return event->type != RECORD_LOST && (event->pid == 0 || event->pid == UINT32_MAX);
}

enum perf_verdict perf_record_decode(const struct perf_format *format, const void *bytes,
                                     size_t size, struct event *out)
{
	struct perf_event_header header;
	if (size < sizeof(header))
		return PERF_RECORD_DAMAGED;
	memcpy(&header, bytes, sizeof(header));
	if (header.size > size || !perf_record_time_offset(&header))
		return PERF_RECORD_DAMAGED;

	const uint8_t *start = bytes;
	const uint8_t *end = start + header.size;
	struct cursor body = cursor_of(start + sizeof(header), header.size - sizeof(header));
	if (header.type == PERF_RECORD_SAMPLE) {
		enum perf_verdict verdict = decode_sample(format, &body, out);
		return verdict == PERF_RECORD_EVENT && is_nobody(out) ? PERF_RECORD_SKIP : verdict;
	}

	struct cursor trailer = cursor_of(end - TRAILER_BYTES, TRAILER_BYTES);
	body.end = trailer.at;
	memcpy(&out->time_ns, start + perf_record_time_offset(&header), 8);
	switch (header.type) {
	case PERF_RECORD_MMAP2:
		decode_map(&body, header.misc, out);
		break;
	case PERF_RECORD_COMM:
		decode_name(&body, header.misc, out);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		decode_task(&body, header.type, out);
		break;
	case PERF_RECORD_SWITCH:
		decode_switch(&trailer, header.misc, out);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		decode_lost(&body, header.type, out);
		break;
	default:
		return PERF_RECORD_SKIP;
	}
	if (body.bad)
		return PERF_RECORD_DAMAGED;
	return is_nobody(out) ? PERF_RECORD_SKIP : PERF_RECORD_EVENT;
}

// The stack of a sample of SIZE bytes, its last field: [room | room bytes | used]. NULL if there is
// none.
static uint8_t *find_stack(const struct perf_format *format, uint8_t *bytes, size_t size)
{
	struct cursor b =
		cursor_of(bytes + SAMPLE_TIME_OFFSET + 16, size - SAMPLE_TIME_OFFSET - 16);
	uint64_t count = format->kernel ? cursor_u64(&b) : 0;

	cursor_take(&b, count <= UINT16_MAX ? count * 8 : UINT64_MAX);
	if (cursor_u64(&b) != PERF_SAMPLE_REGS_ABI_NONE)
		cursor_take(&b, DWARF_REGISTERS * sizeof(uint64_t));
	return b.bad ? NULL : bytes + (b.at - bytes);
}

size_t perf_record_shorten(const struct perf_format *format, uint8_t *bytes)
{
	struct perf_event_header header;
	uint64_t room, used;

	memcpy(&header, bytes, sizeof(header));
	size_t size = header.size;
	if (format->wakeup || header.type != PERF_RECORD_SAMPLE || size < SAMPLE_TIME_OFFSET + 16)
		return size;
	uint8_t *stack = find_stack(format, bytes, size);
	uint8_t *end = bytes + size;
	if (!stack || (size_t)(end - stack) < sizeof(room) + sizeof(used))
		return size;
	memcpy(&room, stack, sizeof(room));
	memcpy(&used, end - sizeof(used), sizeof(used));
	if (room != (size_t)(end - stack) - sizeof(room) - sizeof(used) || used > room)
		return size; // not for us to say what it is
	uint64_t enough = (used + 7) & ~UINT64_C(7);
	// Without room there is no word that says how much of it was used.
	if (!enough || enough >= room)
		return size;
	memcpy(stack, &enough, sizeof(enough));
	memcpy(stack + sizeof(room) + enough, &used, sizeof(used));
	header.size = (uint16_t)(size - (room - enough));
	memcpy(bytes, &header, sizeof(header));
	return header.size;
}

size_t perf_record_cut(const struct perf_format *format, uint8_t *bytes, size_t there, size_t size,
                       uint64_t used, uint64_t most)
{
	struct perf_event_header header;
	uint64_t room;

	memcpy(&header, bytes, sizeof(header));
	if (format->wakeup || header.type != PERF_RECORD_SAMPLE || header.size != size ||
	    there > size || there < SAMPLE_TIME_OFFSET + 16)
		return 0;
	uint8_t *stack = find_stack(format, bytes, there);
	size_t before = stack ? (size_t)(stack - bytes) : there;
	if (there - before < sizeof(room) + most + sizeof(used))
		return 0;
	memcpy(&room, stack, sizeof(room));
	if (room != size - before - sizeof(room) - sizeof(used) || used > room || used <= most)
		return 0;
	memcpy(stack, &most, sizeof(most));
	memcpy(stack + sizeof(room) + most, &most, sizeof(most));
	header.size = (uint16_t)(before + sizeof(room) + most + sizeof(used));
	memcpy(bytes, &header, sizeof(header));
	return header.size;
}
