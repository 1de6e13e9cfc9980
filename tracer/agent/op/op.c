// SPDX-License-Identifier: MIT
#include "tracer/agent/op/op.h"

#include "base/clock.h"
#include "base/device_bytes.h"
#include "base/op.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/op/op_state.h"
#include "tracer/agent/sample/registers.h"
#include "tracer/agent/sample/sample.h"
#include "tracer/agent/sample/threads.h"
#include "tracer/agent/table.h"

#include <errno.h>
#include <string.h>

#define END_BYTES   sizeof(struct record_op_end)
#define OWED_BYTES  (END_BYTES + sizeof(struct op_device_bytes)) // of an END, at most
#define LOOK_BYTES  ((size_t)64 << 10) // the ring's room is looked at after so many at the latest
#define FILL_BYTES  ((size_t)4096)     // more than fillers take between two looks
#define SITES_BITS  12
#define SITES       (1u << SITES_BITS)
#define SITES_TRIED 8
#define SITES_PARTS 32
#define FULL_NS     (20 * NS_PER_US)
#define SITE_STACK  8192
#define AHEAD       256 // of the ring's place: two ops
#define EMPTIES     16
#define EMPTIES_NS  NS_PER_MS // from one set of them to the next of the same thread, at least

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define INLINE      static inline __attribute__((always_inline)) // on the path of every op

#define OWN         __thread __attribute__((tls_model("initial-exec")))
OWN struct op_memory *op_memory;
OWN struct op_bytes op_tensors, op_devices;
AGENT_TABLE static uint64_t sites[SITES]; // atomic: callers of hooks whose stack has been told
static uint32_t touched_sites;            // atomic: bit I: part I of them has been written to
static bool uses_devices;                 // atomic: op_use_devices() has been called
bool op_wants_empties;

INLINE uint64_t allocated_bytes(void)
{
	return op_memory ? op_memory->allocated_bytes : 0;
}

INLINE uint64_t freed_bytes(void)
{
	return op_memory ? op_memory->freed_bytes : 0;
}

static __attribute__((noinline)) bool look_for_room(struct op_thread *t, size_t size, uint64_t now)
{
	if (now < t->full_until_ns)
		return false;
	size_t room = lane_room(t->lane);
	room = room > FILL_BYTES ? room - FILL_BYTES : 0;
	t->room = room < LOOK_BYTES ? room : LOOK_BYTES;
	if (t->room >= size)
		return true;
	t->full_until_ns = now + FULL_NS;
	return false;
}

INLINE bool has_room(struct op_thread *t, size_t size, uint64_t now)
{
	return likely(t->room >= size) || look_for_room(t, size, now);
}

// Threads that all count in one place would wait for each other's cache lines.
static void count(struct op_thread *t, uint32_t name, const struct op_counts *counts)
{
	struct op_twin *twin = &t->twins[name % OP_TWINS];

	if (!twin->name)
		*twin = (struct op_twin){ name, names_twin(&op_names, name) };
	if (likely(twin->name == name && twin->twin))
		names_count_alone(&op_names, twin->twin, counts);
	else
		names_count(&op_names, name, counts);
}

// A call that took NS, and CALLS - 1 that were not seen: those were not held up as this one may
// have been.
static uint64_t of_all(uint32_t calls, uint64_t ns)
{
	return ns + (calls - 1) * (ns < OP_STALL_NS ? ns : OP_STALL_NS);
}

static void count_calls(struct op_thread *t, uint32_t name, uint32_t calls, uint64_t total_ns,
                        uint64_t self_ns, bool within_itself)
{
	uint64_t sum_ns = of_all(calls, total_ns);
	const struct op_counts counts = { .calls = calls,
		                          .total_ns = within_itself ? 0 : sum_ns,
		                          .sum_ns = sum_ns,
		                          .self_ns = of_all(calls, self_ns) };

	count(t, name, &counts);
}

static __attribute__((noinline)) void *take_slowly(struct op_thread *t, size_t size)
{
	int error = errno;
	void *place = lane_take(t->lane, op_agent->rings.by_populate, size);

	errno = error;
	return place;
}

// What __builtin_prefetch() makes of it for any x86-64 leaves the line shared.
INLINE void fetch_to_write(const uint8_t *line)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0" : : "m"(*line));
#else
	__builtin_prefetch(line, 1);
#endif
}

// Room that is known to be free: only its place is to be found.
INLINE void *take(struct op_thread *t, size_t size)
{
	struct lane *lane = t->lane;
	size_t at = lane->ring.position & lane->ring.mask;

	if (unlikely(at + size > lane->ready))
		return take_slowly(t, size);
	// The collector has read here: the lines come back while the op runs.
	fetch_to_write(lane->ring.data + at + AHEAD);
	fetch_to_write(lane->ring.data + at + AHEAD + 64);
	return lane->ring.data + at;
}

// The same for a record that is written now and then.
static void *reserve(struct op_thread *t, size_t size)
{
	int error = errno;
	void *place = lane_reserve(t->lane, op_agent->rings.by_populate, size);

	t->room = 0;
	errno = error;
	return place;
}

INLINE void head(const struct op_thread *t, struct record *record, uint16_t type, uint16_t flags,
                 uint64_t time_ns)
{
	record->type = type;
	record->flags = flags;
	record->pid = op_agent->pid;
	record->tid = t->tid;
	record->time_ns = time_ns;
}

static __attribute__((noinline)) bool is_unknown_site(uint64_t caller)
{
	for (uint32_t i = 0; i < SITES_TRIED; i++) {
		uint32_t at = (op_spread(caller, SITES_BITS) + i) % SITES;
		uint64_t *site = &sites[at];
		uint64_t known = __atomic_load_n(site, __ATOMIC_RELAXED);
		if (likely(known == caller))
			return false;
		// Before it is: another thread may fork in between.
		if (!known)
			__atomic_fetch_or(&touched_sites, 1u << at / (SITES / SITES_PARTS),
			                  __ATOMIC_SEQ_CST);
		if (!known && __atomic_compare_exchange_n(site, &known, caller, false,
		                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

INLINE bool is_new_site(uint64_t caller)
{
	return unlikely(__atomic_load_n(&sites[op_spread(caller, SITES_BITS)], __ATOMIC_RELAXED) !=
	                caller) &&
	       is_unknown_site(caller);
}

// Where hooks are called from for the first time, the collector gets to see the stack.
static __attribute__((noinline)) void write_site(struct op_thread *t, uint32_t name,
                                                 struct op_here here, uint64_t now)
{
	size_t size = sizeof(struct record_op_site) + SITE_STACK;
	struct record_op_site *site = reserve(t, size);
	int error = errno;

	if (!site)
		return;
	head(t, &site->head, RECORD_OP_SITE, 0, now);
	site->stack = here.stack;
	site->caller = here.caller;
	site->name = name;
	threads_bound_stack(t->lane);
	registers_here(site->regs);
	site->stack_bytes =
		(uint32_t)sample_copy_stack(site + 1, t->lane, site->regs[DWARF_RSP], SITE_STACK);
	errno = error;
	lane_commit(t->lane, &site->head, record_align(sizeof(*site) + site->stack_bytes));
}

void op_show(struct op_thread *t, uint32_t name, struct op_here here)
{
	is_new_site(here.caller); // it is none any more
	if (name)
		write_site(t, name, here, clock_now_ns());
}

INLINE bool write_begin(struct op_thread *t, uint16_t type, uint16_t flags, uint64_t now,
                        uint32_t name, struct op_here here, const struct op_details *d)
{
	uint16_t count = d ? d->count : 0;
	size_t size = sizeof(struct record_op_begin) + count * sizeof(uint64_t);

	if (unlikely(is_new_site(here.caller)))
		write_site(t, name, here, now);
	if (unlikely(!has_room(t, size + OWED_BYTES, now)))
		return false;
	struct record_op_begin *begin = take(t, size);
	if (unlikely(!begin))
		return false;
	head(t, &begin->head, type, flags, now);
	begin->stack = here.stack;
	begin->caller = here.caller;
	begin->name = name;
	begin->detail = d ? d->kind : OP_DETAIL_NONE;
	begin->detail_count = count;
	// Volatile, or it would be a call of memcpy().
	for (uint16_t i = 0; i < count; i++)
		((volatile uint64_t *)(begin + 1))[i] = d->values[i];
	t->room -= size;
	lane_commit(t->lane, &begin->head, size);
	return true;
}

void op_weigh(struct op_details *d, uint64_t *values, uint32_t weight)
{
	for (uint16_t i = d->count; i > 0; i--)
		((volatile uint64_t *)values)[i] = values[i - 1];
	values[0] = (uint64_t)weight * OP_WEIGHT_ONE | (uint64_t)OP_WINDOW_OF_ONE << 32;
	d->kind |= OP_DETAIL_WEIGHT;
	d->count++;
	d->values = values;
}

static void owe_end(struct op_thread *t)
{
	t->room -= OWED_BYTES;
	t->lane->owed += OWED_BYTES;
}

void op_use_devices(uint64_t allocated, uint64_t freed)
{
	if (!__atomic_load_n(&uses_devices, __ATOMIC_RELAXED))
		__atomic_store_n(&uses_devices, true, __ATOMIC_RELAXED);
	op_devices.allocated += allocated;
	op_devices.freed += freed;
}

static struct op_on_devices *on_devices(struct op_thread *t, const struct op_open *open)
{
	return &t->devices[open - t->open];
}

// Until then the numbers of all that is open are the zeros that they were at its begin.
INLINE void open_devices(struct op_thread *t, const struct op_open *open)
{
	if (unlikely(__atomic_load_n(&uses_devices, __ATOMIC_RELAXED)))
		*on_devices(t, open) = (struct op_on_devices){ .begun = op_devices };
}

// How many of OWNER are among the outermost DEPTH ops.
static uint32_t level_in(const struct op_thread *t, uint32_t owner, uint32_t depth)
{
	for (; depth > 0; depth--)
		if (t->open[depth - 1].owner == owner)
			return t->open[depth - 1].level + 1;
	return 0;
}

static uint32_t depth_in(const struct op_thread *t, uint32_t owner)
{
	uint32_t kept = t->depth < OP_DEPTH_MAX ? t->depth : OP_DEPTH_MAX;

	return t->depth - kept + level_in(t, owner, kept);
}

// Field by field: gcc clears a whole struct by a string instruction, which takes longer than all
// the rest.
INLINE void open_op(struct op_open *open, uint64_t now, uint32_t name, uint32_t owner)
{
	open->begin_ns = open->from_ns = now;
	open->below_ns = 0;
	open->allocated_bytes = allocated_bytes();
	open->freed_bytes = freed_bytes();
	open->below_allocated_bytes = open->below_freed_bytes = 0;
	open->tensors = op_tensors;
	open->below_tensors.allocated = open->below_tensors.freed = 0;
	open->name = name;
	open->owner = owner;
}

static __attribute__((noinline)) uint32_t calls_of(const struct op_details *d)
{
	uint64_t weight = d && d->kind & OP_DETAIL_WEIGHT ? (uint32_t)d->values[0] : OP_WEIGHT_ONE;

	return (uint32_t)((weight + OP_WEIGHT_ONE / 2) / OP_WEIGHT_ONE);
}

// LEVEL: of the op that begins.
INLINE void begin(struct op_thread *t, uint32_t owner, uint32_t level, uint32_t name,
                  struct op_here here, const struct op_details *d)
{
	struct op_open *open = &t->open[t->depth++];
	uint64_t now = stopwatch_now_ns(&t->watch);

	open_op(open, now, name, owner);
	open_devices(t, open);
	open->level = level;
	open->written = name && write_begin(t, RECORD_OP_BEGIN, 0, now, name, here, d);
	if (likely(open->written))
		owe_end(t);
	else
		open->calls = calls_of(d);
}

// Deeper than is kept: counted only.
static __attribute__((noinline)) void begin_deep(struct op_thread *t, uint32_t name)
{
	t->depth++;
	op_count_timeless(t, name);
}

uint32_t op_begin_in(struct op_thread *t, uint32_t owner, uint32_t name, struct op_here here,
                     const struct op_details *d)
{
	if (unlikely(t->depth >= OP_DEPTH_MAX)) {
		begin_deep(t, name);
		return depth_in(t, owner);
	}
	uint32_t level = level_in(t, owner, t->depth);
	begin(t, owner, level, name, here, d);
	return level + 1;
}

void op_begin_alone(struct op_thread *t, uint32_t owner, uint32_t name, struct op_here here,
                    const struct op_details *d)
{
	if (likely(t->depth < OP_DEPTH_MAX))
		begin(t, owner, 0, name, here, d);
	else
		begin_deep(t, name);
}

void op_begin(struct op_thread *t, uint32_t name, struct op_here here, const struct op_details *d)
{
	op_begin_alone(t, 0, name, here, d);
}

uint64_t op_begin_call(struct op_thread *t, uint32_t name, struct op_here here)
{
	uint32_t depth = t->depth;

	if (unlikely(depth >= OP_DEPTH_MAX)) {
		op_count_timeless(t, name);
		return 0;
	}
	begin(t, 0, 0, name, here, NULL);
	return t->open[depth].begin_ns;
}

// Looking for room, and for memory of the ring, are system calls at most.
bool op_begins_quickly(const struct op_thread *t, uint64_t caller)
{
	return t->depth < OP_DEPTH_MAX &&
	       __atomic_load_n(&sites[op_spread(caller, SITES_BITS)], __ATOMIC_RELAXED) == caller;
}

bool op_ends_quickly(const struct op_thread *t, uint64_t begin_ns)
{
	if (!t->depth || t->depth > OP_DEPTH_MAX)
		return false;
	const struct op_open *open = &t->open[t->depth - 1];
	if (open->begin_ns != begin_ns || (op_wants_empties && t->watch.anchored))
		return false;
	const struct op_twin *twin = &t->twins[open->name % OP_TWINS];
	return open->written || (twin->name == open->name && twin->twin);
}

static void tell_tensors(struct record_op_end *end, const struct op_open *open)
{
	end->allocated_bytes = op_tensors.allocated - open->tensors.allocated;
	end->freed_bytes = op_tensors.freed - open->tensors.freed;
	end->self_allocated_bytes = end->allocated_bytes - open->below_tensors.allocated;
	end->self_freed_bytes = end->freed_bytes - open->below_tensors.freed;
}

// What OPEN has had of devices, which the op AROUND it (or NULL) has had, too. Whether it is any.
static __attribute__((noinline)) bool close_devices(struct op_thread *t, const struct op_open *open,
                                                    const struct op_open *around,
                                                    struct op_device_bytes *bytes)
{
	const struct op_on_devices *own = on_devices(t, open);

	bytes->allocated_bytes = op_devices.allocated - own->begun.allocated;
	bytes->freed_bytes = op_devices.freed - own->begun.freed;
	bytes->self_allocated_bytes = bytes->allocated_bytes - own->below.allocated;
	bytes->self_freed_bytes = bytes->freed_bytes - own->below.freed;
	if (around) {
		on_devices(t, around)->below.allocated += bytes->allocated_bytes;
		on_devices(t, around)->below.freed += bytes->freed_bytes;
	}
	return bytes->allocated_bytes || bytes->freed_bytes;
}

// An op's total holds the calls of itself within it once.
static bool is_within_itself(const struct op_thread *t, const struct op_open *open)
{
	for (const struct op_open *outer = open; outer-- > t->open;)
		if (outer->name == open->name)
			return true;
	return false;
}

// OPEN, which the next outer op is AROUND (or NULL), is no more.
INLINE void close_op(struct op_thread *t, const struct op_open *open, struct op_open *around,
                     uint64_t now, uint16_t flags)
{
	uint64_t allocated = allocated_bytes() - open->allocated_bytes;
	uint64_t freed = freed_bytes() - open->freed_bytes;
	uint64_t total = now - open->begin_ns;
	struct op_device_bytes devices;
	bool uses = unlikely(__atomic_load_n(&uses_devices, __ATOMIC_RELAXED)) &&
	            close_devices(t, open, around, &devices);
	size_t bytes = END_BYTES + (uses ? sizeof(devices) : 0);

	if (around) {
		around->below_ns += now - open->from_ns;
		around->below_allocated_bytes += allocated;
		around->below_freed_bytes += freed;
		around->below_tensors.allocated += op_tensors.allocated - open->tensors.allocated;
		around->below_tensors.freed += op_tensors.freed - open->tensors.freed;
	}
	if (unlikely(!open->written)) {
		if (open->name)
			count_calls(t, open->name, open->calls, total, total - open->below_ns,
			            is_within_itself(t, open));
		return;
	}
	t->lane->owed -= OWED_BYTES;
	struct record_op_end *end = take(t, bytes);
	if (unlikely(!end))
		return;
	head(t, &end->head, RECORD_OP_END, flags | (uses ? OP_ON_DEVICES : 0), now);
	end->begin_ns = open->begin_ns;
	end->self_ns = total - open->below_ns;
	end->allocated_bytes = allocated;
	end->freed_bytes = freed;
	end->self_allocated_bytes = allocated - open->below_allocated_bytes;
	end->self_freed_bytes = freed - open->below_freed_bytes;
	if (open->owner >> 24 == OP_TORCH)
		tell_tensors(end, open);
	end->name = open->name;
	end->begin_tid = t->tid;
	if (unlikely(uses))
		*(struct op_device_bytes *)(end + 1) = devices;
	lane_commit(t->lane, &end->head, bytes);
}

static void make_empties(struct op_thread *t, uint64_t now);

INLINE void end_innermost(struct op_thread *t, uint16_t flags)
{
	struct op_open *open = &t->open[t->depth - 1];
	bool anchored =
		t->watch.anchored; // before this reading: op_ends_quickly() has seen the same
	uint64_t now = stopwatch_now_ns(&t->watch);

	t->depth--;
	close_op(t, open, t->depth ? open - 1 : NULL, now, flags);
	if (unlikely(anchored))
		make_empties(t, now);
}

// What began later goes on, in the op around this one: it was on top until now.
static __attribute__((noinline)) void end_below(struct op_thread *t, uint32_t index, uint16_t flags)
{
	struct op_open *open = &t->open[index];
	uint64_t now = stopwatch_now_ns(&t->watch);

	open->below_ns += now - open[1].from_ns;
	open[1].from_ns = now;
	close_op(t, open, index ? open - 1 : NULL, now, flags | OP_UNORDERED);
	t->depth--;
	memmove(open, open + 1, (t->depth - index) * sizeof(*open));
	memmove(&t->devices[index], &t->devices[index + 1],
	        (t->depth - index) * sizeof(t->devices[0]));
}

// Of the ones deeper than are kept nobody knows whose they are: they end first.
uint32_t op_end_in(struct op_thread *t, uint32_t owner)
{
	if (unlikely(t->depth > OP_DEPTH_MAX)) {
		uint32_t depth = depth_in(t, owner);
		t->depth--;
		return depth;
	}
	for (uint32_t i = t->depth; i > 0; i--) {
		uint32_t level = t->open[i - 1].level;
		if (t->open[i - 1].owner != owner)
			continue;
		if (likely(i == t->depth))
			end_innermost(t, 0);
		else
			end_below(t, i - 1, 0);
		return level + 1;
	}
	return 0;
}

void op_end_call(struct op_thread *t, uint64_t begin_ns, uint16_t flags)
{
	uint32_t beyond = t->depth > OP_DEPTH_MAX ? t->depth - OP_DEPTH_MAX : 0;

	t->depth -= beyond;
	for (uint32_t i = t->depth; i > 0; i--) {
		if (t->open[i - 1].begin_ns != begin_ns)
			continue;
		if (likely(i == t->depth))
			end_innermost(t, flags);
		else
			end_below(t, i - 1, flags);
		break;
	}
	t->depth += beyond;
}

void op_end(struct op_thread *t)
{
	op_end_in(t, 0);
}

// OP_EMPTY and OP_EMPTIES, behind an op that has ended: as warm as what it is compared with, and no
// part of it.
static __attribute__((noinline)) void make_empties(struct op_thread *t, uint64_t now)
{
	uint32_t owner = OP_OWNER(OP_API, 2);
	struct op_here here = OP_HERE();

	t->watch.anchored = false;
	if (likely(!op_wants_empties) || now < t->emptied_ns + EMPTIES_NS ||
	    t->depth > OP_DEPTH_MAX / 2)
		return;
	t->emptied_ns = UINT64_MAX - EMPTIES_NS; // these end, too
	uint32_t empty = op_name(t, OP_API, 0, OP_EMPTY), row = op_name(t, OP_API, 0, OP_EMPTIES);
	for (int i = 0; i < EMPTIES; i++) {
		op_begin_in(t, owner, empty, here, NULL);
		op_end_in(t, owner);
	}
	op_begin_in(t, owner, row, here, NULL);
	for (int i = 0; i < OP_EMPTY_ROW; i++) {
		op_begin_in(t, owner, empty, here, NULL);
		op_end_in(t, owner);
	}
	op_end_in(t, owner);
	t->emptied_ns = now;
}

struct op_range op_range_begin(struct op_thread *t, uint32_t name, struct op_here here,
                               const struct op_details *d)
{
	uint64_t now = stopwatch_now_ns(&t->watch);
	struct op_range range = { now, t->tid, name };

	if (!name || !write_begin(t, RECORD_OP_BEGIN, OP_RANGE, now, name, here, d))
		range.tid = 0; // its end counts it
	return range;
}

void op_range_end(struct op_thread *t, struct op_range range)
{
	bool anchored = t->watch.anchored;
	uint64_t now = stopwatch_now_ns(&t->watch);
	struct record_op_end *end = NULL;

	if (range.tid && has_room(t, END_BYTES, now))
		end = take(t, END_BYTES);
	if (!end) {
		if (range.name)
			count_calls(t, range.name, 1, now - range.begin_ns, 0, false);
		return;
	}
	*end = (struct record_op_end){ .begin_ns = range.begin_ns,
		                       .name = range.name,
		                       .begin_tid = range.tid };
	head(t, &end->head, RECORD_OP_END, OP_RANGE, now);
	t->room -= END_BYTES;
	lane_commit(t->lane, &end->head, END_BYTES);
	if (unlikely(anchored))
		make_empties(t, now);
}

void op_mark(struct op_thread *t, uint32_t name, struct op_here here, const struct op_details *d)
{
	uint64_t now = stopwatch_now_ns(&t->watch);

	if (name && !write_begin(t, RECORD_OP_MARK, 0, now, name, here, d))
		count(t, name, &(struct op_counts){ .marks = 1 });
}

void op_count(struct op_thread *t, uint32_t name, uint64_t total_ns)
{
	if (name)
		count_calls(t, name, 1, total_ns, 0, false);
}

void op_count_timeless(struct op_thread *t, uint32_t name)
{
	if (name)
		count(t, name, &(struct op_counts){ .calls = 1, .timeless = 1 });
}

// A record of HEAD_SIZE and TEXT behind it.
static void write_text(struct op_thread *t, uint16_t type, uint16_t flags, uint32_t tid,
                       size_t head_size, const char *text)
{
	size_t length = strnlen(text, PROTOCOL_NAME_TEXT);
	size_t size = record_align(head_size + length + 1);
	struct record *record = reserve(t, size);

	if (!record)
		return;
	memset(record, 0, size);
	head(t, record, type, flags, stopwatch_now_ns(&t->watch));
	record->tid = tid;
	memcpy((char *)record + head_size, text, length);
	lane_commit(t->lane, record, size);
}

void op_thread_name(struct op_thread *t, uint32_t tid, const char *name)
{
	write_text(t, RECORD_THREAD, THREAD_GIVEN, tid, sizeof(struct record_name), name);
}

void op_note(struct op_thread *t, const char *text)
{
	write_text(t, RECORD_NOTE, 0, t->tid, sizeof(struct record_note), text);
}

void op_say(const char *text)
{
	struct op_thread *t = op_enter();

	if (!t)
		return;
	op_note(t, text);
	op_leave(t);
}

void op_close_all(struct op_thread *t)
{
	if (t->depth > OP_DEPTH_MAX)
		t->depth = OP_DEPTH_MAX;
	while (t->depth)
		end_innermost(t, OP_LEFT_OPEN);
}

// As names_abandon().
void op_forget_sites(void)
{
	const size_t part = SITES / SITES_PARTS;

	for (uint32_t i = 0; i < SITES_PARTS; i++)
		if (touched_sites & 1u << i)
			memset(sites + i * part, 0, part * sizeof(sites[0]));
	touched_sites = 0;
}
