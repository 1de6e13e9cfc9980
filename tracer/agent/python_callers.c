// SPDX-License-Identifier: MIT
#include "tracer/agent/python_callers.h"

#include "base/hash.h"
#include "base/record.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/op.h"
#include "tracer/agent/python.h"
#include "tracer/agent/python_runtime.h"
#include "tracer/agent/python_threads.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define SLOTS       ((uint32_t)1 << 15) // a power of two
#define SLOTS_TRIED 16
#define TAG_BITS    ((uintptr_t)7) // of references, from 3.14 on
#define CHAIN_BYTES (sizeof(struct python_chain) + PYTHON_CALLERS_MAX * sizeof(struct python_frame))

static struct agent *agent;
static uint32_t generation = 1; // of processes: one more in a forked child

// A chain's number is its place here, from 1 on.
static struct slot {
	uint64_t key;  // atomic: hash of the chain; 0: free
	uint32_t told; // atomic: in which generation
} slots[SLOTS];

void python_callers_start(struct agent *a)
{
	agent = a;
}

void python_callers_fork(void)
{
	__atomic_add_fetch(&generation, 1, __ATOMIC_RELAXED);
}

// At its end the interpreter frees the states of threads that still run.
static bool is_ending(const struct python_runtime *r, uintptr_t thread)
{
	uintptr_t finalizing = guard_pointer(r->runtime, r->layout.runtime_finalizing);

	return finalizing && finalizing != thread;
}

// The first interpreter, which lives as long as the runtime, is the only one.
static bool is_alone(const struct python_runtime *r)
{
	static uintptr_t first; // atomic
	uintptr_t now = guard_pointer(r->runtime, r->layout.runtime_interpreters);
	uintptr_t known = __atomic_load_n(&first, __ATOMIC_RELAXED);

	if (!known && now) {
		known = now;
		__atomic_store_n(&first, now, __ATOMIC_RELAXED);
	}
	return now && now == known && !guard_pointer(now, r->layout.interpreter_next);
}

static struct guard guard_of(const struct op_thread *t)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	struct guard g = { 0 };

	if (sp >= t->lane->stack_low && sp < t->lane->stack_high) {
		g.stack_low = sp;
		g.stack_high = t->lane->stack_high;
	}
	return g;
}

static uintptr_t thread_of(const struct python_runtime *r, const struct op_thread *t)
{
	struct guard g;
	bool holds_gil;

	if (is_alone(r)) {
		uintptr_t thread = (uintptr_t)r->own_outside();
		return thread && !is_ending(r, thread) ? thread : 0;
	}
	g = guard_of(t);
	return python_threads_own(r, &g, t->tid, &holds_gil);
}

static void walk(struct op_thread *t, struct python_chain *chain, uint32_t max)
{
	python_walk(agent, t->lane, (uintptr_t)__builtin_frame_address(0), chain, max);
	t->room = 0; // something may have been written
}

// The interpreter is checked at the first walk, which nobody may have made yet.
static __attribute__((noinline)) const struct python_runtime *check(struct op_thread *t)
{
	uint64_t room[CHAIN_BYTES / sizeof(uint64_t)];

	if (!agent || !python_known())
		return NULL;
	walk(t, (struct python_chain *)room, 1);
	return python_checked();
}

uintptr_t python_callers_newest(struct op_thread *t)
{
	const struct python_runtime *r = python_checked();

	if (__builtin_expect(!r, 0))
		r = check(t);
	uintptr_t thread = r ? thread_of(r, t) : 0;
	if (!thread)
		return 0;
	uintptr_t frame = guard_pointer(thread, r->layout.thread_frame);
	if (r->layout.cframe_current >= 0 && frame)
		frame = guard_pointer(frame, r->layout.cframe_current);
	return frame;
}

#define PRIME UINT64_C(0x9e3779b97f4a7c15)

// Up to 3.11: the parts of the code object, and both ends of its table of lines. Only a function
// whose parts all lie where those of another lay, and differ in the middle, is taken for that one.
static inline uint64_t parts_of(const struct python_layout *l, uintptr_t code)
{
	uintptr_t lines = guard_pointer(code, l->code_lines);
	uint64_t size = guard_pointer(lines, l->bytes_size);
	uint64_t first = 0, second = 0, last = 0;

	if (size >= 16) {
		first = guard_pointer(lines, l->bytes_data);
		second = guard_pointer(lines + 8, l->bytes_data);
		last = guard_pointer(lines + size - 8, l->bytes_data);
	} else if (size >= 7) {
		first = guard_pointer(lines, l->bytes_data); // a table is followed by a NUL
		last = guard_pointer(lines + size - 7, l->bytes_data);
	}
	return guard_pointer(code, l->code_file) * UINT64_C(0x9fb21c651e98df25) ^
	       guard_pointer(code, l->code_name) * UINT64_C(0xd6e8feb86659fd93) ^
	       (first + size) * UINT64_C(0xa0761d6478bd642f) ^
	       second * UINT64_C(0xe7037ed1a0b428db) ^ last * UINT64_C(0x8ebc6af09c88c6e3) ^
	       (lines + ((uint64_t)guard_int(code, l->code_first_line) << 48));
}

// What tells a code object from one that lay in its place before.
static uint64_t version_of(const struct python_layout *l, uintptr_t code)
{
	if (l->code_version >= 0)
		return (uint64_t)guard_int(code, l->code_version) << 40;
	return parts_of(l, code);
}

static inline uint64_t add_frame(uint64_t hash, const struct python_layout *l, uintptr_t frame)
{
	uintptr_t code = guard_pointer(frame, l->frame_code) & ~TAG_BITS;
	uint64_t at = l->code_start < 0 ? (uint64_t)guard_int(frame, l->frame_instruction)
	                                : guard_pointer(frame, l->frame_instruction);
	uint64_t parts = (code + version_of(l, code)) * UINT64_C(0xff51afd7ed558ccd) ^
	                 at * UINT64_C(0xc4ceb9fe1a85ec53);

	return (hash ^ parts ^ parts >> 29) * PRIME;
}

static uint64_t hash_of(const struct python_layout *l, uintptr_t newest)
{
	uint64_t hash = 1;
	uint32_t count = 0;

	for (uintptr_t frame = newest; frame && count < PYTHON_CALLERS_MAX;
	     frame = guard_pointer(frame, l->frame_previous)) {
		if (l->frame_owner >= 0 && guard_byte(frame, l->frame_owner) >= PYTHON_OWNER_SHIM)
			continue;
		hash = add_frame(hash, l, frame);
		count++;
	}
	return hash_mix(hash) | 1;
}

// NULL: there is no room for another.
static struct slot *find(uint64_t key)
{
	for (uint32_t i = 0; i < SLOTS_TRIED; i++) {
		struct slot *slot = &slots[((key >> 32) + i) % SLOTS];
		uint64_t known = __atomic_load_n(&slot->key, __ATOMIC_RELAXED);
		if (known == key ||
		    (!known && (__atomic_compare_exchange_n(&slot->key, &known, key, false,
		                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		                known == key)))
			return slot;
	}
	return NULL;
}

static bool write_chain(struct op_thread *t, uint32_t number, const struct python_chain *chain)
{
	size_t size = sizeof(struct record_python_chain) + python_bytes(chain);

	// A refusal would count as a lost record; but this one only comes later.
	if (lane_room(t->lane) < 2 * size)
		return false;
	struct record_python_chain *record = (struct record_python_chain *)agent_reserve(
		agent, t->lane, RECORD_PYTHON_CHAIN, size);
	if (!record)
		return false;
	record->number = number;
	memcpy(record + 1, chain, python_bytes(chain));
	lane_commit(t->lane, &record->head, size);
	return true;
}

// Two threads at once both tell it, each before it is used.
static __attribute__((noinline)) bool tell(struct op_thread *t, struct slot *slot, uint32_t now)
{
	uint64_t room[CHAIN_BYTES / sizeof(uint64_t)];
	struct python_chain *chain = (struct python_chain *)room;

	walk(t, chain, PYTHON_CALLERS_MAX);
	if (!chain->count || !write_chain(t, (uint32_t)(slot - slots) + 1, chain))
		return false;
	__atomic_store_n(&slot->told, now, __ATOMIC_RELEASE);
	return true;
}

uint32_t python_callers_number(struct op_thread *t, uintptr_t newest)
{
	const struct python_runtime *r = python_checked();
	struct slot *slot = r ? find(hash_of(&r->layout, newest)) : NULL;
	uint32_t now = __atomic_load_n(&generation, __ATOMIC_RELAXED);

	if (!slot)
		return 0;
	if (__atomic_load_n(&slot->told, __ATOMIC_ACQUIRE) != now && !tell(t, slot, now))
		return 0;
	return (uint32_t)(slot - slots) + 1;
}
