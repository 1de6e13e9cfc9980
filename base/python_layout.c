// SPDX-License-Identifier: MIT
#include "base/python_layout.h"

#include <string.h>

#define NONE      (-1)
#define FIRST_OWN PYTHON_VERSION(13) // tells its offsets itself
#define LAST_OWN  PYTHON_VERSION(15)
#define OWN_COUNT 3

// offsetof() of each version's own headers (Include/ and Include/internal/, Py_BUILD_CORE), as
// compiled for x86-64 from 3.8.18, 3.9.18, 3.10.13, 3.11.2 and 3.11.7, 3.12.1. Each
// tells what is not as in the version before it.
#define LAYOUT_3_8                                                                                 \
	.runtime_interpreters = 32, .runtime_finalizing = 16, .runtime_current = 1368,             \
	.runtime_gil = 1152, .interpreter_next = 0, .interpreter_threads = 8,                      \
	.interpreter_gil = NONE, .gil_locked = 16, .gil_holder = 8, .gil_bytes = 208,              \
	.thread_next = 8, .thread_interpreter = 16, .thread_frame = 24, .thread_pthread = 176,     \
	.thread_tid = NONE, .thread_chunk = NONE, .thread_top = NONE, .thread_status = NONE,       \
	.thread_bytes = 264, .cframe_current = NONE, .cframe_previous = NONE, .frame_code = 32,    \
	.frame_previous = 24, .frame_instruction = 104, .frame_locals = 360, .frame_operands = 64, \
	.frame_owner = NONE, .frame_entry = NONE, .frame_tlbc = NONE, .frame_bytes = 112,          \
	.code_size = 16, .code_file = 104, .code_name = 112, .code_lines = 120,                    \
	.code_first_line = 40, .code_version = NONE, .code_operands = 32, .code_locals = NONE,     \
	.code_start = NONE, .code_tlbc = NONE, .code_bytes = 128, .object_type = 8,                \
	.text_length = 16, .text_state = 32, .text_ascii = 48, .text_compact = 72,                 \
	.text_kind_bit = 2, .bytes_size = 16, .bytes_data = 32
#define LAYOUT_3_9  LAYOUT_3_8, .runtime_current = 568, .runtime_gil = 352
#define LAYOUT_3_10 LAYOUT_3_9, .thread_bytes = 280, .frame_instruction = 96, .frame_locals = 352
#define LAYOUT_3_11                                                                                \
	LAYOUT_3_10, .runtime_interpreters = 40, .runtime_finalizing = 24, .runtime_current = 576, \
		     .runtime_gil = 360, .interpreter_threads = 16, .thread_frame = 56,            \
		     .thread_pthread = 152, .thread_tid = 160, .thread_chunk = 296,                \
		     .thread_top = 304, .thread_bytes = 360, .cframe_current = 8,                  \
		     .cframe_previous = 16, .frame_previous = 48, .frame_instruction = 56,         \
		     .frame_locals = 72, .frame_operands = NONE, .code_operands = 68,              \
		     .code_locals = 76, .frame_owner = 69, .frame_entry = 68, .frame_bytes = 72,   \
		     .code_file = 112, .code_name = 128, .code_lines = 136, .code_first_line = 72, \
		     .code_start = 184, .code_bytes = 144
#define LAYOUT_3_12                                                                                \
	LAYOUT_3_11, .runtime_current = NONE, .runtime_gil = NONE, .interpreter_threads = 72,      \
		     .interpreter_gil = 384, .thread_pthread = 136, .thread_tid = 144,             \
		     .thread_chunk = 232, .thread_top = 240, .thread_status = 24,                  \
		     .thread_bytes = 288, .cframe_current = 0, .cframe_previous = 8,               \
		     .frame_code = 0, .frame_previous = 8, .frame_owner = 70, .frame_entry = NONE, \
		     .code_first_line = 68, .code_version = 92, .code_operands = 64,               \
		     .code_locals = 72, .code_start = 192, .text_ascii = 40, .text_compact = 56

// Later initializers take the place of earlier ones on purpose.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct python_layout tables[] = {
	{ .version = PYTHON_VERSION(8), LAYOUT_3_8 },
	{ .version = PYTHON_VERSION(9), LAYOUT_3_9 },
	{ .version = PYTHON_VERSION(10), LAYOUT_3_10 },
	{ .version = PYTHON_VERSION(11), LAYOUT_3_11 },
	{ .version = PYTHON_VERSION(12), LAYOUT_3_12 },
};
#pragma GCC diagnostic pop

// Where _Py_DebugOffsets of 3.13, 3.14 and 3.15 has what (Include/internal/
// pycore_runtime_structs.h and pycore_debug_offsets.h of 3.13.18, 3.14.10 and 3.15.2), and what
// is too large to be believed.
#define FIELD(name) offsetof(struct python_layout, name)
static const struct field {
	uint16_t to;
	uint16_t from[OWN_COUNT]; // 0: not there
	uint32_t limit;
} fields[] = {
	{ FIELD(runtime_interpreters), { 40, 40, 40 }, 1 << 20 },
	{ FIELD(runtime_finalizing), { 32, 32, 32 }, 1 << 20 },
	{ FIELD(interpreter_next), { 64, 64, 64 }, 1 << 20 },
	{ FIELD(interpreter_threads), { 72, 72, 72 }, 1 << 20 },
	{ FIELD(thread_bytes), { 152, 176, 176 }, 1 << 16 },
	{ FIELD(thread_next), { 168, 192, 192 }, 1 << 16 },
	{ FIELD(thread_frame), { 184, 208, 208 }, 1 << 16 },
	{ FIELD(thread_pthread), { 192, 216, 240 }, 1 << 16 },
	{ FIELD(thread_tid), { 200, 224, 248 }, 1 << 16 },
	{ FIELD(thread_chunk), { 208, 232, 256 }, 1 << 16 },
	{ FIELD(thread_status), { 216, 240, 264 }, 1 << 16 },
	{ FIELD(frame_bytes), { 224, 248, 312 }, 512 },
	{ FIELD(frame_previous), { 232, 256, 320 }, 256 },
	{ FIELD(frame_code), { 240, 264, 328 }, 256 },
	{ FIELD(frame_instruction), { 248, 272, 336 }, 256 },
	{ FIELD(frame_locals), { 256, 280, 344 }, 256 },
	{ FIELD(frame_owner), { 264, 288, 352 }, 256 },
	{ FIELD(frame_tlbc), { 0, 304, 368 }, 256 },
	{ FIELD(code_file), { 280, 320, 384 }, 512 },
	{ FIELD(code_name), { 296, 336, 400 }, 512 }, // the qualified one
	{ FIELD(code_lines), { 304, 344, 408 }, 512 },
	{ FIELD(code_first_line), { 312, 352, 416 }, 512 },
	{ FIELD(code_start), { 344, 384, 448 }, 512 },
	{ FIELD(code_tlbc), { 0, 392, 456 }, 512 },
	{ FIELD(bytes_size), { 520, 600, 696 }, 128 },
	{ FIELD(bytes_data), { 528, 608, 704 }, 128 },
	{ FIELD(text_state), { 544, 624, 720 }, 128 },
	{ FIELD(text_length), { 552, 632, 728 }, 128 },
	{ FIELD(text_ascii), { 560, 640, 736 }, 128 },
};

static const uint16_t own_bytes[OWN_COUNT] = { 584, 760, 888 };

bool python_layout_of(uint32_t version, struct python_layout *out)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (tables[i].version != version)
			continue;
		*out = tables[i];
		return true;
	}
	return false;
}

static uint64_t word(const uint8_t *bytes, size_t at)
{
	uint64_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

uint32_t python_layout_version(const uint8_t *bytes)
{
	if (memcmp(bytes, PYTHON_LAYOUT_COOKIE, 8) != 0)
		return 0;
	return (uint32_t)(word(bytes, 8) >> 16);
}

static bool read_fields(const uint8_t *bytes, unsigned own, struct python_layout *out)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct field *f = &fields[i];
		uint64_t value = f->from[own] ? word(bytes, f->from[own]) : 0;
		int32_t offset = f->from[own] ? (int32_t)value : NONE;
		if (value > f->limit)
			return false;
		memcpy((char *)out + f->to, &offset, sizeof(offset));
	}
	return true;
}

static int32_t larger(int32_t a, int32_t b)
{
	return a > b ? a : b;
}

// What the interpreter does not tell: from the same headers.
static void add_rest(struct python_layout *l)
{
	bool free_threaded = l->free_threaded;

	l->runtime_current = l->runtime_gil = NONE;
	l->interpreter_gil = 16;
	l->gil_locked = free_threaded ? 24 : 16;
	l->gil_holder = free_threaded ? 16 : 8;
	l->gil_bytes = free_threaded ? 216 : 208;
	l->thread_interpreter = 16;
	l->thread_top = l->thread_chunk + 8;
	l->cframe_current = l->cframe_previous = l->frame_entry = NONE;
	l->object_type = free_threaded ? 24 : 8;
	l->code_size = l->object_type + 8;
	l->code_version = l->code_first_line + 24; // there are five numbers between them
	l->code_operands = l->code_first_line - 4;
	l->code_locals = l->code_first_line + 4;
	l->frame_operands = NONE;
	l->text_compact = l->text_ascii + 16; // utf8_length and utf8
	l->text_kind_bit = free_threaded && l->version >= PYTHON_VERSION(14) ? 8 : 2;
	l->code_bytes = larger(larger(l->code_file, l->code_name),
	                       larger(l->code_lines, larger(l->code_first_line, l->code_tlbc))) +
	                8;
	if (!free_threaded)
		l->frame_tlbc = l->code_tlbc = NONE;
}

static bool is_consistent(const struct python_layout *l)
{
	const int32_t of_frame[] = { l->frame_previous, l->frame_code, l->frame_instruction,
		                     l->frame_owner, l->frame_tlbc };
	const int32_t of_thread[] = { l->thread_next,    l->thread_frame, l->thread_tid,
		                      l->thread_pthread, l->thread_top,   l->thread_interpreter };

	for (size_t i = 0; i < sizeof(of_frame) / sizeof(of_frame[0]); i++)
		if (of_frame[i] >= l->frame_bytes)
			return false;
	for (size_t i = 0; i < sizeof(of_thread) / sizeof(of_thread[0]); i++)
		if (of_thread[i] > l->thread_bytes - 8)
			return false;
	return true;
}

bool python_layout_read(const uint8_t *bytes, size_t size, struct python_layout *out)
{
	struct python_layout l = { 0 };

	if (size < 24)
		return false;
	l.version = python_layout_version(bytes);
	if (l.version < FIRST_OWN || l.version > LAST_OWN)
		return false;
	unsigned own = l.version - FIRST_OWN;
	if (size < own_bytes[own] || !read_fields(bytes, own, &l))
		return false;
	l.free_threaded = word(bytes, 16) == 1;
	add_rest(&l);
	if (!is_consistent(&l))
		return false;
	*out = l;
	return true;
}
