// SPDX-License-Identifier: MIT
#include "tracer/agent/python_code.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/record.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/python_runtime.h"
#include "tracer/agent/python_text.h"

#define CODES_MAX    ((uint32_t)1 << 17) // 64 bytes each, touched when used
#define SLOTS        (2 * CODES_MAX)     // a power of two
#define TABLE_BYTES  ((size_t)64 << 10)  // of a line table; longer ones are cut
#define HASHED_BYTES ((size_t)512)
#define NAME_BYTES   ((size_t)1 << 10)

struct code {
	uintptr_t at;
	uintptr_t file, name, lines; // the objects that it consists of
	uintptr_t size;
	uint32_t first_line;
	uint32_t tag;  // see tag_of()
	uint32_t told; // atomic: in which generation
};

static struct code codes[CODES_MAX]; // [number - 1]
static uint32_t slots[SLOTS];        // atomic: numbers; 0: free
static uint32_t count;               // atomic: numbers taken
static uint32_t generation = 1;      // of processes: one more in a forked child

bool python_code_is_there(const struct python_runtime *r, struct guard *g, uintptr_t code)
{
	const struct python_layout *l = &r->layout;

	return code % sizeof(code) == 0 && guard_readable(g, code, (size_t)l->code_bytes) &&
	       guard_pointer(code, l->object_type) == r->code_type;
}

// What tells it from one of the same parts in the same places, as a function that is made, run and
// freed again and again: a number of its own, or else what its table of lines holds.
static uint32_t tag_of(const struct python_layout *l, struct guard *g, uintptr_t code)
{
	uintptr_t lines = guard_pointer(code, l->code_lines);

	if (l->code_version >= 0)
		return (uint32_t)guard_int(code, l->code_version);
	if (lines % sizeof(lines) || !guard_readable(g, lines, (size_t)l->bytes_data))
		return 0;
	size_t size = guard_pointer(lines, l->bytes_size);
	if (size > HASHED_BYTES)
		size = HASHED_BYTES;
	lines += (uintptr_t)l->bytes_data;
	return size && guard_readable(g, lines, size)
	               ? (uint32_t)hash_bytes((const void *)lines, size)
	               : 0;
}

static struct code describe(const struct python_layout *l, struct guard *g, uintptr_t code)
{
	return (struct code){
		.at = code,
		.file = guard_pointer(code, l->code_file),
		.name = guard_pointer(code, l->code_name),
		.lines = guard_pointer(code, l->code_lines),
		.size = guard_pointer(code, l->code_size),
		.first_line = (uint32_t)guard_int(code, l->code_first_line),
		.tag = tag_of(l, g, code),
	};
}

static bool equal(const struct code *a, const struct code *b)
{
	return a->lines == b->lines && a->file == b->file && a->name == b->name &&
	       a->size == b->size && a->first_line == b->first_line && a->tag == b->tag;
}

static uint32_t add(const struct code *wanted)
{
	uint32_t number = __atomic_load_n(&count, __ATOMIC_RELAXED);

	do
		if (number >= CODES_MAX)
			return 0;
	while (!__atomic_compare_exchange_n(&count, &number, number + 1, true, __ATOMIC_RELAXED,
	                                    __ATOMIC_RELAXED));
	codes[number] = *wanted;
	return number + 1;
}

// Its number, which may be new; 0 if there are too many.
static uint32_t find_or_add(const struct code *wanted)
{
	uint32_t at = (uint32_t)hash_mix(wanted->at) % SLOTS;
	uint32_t number;

	for (;; at = (at + 1) % SLOTS) {
		number = __atomic_load_n(&slots[at], __ATOMIC_ACQUIRE);
		if (!number)
			break;
		if (codes[number - 1].at != wanted->at)
			continue;
		if (equal(&codes[number - 1], wanted))
			return number;
		break; // what was there is gone: its slot goes to what is there now
	}
	uint32_t added = add(wanted);
	// Another thread may have put it there. Then it has two numbers, which say the same.
	if (added)
		__atomic_compare_exchange_n(&slots[at], &number, added, false, __ATOMIC_RELEASE,
		                            __ATOMIC_RELAXED);
	return added;
}

struct parts {
	struct python_text file, name;
	uintptr_t table;
	size_t table_bytes;
};

// A table that cannot be read is empty: the function is known then, but no line of it.
static void find_table(const struct python_layout *l, struct guard *g, uintptr_t lines,
                       struct parts *out)
{
	out->table = lines + (uintptr_t)l->bytes_data;
	out->table_bytes = 0;
	if (lines % sizeof(lines) || !guard_readable(g, lines, (size_t)l->bytes_data))
		return;
	size_t size = guard_pointer(lines, l->bytes_size);
	if (size > TABLE_BYTES)
		size = TABLE_BYTES;
	if (size && guard_readable(g, out->table, size))
		out->table_bytes = size;
}

static void write_code(struct record_python_code *record, const struct agent *a,
                       const struct lane *lane, const struct parts *parts)
{
	uint8_t *to = (uint8_t *)(record + 1);

	record->head = (struct record){
		.type = RECORD_PYTHON_CODE,
		.pid = a->pid,
		.tid = lane->tid,
		.time_ns = clock_now_ns(),
	};
	record->file_bytes = (uint32_t)parts->file.bytes;
	record->name_bytes = (uint32_t)parts->name.bytes;
	record->table_bytes = (uint32_t)parts->table_bytes;
	python_text_write(&parts->file, to);
	to += parts->file.bytes;
	python_text_write(&parts->name, to);
	to += parts->name.bytes;
	memcpy(to, (const void *)parts->table, parts->table_bytes);
}

static bool tell(const struct python_layout *l, struct guard *g, struct agent *a, struct lane *lane,
                 uint32_t number)
{
	const struct code *code = &codes[number - 1];
	struct parts parts;

	parts.file = python_text_of(l, g, code->file, NAME_BYTES);
	parts.name = python_text_of(l, g, code->name, NAME_BYTES);
	find_table(l, g, code->lines, &parts);
	size_t size = record_align(sizeof(struct record_python_code) + parts.file.bytes +
	                           parts.name.bytes + parts.table_bytes);
	// A refusal would count as a lost record; but this one only comes later.
	if (lane_room(lane) < 2 * size)
		return false;
	struct record_python_code *record =
		(struct record_python_code *)lane_reserve(lane, a->rings.by_populate, size);
	if (!record)
		return false;
	record->code = number;
	record->first_line = code->first_line;
	record->version = l->version;
	write_code(record, a, lane, &parts);
	lane_commit(lane, &record->head, size);
	return true;
}

uint32_t python_code_number(const struct python_runtime *r, struct guard *g, struct agent *a,
                            struct lane *lane, uintptr_t code)
{
	if (!python_code_is_there(r, g, code))
		return 0;
	struct code wanted = describe(&r->layout, g, code);
	uint32_t number = find_or_add(&wanted);
	if (!number)
		return 0;
	uint32_t *told = &codes[number - 1].told;
	uint32_t now = __atomic_load_n(&generation, __ATOMIC_RELAXED);
	if (__atomic_load_n(told, __ATOMIC_ACQUIRE) == now)
		return number;
	// Two threads at once both tell it, each before it is used.
	if (!tell(&r->layout, g, a, lane, number))
		return 0;
	__atomic_store_n(told, now, __ATOMIC_RELEASE);
	return number;
}

void python_code_fork(void)
{
	__atomic_add_fetch(&generation, 1, __ATOMIC_RELAXED);
}
