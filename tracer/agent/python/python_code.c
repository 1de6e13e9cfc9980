// SPDX-License-Identifier: MIT
#include "tracer/agent/python/python_code.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/record.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/python/python_runtime.h"
#include "tracer/agent/python/python_text.h"
#include "tracer/agent/table.h"

#define CODES_MAX    PYTHON_CODES_MAX
#define SLOTS        (2 * CODES_MAX)     // a power of two
#define RECENTS      ((uint32_t)1 << 14) // a power of two; 64 bytes each, touched when used
#define TABLE_BYTES  ((size_t)64 << 10)  // of a line table; longer ones are cut
#define HASHED_BYTES ((size_t)512)       // of a line table, where it is all that tells
#define NAME_BYTES   ((size_t)1 << 10)

// What is told of a code object. Others that say the same have the same number.
AGENT_TABLE static struct code {
	uint64_t content; // hashed
	uint32_t first_line;
	uint32_t told;                    // atomic: in which generation
} codes[CODES_MAX];                       // [number - 1]
AGENT_TABLE static uint32_t slots[SLOTS]; // atomic: numbers, by content; 0: free
static uint32_t count;                    // atomic: numbers taken
static uint32_t generation = 1;           // of processes: one more in a forked child

// The code objects of late, so that what they hold need not be looked at each time.
struct parts {
	uintptr_t at;
	uintptr_t file, name, lines; // the objects that it consists of
	uintptr_t size;
	uint32_t first_line;
	uint32_t tag; // see tag_of()
};
AGENT_TABLE static struct recent {
	uint32_t turn; // atomic: odd while someone writes
	uint32_t number;
	struct parts parts;
} recents[RECENTS];

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

static struct parts parts_of(const struct python_layout *l, struct guard *g, uintptr_t code)
{
	return (struct parts){
		.at = code,
		.file = guard_pointer(code, l->code_file),
		.name = guard_pointer(code, l->code_name),
		.lines = guard_pointer(code, l->code_lines),
		.size = guard_pointer(code, l->code_size),
		.first_line = (uint32_t)guard_int(code, l->code_first_line),
		.tag = tag_of(l, g, code),
	};
}

static struct recent *place_of(uintptr_t code)
{
	return &recents[hash_mix(code) % RECENTS];
}

// 0: it was not seen of late.
static uint32_t recall(const struct parts *parts)
{
	const struct recent *o = place_of(parts->at);
	uint32_t turn = __atomic_load_n(&o->turn, __ATOMIC_ACQUIRE);
	bool same = memcmp(&o->parts, parts, sizeof(*parts)) == 0;
	uint32_t number = o->number;

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return same && !(turn & 1) && __atomic_load_n(&o->turn, __ATOMIC_RELAXED) == turn ? number
	                                                                                  : 0;
}

// Or not, if another thread is at it.
static void remember(const struct parts *parts, uint32_t number)
{
	struct recent *o = place_of(parts->at);
	uint32_t turn = __atomic_load_n(&o->turn, __ATOMIC_RELAXED);

	if (turn & 1 || !__atomic_compare_exchange_n(&o->turn, &turn, turn + 1, false,
	                                             __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	o->parts = *parts;
	o->number = number;
	__atomic_store_n(&o->turn, turn + 2, __ATOMIC_RELEASE);
}

static uint32_t add(uint64_t content, uint32_t first_line)
{
	uint32_t number = __atomic_load_n(&count, __ATOMIC_RELAXED);

	do
		if (number >= CODES_MAX)
			return 0;
	while (!__atomic_compare_exchange_n(&count, &number, number + 1, true, __ATOMIC_RELAXED,
	                                    __ATOMIC_RELAXED));
	codes[number].content = content;
	codes[number].first_line = first_line;
	return number + 1;
}

// Its number, which may be new; 0 if there are too many. Where another thread, or a handler in the
// middle of this, adds the same, that one's number is it, and ours belongs to nobody.
static uint32_t find_or_add(uint64_t content, uint32_t first_line)
{
	uint32_t at = (uint32_t)content % SLOTS, added = 0;

	for (;; at = (at + 1) % SLOTS) {
		uint32_t number = __atomic_load_n(&slots[at], __ATOMIC_ACQUIRE);
		if (!number && !added)
			added = add(content, first_line);
		if (!number && !added)
			return 0;
		if (!number && __atomic_compare_exchange_n(&slots[at], &number, added, false,
		                                           __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return added;
		if (codes[number - 1].content == content)
			return number;
	}
}

// What is told.
struct content {
	struct python_text file, name;
	uintptr_t table;
	size_t table_bytes;
};

// A table that cannot be read is empty: the function is known then, but no line of it.
static void find_table(const struct python_layout *l, struct guard *g, uintptr_t lines,
                       struct content *out)
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

static struct content content_of(const struct python_layout *l, struct guard *g,
                                 const struct parts *parts)
{
	struct content c = {
		.file = python_text_of(l, g, parts->file, NAME_BYTES),
		.name = python_text_of(l, g, parts->name, NAME_BYTES),
	};

	find_table(l, g, parts->lines, &c);
	return c;
}

static uint64_t hash_text(const struct python_text *t)
{
	return t->length ? hash_bytes((const void *)t->at, t->length * t->kind) : 0;
}

static uint64_t hash_content(const struct content *c, uint32_t first_line)
{
	uint64_t names = hash_pair(hash_text(&c->file), hash_text(&c->name));
	uint64_t table = c->table_bytes ? hash_bytes((const void *)c->table, c->table_bytes) : 0;

	return hash_pair(hash_pair(names, table), first_line);
}

static void write_code(struct record_python_code *record, const struct agent *a,
                       const struct lane *lane, const struct content *c)
{
	uint8_t *to = (uint8_t *)(record + 1);

	record->head = (struct record){
		.type = RECORD_PYTHON_CODE,
		.pid = a->pid,
		.tid = lane->tid,
		.time_ns = clock_now_ns(),
	};
	record->file_bytes = (uint32_t)c->file.bytes;
	record->name_bytes = (uint32_t)c->name.bytes;
	record->table_bytes = (uint32_t)c->table_bytes;
	python_text_write(&c->file, to);
	to += c->file.bytes;
	python_text_write(&c->name, to);
	to += c->name.bytes;
	memcpy(to, (const void *)c->table, c->table_bytes);
}

static bool tell(const struct python_layout *l, struct agent *a, struct lane *lane, uint32_t number,
                 const struct content *c)
{
	size_t size = record_align(sizeof(struct record_python_code) + c->file.bytes +
	                           c->name.bytes + c->table_bytes);
	// A refusal would count as a lost record; but this one only comes later.
	if (lane_room(lane) < 2 * size)
		return false;
	struct record_python_code *record =
		(struct record_python_code *)lane_reserve(lane, a->rings.by_populate, size);
	if (!record)
		return false;
	record->code = number;
	record->first_line = codes[number - 1].first_line;
	record->version = l->version;
	write_code(record, a, lane, c);
	lane_commit(lane, &record->head, size);
	return true;
}

uint32_t python_code_number(const struct python_runtime *r, struct guard *g, struct agent *a,
                            struct lane *lane, uintptr_t code)
{
	const struct python_layout *l = &r->layout;
	uint32_t now = __atomic_load_n(&generation, __ATOMIC_RELAXED);

	if (!python_code_is_there(r, g, code))
		return 0;
	struct parts parts = parts_of(l, g, code);
	uint32_t number = recall(&parts);
	if (number && __atomic_load_n(&codes[number - 1].told, __ATOMIC_ACQUIRE) == now)
		return number;
	struct content content = content_of(l, g, &parts);
	number = find_or_add(hash_content(&content, parts.first_line), parts.first_line);
	if (!number)
		return 0;
	remember(&parts, number);
	uint32_t *told = &codes[number - 1].told;
	if (__atomic_load_n(told, __ATOMIC_ACQUIRE) == now)
		return number;
	// Two threads at once both tell it, each before it is used.
	if (!tell(l, a, lane, number, &content))
		return 0;
	__atomic_store_n(told, now, __ATOMIC_RELEASE);
	return number;
}

uint32_t python_code_find(const struct python_runtime *r, struct guard *g, uintptr_t code)
{
	if (!python_code_is_there(r, g, code))
		return 0;
	struct parts parts = parts_of(&r->layout, g, code);
	uint32_t number = recall(&parts);
	if (number)
		return number;
	struct content content = content_of(&r->layout, g, &parts);
	number = find_or_add(hash_content(&content, parts.first_line), parts.first_line);
	if (number)
		remember(&parts, number);
	return number;
}

bool python_code_is_told(uint32_t number)
{
	return __atomic_load_n(&codes[number - 1].told, __ATOMIC_ACQUIRE) ==
	       __atomic_load_n(&generation, __ATOMIC_RELAXED);
}

void python_code_fork(void)
{
	__atomic_add_fetch(&generation, 1, __ATOMIC_RELAXED);
}
