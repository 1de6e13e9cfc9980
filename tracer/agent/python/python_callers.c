// SPDX-License-Identifier: MIT
#include "tracer/agent/python/python_callers.h"

#include "base/hash.h"
#include "base/record.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/python/python.h"
#include "tracer/agent/python/python_runtime.h"
#include "tracer/agent/python/python_text.h"
#include "tracer/agent/python/python_threads.h"
#include "tracer/agent/python/torch_modules.h"
#include "tracer/agent/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define SLOTS       ((uint32_t)1 << 15) // a power of two
#define SLOTS_TRIED 16
#define MODULES_MAX 32 // of a chain, innermost first
#define TEXT_BYTES  512
#define TAG_BITS    ((uintptr_t)7) // of references, from 3.14 on
#define CHAIN_BYTES (sizeof(struct python_chain) + PYTHON_CALLERS_MAX * sizeof(struct python_frame))

static struct agent *agent;
static uint32_t generation = 1; // of processes: one more in a forked child

// A chain's number is its place here, from 1 on.
AGENT_TABLE static struct slot {
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
	torch_modules_fork();
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
		return thread && !python_threads_ending(r, thread) ? thread : 0;
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

static inline uintptr_t newest_of(const struct python_layout *l, uintptr_t thread)
{
	uintptr_t frame = guard_pointer(thread, l->thread_frame);

	if (l->cframe_current >= 0 && frame)
		frame = guard_pointer(frame, l->cframe_current);
	return frame;
}

uintptr_t python_callers_newest(struct op_thread *t)
{
	const struct python_runtime *r = python_checked();

	if (__builtin_expect(!r, 0))
		r = check(t);
	uintptr_t thread = r ? thread_of(r, t) : 0;
	if (!thread)
		return 0;
	return newest_of(&r->layout, thread);
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

// What torch.nn.Modules run when they are called, self their first variable; atomic; 0: not known.
static uintptr_t module_call;

static uintptr_t code_of(const struct python_layout *l, uintptr_t frame)
{
	return guard_pointer(frame, l->frame_code) & ~TAG_BITS;
}

static uintptr_t self_of(const struct python_layout *l, uintptr_t frame)
{
	return guard_pointer(frame, l->frame_locals) & ~TAG_BITS;
}

static inline uint64_t add_frame(uint64_t hash, const struct python_layout *l, uintptr_t frame)
{
	uintptr_t code = code_of(l, frame);
	uint64_t at = l->code_start < 0 ? (uint64_t)guard_int(frame, l->frame_instruction)
	                                : guard_pointer(frame, l->frame_instruction);
	uint64_t parts = (code + version_of(l, code)) * UINT64_C(0xff51afd7ed558ccd) ^
	                 at * UINT64_C(0xc4ceb9fe1a85ec53);

	if (code == __atomic_load_n(&module_call, __ATOMIC_RELAXED))
		parts ^= self_of(l, frame) * UINT64_C(0xd6e8feb86659fd93);
	return (hash ^ parts ^ parts >> 29) * PRIME;
}

// FRAME, or the next one that is no shim; 0: there is none.
static inline uintptr_t skip_shims(const struct python_layout *l, uintptr_t frame)
{
	while (frame && l->frame_owner >= 0 &&
	       guard_byte(frame, l->frame_owner) >= PYTHON_OWNER_SHIM)
		frame = guard_pointer(frame, l->frame_previous);
	return frame;
}

static inline uintptr_t next_frame(const struct python_layout *l, uintptr_t frame)
{
	return skip_shims(l, guard_pointer(frame, l->frame_previous));
}

static uint64_t hash_of(const struct python_layout *l, uintptr_t newest)
{
	uint64_t hash = 1;
	uint32_t count = 0;

	for (uintptr_t frame = skip_shims(l, newest); frame && count < PYTHON_CALLERS_MAX;
	     frame = next_frame(l, frame), count++)
		hash = add_frame(hash, l, frame);
	return hash_mix(hash) | 1;
}

// torch.nn.Modules.

static bool ends_like(const struct python_runtime *r, struct guard *g, uintptr_t text,
                      const char *end)
{
	struct python_text t = python_text_of(&r->layout, g, text, TEXT_BYTES);
	size_t length = strlen(end);
	uint8_t bytes[TEXT_BYTES];

	if (!t.kind || t.bytes < length || t.bytes > sizeof(bytes))
		return false;
	python_text_write(&t, bytes);
	return memcmp(bytes + t.bytes - length, end, length) == 0;
}

static bool is_called(const struct python_runtime *r, struct guard *g, uintptr_t code,
                      const char *name)
{
	return ends_like(r, g, guard_pointer(code, r->layout.code_name), name) &&
	       ends_like(r, g, guard_pointer(code, r->layout.code_file),
	                 "torch/nn/modules/module.py");
}

// Since 2.1 there is a function around the one of old, whose self is not always its own variable.
static void find_module_call(const struct python_runtime *r, struct op_thread *t, uintptr_t newest)
{
	struct guard g = guard_of(t);
	uintptr_t found = 0, frame = skip_shims(&r->layout, newest);

	for (uint32_t i = 0; frame && i < PYTHON_CALLERS_MAX; i++) {
		uintptr_t code = code_of(&r->layout, frame);
		if (is_called(r, &g, code, "_wrapped_call_impl")) {
			found = code;
			break;
		}
		if (!found && is_called(r, &g, code, "_call_impl"))
			found = code;
		frame = next_frame(&r->layout, frame);
	}
	if (found)
		__atomic_store_n(&module_call, found, __ATOMIC_RELAXED);
}

// PyTypeObject begins with a size.
static const char *class_name(const struct python_layout *l, uintptr_t type)
{
	return (const char *)guard_pointer(type, l->object_type + 16);
}

static uint32_t find_modules(const struct python_layout *l, struct op_thread *t, uintptr_t newest,
                             uint32_t frames, struct torch_call *calls)
{
	uintptr_t call = __atomic_load_n(&module_call, __ATOMIC_RELAXED);
	uintptr_t frame = call ? skip_shims(l, newest) : 0;
	uint32_t count = 0;

	for (uint32_t i = 0; frame && i < frames && count < MODULES_MAX;
	     i++, frame = next_frame(l, frame)) {
		if (code_of(l, frame) != call)
			continue;
		uintptr_t self = self_of(l, frame), type = guard_pointer(self, l->object_type);
		uint32_t module =
			torch_modules_number(agent, t->lane, self, type, class_name(l, type));
		if (module)
			calls[count++] = (struct torch_call){ i, module };
	}
	return count;
}

uint32_t python_callers_modules(uintptr_t *modules, uint32_t max)
{
	const struct python_runtime *r = python_checked();
	uintptr_t call = __atomic_load_n(&module_call, __ATOMIC_RELAXED);
	uintptr_t thread = r && call && is_alone(r) ? (uintptr_t)r->own_outside() : 0;
	uint32_t count = 0;

	if (!thread)
		return 0;
	for (uintptr_t frame = skip_shims(&r->layout, newest_of(&r->layout, thread));
	     frame && count < max; frame = next_frame(&r->layout, frame))
		if (code_of(&r->layout, frame) == call)
			modules[count++] = self_of(&r->layout, frame);
	return count;
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

static bool write_chain(struct op_thread *t, uint32_t number, const struct python_chain *chain,
                        const struct torch_call *calls, uint32_t count)
{
	size_t size = sizeof(struct record_python_chain) + python_bytes(chain);

	// A refusal would count as a lost record; but this one only comes later.
	if (lane_room(t->lane) < 2 * (size + count * sizeof(*calls)))
		return false;
	struct record_python_chain *record = (struct record_python_chain *)agent_reserve(
		agent, t->lane, RECORD_PYTHON_CHAIN, size + count * sizeof(*calls));
	if (!record)
		return false;
	record->number = number;
	record->module_count = count;
	memcpy(record + 1, chain, python_bytes(chain));
	memcpy((char *)record + size, calls, count * sizeof(*calls));
	lane_commit(t->lane, &record->head, size + count * sizeof(*calls));
	return true;
}

// Two threads at once both tell it, each before it is used.
static __attribute__((noinline)) bool tell(const struct python_runtime *r, struct op_thread *t,
                                           uintptr_t newest, bool outer, struct slot *slot,
                                           uint32_t now)
{
	uint64_t room[CHAIN_BYTES / sizeof(uint64_t)];
	struct python_chain *chain = (struct python_chain *)room;
	struct torch_call calls[MODULES_MAX];

	walk(t, chain, PYTHON_CALLERS_MAX);
	if (outer && chain->count)
		memmove(chain->frames, chain->frames + 1,
		        --chain->count * sizeof(chain->frames[0]));
	uint32_t modules = find_modules(&r->layout, t, newest, chain->count, calls);
	if (!chain->count || !write_chain(t, (uint32_t)(slot - slots) + 1, chain, calls, modules))
		return false;
	__atomic_store_n(&slot->told, now, __ATOMIC_RELEASE);
	if (modules)
		torch_modules_ask(agent);
	return true;
}

static struct slot *find_known(const struct python_runtime *r, uintptr_t newest, uint32_t now)
{
	struct slot *slot = find(hash_of(&r->layout, newest));

	return slot && __atomic_load_n(&slot->told, __ATOMIC_ACQUIRE) == now ? slot : NULL;
}

static __attribute__((noinline)) struct slot *
add(const struct python_runtime *r, struct op_thread *t, uintptr_t newest, bool outer, uint32_t now)
{
	if (!__atomic_load_n(&module_call, __ATOMIC_RELAXED))
		find_module_call(r, t, newest);
	struct slot *slot = find(hash_of(&r->layout, newest));
	return slot && tell(r, t, newest, outer, slot, now) ? slot : NULL;
}

// OUTER: NEWEST is the second one of the thread's frames.
static inline uint32_t number_of(struct op_thread *t, uintptr_t newest, bool outer)
{
	const struct python_runtime *r = python_checked();
	uint32_t now = __atomic_load_n(&generation, __ATOMIC_RELAXED);

	if (!r)
		return 0;
	struct slot *slot = find_known(r, newest, now);
	if (!slot)
		slot = add(r, t, newest, outer, now);
	return slot ? (uint32_t)(slot - slots) + 1 : 0;
}

uint32_t python_callers_number(struct op_thread *t, uintptr_t newest)
{
	return number_of(t, newest, false);
}

static inline void tell_number(uint32_t number, struct op_details *d, uint64_t *values)
{
	if (!number)
		return;
	for (uint16_t i = d->count; i > 0; i--)
		values[i] = d->values[i - 1];
	values[0] = number;
	*d = (struct op_details){ (uint16_t)(d->kind | OP_DETAIL_CALLED), (uint16_t)(d->count + 1),
		                  values };
}

void python_callers_tell(struct op_thread *t, struct op_details *d, uint64_t *values)
{
	uintptr_t newest = python_callers_newest(t);

	tell_number(newest ? python_callers_number(t, newest) : 0, d, values);
}

void python_callers_tell_outer(struct op_thread *t, struct op_details *d, uint64_t *values)
{
	uintptr_t newest = python_callers_newest(t);
	const struct python_runtime *r = newest ? python_checked() : NULL;
	uintptr_t outer = r ? next_frame(&r->layout, skip_shims(&r->layout, newest)) : 0;

	tell_number(outer ? number_of(t, outer, true) : 0, d, values);
}
