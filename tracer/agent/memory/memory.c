// SPDX-License-Identifier: MIT
#include "tracer/agent/memory/memory.h"

#include "base/clock.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/memory/memory_slots.h"
#include "tracer/agent/python/python.h"
#include "tracer/agent/sample/registers.h"
#include "tracer/agent/sample/sample.h"
#include "tracer/agent/sample/threads.h"
#include "tracer/agent/table.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define TELL_MEANS  2 // RECORD_MEMORY after so many means of bytes at the latest
#define TELL_NS     (5 * NS_PER_MS)
#define LOOKS       64
#define STACK_LEAST 1024 // bytes, some 300 of which are our own frames

AGENT_LARGE struct memory memory;
uint8_t memory_way;
__thread uint64_t memory_left __attribute__((tls_model("initial-exec")));

static struct agent *agent; // NULL: nothing is looked at
static bool wiped;          // by the kernel, in each child

void memory_start(struct agent *a)
{
	wiped = madvise(&memory, sizeof(memory), MADV_WIPEONFORK) == 0;
	agent = a;
}

static bool joined;

// Threads keep their slots, which they know.
void memory_begin_again(void)
{
	joined = true;
	memory_slots_begin_again();
	memory.budget = (struct poisson_budget){ 0 };
	for (uint32_t i = 0; i < memory_slots_count(); i++) {
		struct memory_thread *t = &memory.threads[i];
		uint32_t tid = __atomic_load_n(&t->tid, __ATOMIC_RELAXED);
		struct poisson random = t->poisson;
		*t = (struct memory_thread){ .poisson = random,
			                     .tell_at = TELL_MEANS * random.mean,
			                     .step = memory_slots_step(),
			                     .tid = tid,
			                     .late = true };
		t->sample_at = random.mean ? poisson_distance(&t->poisson) : 0;
	}
	if (memory.sampled.used)
		memset(&memory.sampled, 0, sizeof(memory.sampled));
}

void memory_fork(void)
{
	memory_left = 0;
	if (wiped || !agent)
		return; // and perhaps used again, or never used
	memset(&memory, 0, offsetof(struct memory, threads));
	memset(memory.threads, 0, memory_slots_count() * sizeof(memory.threads[0]));
	op_memory = NULL;
}

static void draw(struct memory_thread *t)
{
	t->shift = __atomic_load_n(&memory.budget.shift, __ATOMIC_RELAXED);
	t->poisson.mean = (uint64_t)agent->config.malloc_bytes << t->shift;
	t->sample_at = t->totals.allocated_bytes + poisson_distance(&t->poisson);
	t->step = memory_slots_step();
}

// The calling thread's slot; NULL if there is none.
static struct memory_thread *begin_thread(void)
{
	// An agent that is off may be so because such calls are forbidden.
	uint32_t tid = agent->on ? (uint32_t)syscall(SYS_gettid) : 0;
	struct memory_thread *t = tid ? memory_slots_claim(tid) : NULL;

	if (!t)
		return NULL;
	t->looking = false;
	t->late = joined;
	poisson_start(&t->poisson, clock_now_ns() + ((uint64_t)tid << 32),
	              agent->config.malloc_bytes);
	draw(t);
	t->tell_at = TELL_MEANS * t->poisson.mean;
	return t;
}

// Of a new thread, or in a wiped slot: of a forked child's, with what it has counted since.
static struct memory_thread *find_thread(struct op_memory *counted)
{
	struct memory_thread *t = (struct memory_thread *)op_memory;
	int error = errno;

	memory_slots_begin();
	if (t) {
		*counted = t->totals;
		memset(t, 0, sizeof(*t));
	}
	t = begin_thread();
	op_memory = t ? &t->totals : NULL;
	if (t)
		memory_slots_add(&t->totals, counted);
	else
		memory_slots_do_without(counted);
	errno = error;
	return t;
}

static void head(struct record *record, uint16_t type, const struct lane *lane)
{
	record->type = type;
	record->flags = 0;
	record->pid = agent->pid;
	record->tid = lane->tid;
	record->time_ns = clock_now_ns();
}

static void *reserve(struct lane *lane, uint16_t type, size_t size)
{
	struct record *record = lane_reserve(lane, agent->rings.by_populate, size);

	if (record)
		head(record, type, lane);
	return record;
}

static uint64_t positive(int64_t bytes)
{
	return bytes > 0 ? (uint64_t)bytes : 0;
}

static void fill_totals(struct record_memory *record, const struct op_memory *part)
{
	record->allocations = part->allocations;
	record->frees = part->frees;
	record->allocated_bytes = part->allocated_bytes;
	record->freed_bytes = part->freed_bytes;
	record->live_bytes = positive(memory_slots_settle());
	record->peak_bytes = positive(memory_slots_peak());
	record->allocations_variance = part->allocations_variance;
	record->bytes_variance = part->bytes_variance;
}

static bool write_totals(struct lane *lane, const struct op_memory *part)
{
	struct record_memory *record = reserve(lane, RECORD_MEMORY, sizeof(*record));

	if (!record)
		return false;
	fill_totals(record, part);
	lane_commit(lane, &record->head, sizeof(*record));
	return true;
}

// What nobody else will tell comes along.
static void tell(struct memory_thread *t, struct lane *lane)
{
	struct op_memory part = memory_slots_take_extra(), extra = part;
	struct op_memory own = memory_untold(t);

	memory_slots_add(&part, &own);
	if (write_totals(lane, &part))
		t->told = t->totals;
	else
		memory_slots_add(&memory.extra, &extra);
	t->told_ns = clock_now_ns();
	t->tell_at =
		t->totals.allocated_bytes + t->totals.freed_bytes + TELL_MEANS * t->poisson.mean;
}

static void tell_alone(struct memory_thread *t)
{
	int error = errno;
	struct lane *lane = op_take_lane();

	if (lane) {
		tell(t, lane);
		op_give_lane();
	}
	errno = error;
}

static void fill(struct record_alloc *record, struct lane *lane, size_t room,
                 const struct python_chain *python)
{
	size_t most = agent->config.stack_bytes < room ? agent->config.stack_bytes : room;

	record->reserved = 0;
	threads_bound_stack(lane);
	registers_here(record->regs);
	record->stack_bytes =
		(uint32_t)sample_copy_stack(record + 1, lane, record->regs[DWARF_RSP], most);
	size_t size = record_align(sizeof(*record) + record->stack_bytes);
	if (python) {
		record->head.flags |= ALLOC_PYTHON;
		memcpy((char *)record + size, python, python_bytes(python));
	}
	lane_commit(lane, &record->head, size + python_bytes(python));
}

// NULL: the thread runs no Python.
static const struct python_chain *find_python(struct lane *lane)
{
	struct python_chain *chain = python_is_there() ? python_scratch(lane) : NULL;

	if (!chain)
		return NULL;
	python_walk(agent, lane, (uintptr_t)__builtin_frame_address(0), chain, PYTHON_FRAMES_MAX);
	return chain->count ? chain : NULL;
}

// The fuller the ring, the shorter: rather all samples with the ends of their stacks than some with
// whole ones.
static size_t stack_room(struct lane *lane)
{
	size_t room = lane_room(lane), stack = MEMORY_STACK;

	for (size_t part = (lane->ring.mask + 1) / 2; room < part && stack > STACK_LEAST; part /= 2)
		stack /= 4;
	return stack;
}

// CALLS: that the allocation stands for, in the totals.
static void write_sample(struct lane *lane, uint64_t address, uint64_t bytes, uint64_t weight,
                         double calls)
{
	const struct python_chain *python = find_python(lane);
	struct memory_block block = { .calls = (float)calls, .told = true };
	bool tracked = memory_table_add(&memory.sampled, address, block);
	size_t stack = stack_room(lane);
	struct record_alloc *record =
		reserve(lane, RECORD_ALLOC, sizeof(*record) + stack + python_bytes(python));

	if (!record) {
		block.told = false;
		if (tracked)
			memory_table_add(&memory.sampled, address, block);
		return;
	}
	record->head.flags = tracked ? 0 : ALLOC_UNTRACKED;
	record->address = address;
	record->bytes = bytes;
	record->weight_bytes = weight;
	fill(record, lane, stack, python);
}

static void sample(struct memory_thread *t, const void *p, size_t bytes)
{
	int error = errno;
	struct lane *lane = op_take_lane();

	if (lane) {
		memory_slots_publish(t);
		write_sample(lane, (uint64_t)(uintptr_t)p, bytes,
		             poisson_weight(&t->poisson, bytes), poisson_calls(&t->poisson, bytes));
		tell(t, lane);
		poisson_spend(&memory.budget, clock_now_ns());
		op_give_lane();
	}
	errno = error;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void set_marks(struct memory_thread *t)
{
	uint64_t up = positive(t->step - memory_lead(t)), down = positive(t->step + memory_lead(t));
	uint64_t moved = t->totals.allocated_bytes + t->totals.freed_bytes;
	uint64_t tell = t->tell_at > moved ? t->tell_at - moved : MEMORY_STEP_BYTES;

	t->look_at = least(t->sample_at, t->totals.allocated_bytes + up);
	t->free_look_at =
		t->totals.freed_bytes + (memory_slots_are_lazy() ? tell : least(tell, down));
}

// In a storm samples are rare, which is not to be seen in the totals, nor longer than it lasts.
static void look_at_clock(struct memory_thread *t)
{
	uint64_t now = clock_now_ns();

	poisson_rest(&memory.budget, now);
	if (now - t->told_ns >= TELL_NS)
		tell_alone(t);
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec t = { 0, 0 };
	int error = errno;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	errno = error;
	return (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
}

// Whether counting T's calls has taken more than it may, all in all: a short storm costs little.
static void judge(struct memory_thread *t)
{
	uint64_t calls = t->totals.allocations + t->totals.frees;

	// It has done nothing of what its thread had taken before.
	if (t->late && !t->begun_cpu_ns)
		t->begun_cpu_ns = thread_cpu_ns();
	if (!agent->config.malloc_allowed || calls < MEMORY_CALLS_FIRST ||
	    calls - t->judged_calls < MEMORY_CALLS_FIRST / 16)
		return;
	t->judged_calls = calls;
	double most =
		agent->config.malloc_allowed / 1e6 * (double)(thread_cpu_ns() - t->begun_cpu_ns);
	uint8_t directly = MEMORY_DIRECTLY;
	if ((double)(calls - MEMORY_CALLS_FIRST) * MEMORY_CALL_NS > most)
		__atomic_compare_exchange_n(&memory_way, &directly, MEMORY_IN_PART, false,
		                            __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) void look_closely(struct memory_thread *t, const void *p,
                                                   size_t bytes, bool hit)
{
	memory_slots_publish_if_due(t);
	if (hit)
		sample(t, p, bytes);
	else if (t->totals.allocated_bytes + t->totals.freed_bytes >= t->tell_at)
		tell_alone(t);
	if (t->shift && t->looks % LOOKS == 0)
		look_at_clock(t);
	if (t->looks % LOOKS == 0)
		judge(t);
	// The chance of what is to come does not hang on how long it has not come.
	if (hit || t->shift != __atomic_load_n(&memory.budget.shift, __ATOMIC_RELAXED))
		draw(t);
}

// P is NULL if nothing has been allocated. Most looks are of who takes and gives back the same.
static inline void look(struct memory_thread *t, const void *p, size_t bytes)
{
	bool hit = p && t->totals.allocated_bytes >= t->sample_at;
	int64_t up = memory_lead(t);

	if (hit || up >= t->step / 2 || (up <= -t->step / 2 && !memory_slots_are_lazy()) ||
	    t->totals.allocated_bytes + t->totals.freed_bytes >= t->tell_at ||
	    t->shift != __atomic_load_n(&memory.budget.shift, __ATOMIC_RELAXED) ||
	    ++t->looks % LOOKS == 0)
		look_closely(t, p, bytes, hit);
	set_marks(t);
}

static inline void look_once(struct memory_thread *t, const void *p, size_t bytes)
{
	// A handler, in the middle of a look: the next one will do.
	if (t->looking)
		return;
	t->looking = true;
	__asm__ volatile("" ::: "memory");
	look(t, p, bytes);
	__asm__ volatile("" ::: "memory");
	t->looking = false;
}

static __attribute__((noinline)) void begin_with(struct op_memory counted, const void *p,
                                                 size_t bytes)
{
	struct memory_thread *t = find_thread(&counted);

	if (t)
		look_once(t, p, bytes);
}

static inline bool is_known(const struct memory_thread *t)
{
	return t && __atomic_load_n(&t->tid, __ATOMIC_RELAXED);
}

void memory_look(const void *p, size_t bytes)
{
	struct memory_thread *t = (struct memory_thread *)op_memory;

	if (is_known(t))
		look_once(t, p, bytes);
	else
		begin_with((struct op_memory){ .allocations = 1, .allocated_bytes = bytes }, p,
		           bytes);
}

void memory_look_free(size_t bytes)
{
	struct memory_thread *t = (struct memory_thread *)op_memory;

	if (is_known(t))
		look_once(t, NULL, 0);
	else
		begin_with((struct op_memory){ .frees = 1, .freed_bytes = bytes }, NULL, 0);
}

static void write_free(uint64_t address)
{
	struct lane *lane = op_take_lane();
	struct record_free *record = lane ? reserve(lane, RECORD_FREE, sizeof(*record)) : NULL;

	if (record) {
		record->address = address;
		lane_commit(lane, &record->head, sizeof(*record));
	}
	if (lane)
		op_give_lane();
}

void memory_free_sampled(const void *p)
{
	uint64_t address = (uint64_t)(uintptr_t)p;
	int error = errno;

	if (memory_table_remove(&memory.sampled, address).told)
		write_free(address);
	errno = error;
}

// In part.

// The mean between hits is that of samples, and longer where more are alive than the table holds
// well.
static void draw_part(struct memory_thread *t)
{
	uint32_t used = __atomic_load_n(&memory.sampled.used, __ATOMIC_RELAXED);

	if (!t->part.mean)
		poisson_start(&t->part, t->poisson.state, 0);
	t->part.mean = (uint64_t)agent->config.malloc_bytes << used / TABLE_EASY;
	memory_left = poisson_distance(&t->part);
}

// Of CALLS the whole ones; the rest is for the next time.
static uint64_t whole(double *rest, double calls)
{
	uint64_t all = (uint64_t)(*rest += calls);

	*rest -= (double)all;
	return all;
}

static struct op_memory stands_for(double calls, size_t bytes)
{
	double all = calls * (double)bytes;

	return (struct op_memory){
		.allocated_bytes = (uint64_t)(all + 0.5),
		.allocations_variance = (uint64_t)(calls * (calls - 1) + 0.5),
		.bytes_variance = (uint64_t)(all * (all - (double)bytes) / (1024 * 1024) + 0.5),
	};
}

// Reports live bytes to the process, and to the collector if it is time.
static void tell_in_part(struct memory_thread *t)
{
	memory_slots_publish_if_due(t);
	if (clock_now_ns() - t->told_ns >= TELL_NS)
		tell_alone(t);
	set_marks(t);
}

static void take_hit(struct memory_thread *t, const void *p, size_t asked, size_t bytes)
{
	uint64_t address = (uint64_t)(uintptr_t)p;
	uint32_t shift = __atomic_load_n(&memory.budget.shift, __ATOMIC_RELAXED);
	double calls = poisson_calls(&t->part, asked + MEMORY_BLOCK_BYTES);
	struct op_memory hit = stands_for(calls, bytes);
	struct lane *lane = poisson_takes(&t->part, shift) ? op_take_lane() : NULL;

	hit.allocations = whole(&t->rest_allocations, calls);
	memory_slots_add(&t->totals, &hit);
	t->sample_at += hit.allocated_bytes; // what is counted exactly is sampled as before
	if (lane) {
		write_sample(lane, address, bytes, hit.allocated_bytes << shift, calls);
		poisson_spend(&memory.budget, clock_now_ns());
		op_give_lane();
	} else {
		memory_table_add(&memory.sampled, address,
		                 (struct memory_block){ .calls = (float)calls });
		poisson_rest(&memory.budget, clock_now_ns());
	}
	draw_part(t);
	tell_in_part(t);
}

// A new thread's first distance begins with this allocation.
static void take_in_part(struct memory_thread *t, const void *p, size_t asked, size_t bytes)
{
	if (!t->part.mean) {
		draw_part(t);
		if (memory_passes(asked))
			return;
	}
	take_hit(t, p, asked, bytes);
}

// The calling thread's slot, if it is not in the middle of a look.
static struct memory_thread *begin_look(void)
{
	struct memory_thread *t = (struct memory_thread *)op_memory;

	if (!is_known(t))
		t = find_thread(&(struct op_memory){ 0 });
	if (!t || t->looking)
		return NULL;
	t->looking = true;
	__asm__ volatile("" ::: "memory");
	return t;
}

static void end_look(struct memory_thread *t)
{
	__asm__ volatile("" ::: "memory");
	t->looking = false;
}

void memory_allocated_in_part(const void *p, size_t asked, size_t bytes)
{
	int error = errno;
	struct memory_thread *t = begin_look();

	if (t) {
		take_in_part(t, p, asked, bytes);
		end_look(t);
	} else if (!op_memory) {
		memory_slots_do_without(
			&(struct op_memory){ .allocations = 1, .allocated_bytes = bytes });
	}
	errno = error;
}

void memory_freed_in_part(const void *p, size_t bytes)
{
	uint64_t address = (uint64_t)(uintptr_t)p;

	if (!memory_table_may_hold(&memory.sampled, address))
		return;
	int error = errno;
	struct memory_block block = memory_table_remove(&memory.sampled, address);
	struct memory_thread *t = block.calls > 0 ? begin_look() : NULL;

	if (t) {
		t->totals.frees += whole(&t->rest_frees, (double)block.calls);
		t->totals.freed_bytes += stands_for((double)block.calls, bytes).allocated_bytes;
		tell_in_part(t);
		end_look(t);
	}
	if (block.told)
		write_free(address);
	errno = error;
}

void memory_kept(size_t bytes)
{
	if (!op_memory)
		return;
	op_memory->frees--;
	op_memory->freed_bytes -= bytes;
}

void memory_prepare_fork(void)
{
	memory_slots_settle();
}

static void append_rest(void)
{
	struct op_memory rest = memory_slots_take_rest();
	struct record_memory record = { .head = { .size = sizeof(record),
		                                  .type = RECORD_MEMORY,
		                                  .pid = agent->pid,
		                                  .tid = agent->pid,
		                                  .time_ns = clock_now_ns() } };

	fill_totals(&record, &rest);
	rings_append_totals(&agent->rings, &record);
}

static void write_rest(void)
{
	struct lane *lane = op_take_lane();

	if (!lane)
		return;
	struct op_memory rest = memory_slots_take_rest();
	write_totals(lane, &rest);
	op_give_lane();
}

void memory_finish(void)
{
	int error = errno;

	if (agent && agent->on && memory.begun && agent->process)
		write_rest();
	else if (agent && agent->on && memory.begun)
		append_rest();
	errno = error;
}
