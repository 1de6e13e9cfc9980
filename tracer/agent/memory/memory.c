// SPDX-License-Identifier: MIT
#include "tracer/agent/memory/memory.h"

#include "base/clock.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/python/python.h"
#include "tracer/agent/sample/registers.h"
#include "tracer/agent/sample/sample.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define STEP_SHIFT 9 // the process's peak is told to within that part of it
#define TELL_MEANS 2 // RECORD_MEMORY after so many means of bytes at the latest
#define TELL_NS    (5 * NS_PER_MS)
#define LOOKS      64
#define FULL_NS    (100 * NS_PER_MS)

struct memory memory;

static struct agent *agent; // NULL: nothing is looked at
static bool wiped;          // by the kernel, in each child
// What a forked child starts with is its parent's.
static int64_t live __attribute__((aligned(64))); // atomic: with what is published, not below
static int64_t peak;                              // atomic

static void add(struct op_memory *to, const struct op_memory *part)
{
	__atomic_fetch_add(&to->allocations, part->allocations, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->frees, part->frees, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->allocated_bytes, part->allocated_bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->freed_bytes, part->freed_bytes, __ATOMIC_RELAXED);
}

static struct op_memory take_all(struct op_memory *from)
{
	return (struct op_memory){
		.allocations = __atomic_exchange_n(&from->allocations, 0, __ATOMIC_RELAXED),
		.frees = __atomic_exchange_n(&from->frees, 0, __ATOMIC_RELAXED),
		.allocated_bytes = __atomic_exchange_n(&from->allocated_bytes, 0, __ATOMIC_RELAXED),
		.freed_bytes = __atomic_exchange_n(&from->freed_bytes, 0, __ATOMIC_RELAXED),
	};
}

static struct op_memory untold(const struct memory_thread *t)
{
	return (struct op_memory){
		.allocations = t->totals.allocations - t->told.allocations,
		.frees = t->totals.frees - t->told.frees,
		.allocated_bytes = t->totals.allocated_bytes - t->told.allocated_bytes,
		.freed_bytes = t->totals.freed_bytes - t->told.freed_bytes,
	};
}

// Of a thread that goes on meanwhile it may be too little, which its next look puts right, but
// never too much, which would stay in the peak.
static int64_t net(const struct op_memory *m)
{
	uint64_t allocated = __atomic_load_n(&m->allocated_bytes, __ATOMIC_ACQUIRE);

	return (int64_t)(allocated - __atomic_load_n(&m->freed_bytes, __ATOMIC_RELAXED));
}

static uint32_t count_threads(void)
{
	uint32_t count = __atomic_load_n(&memory.thread_count, __ATOMIC_RELAXED);

	return count < MEMORY_THREADS ? count : MEMORY_THREADS;
}

void memory_start(struct agent *a)
{
	wiped = madvise(&memory, sizeof(memory), MADV_WIPEONFORK) == 0;
	agent = a;
}

void memory_fork(void)
{
	if (wiped)
		return; // and perhaps used again
	memset(&memory, 0, offsetof(struct memory, threads));
	memset(memory.threads, 0, count_threads() * sizeof(memory.threads[0]));
	op_memory = NULL;
}

// The first look in a process.
static void begin_process(void)
{
	if (__atomic_exchange_n(&memory.begun, true, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&peak, __atomic_load_n(&live, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

static bool is_gone(uint32_t tid)
{
	return syscall(SYS_tgkill, getpid(), tid, 0) < 0 && errno == ESRCH;
}

// Whoever finds it taken goes without.
static bool take_slots(void)
{
	return !__atomic_exchange_n(&memory.settling, true, __ATOMIC_ACQUIRE);
}

static void give_slots(void)
{
	__atomic_store_n(&memory.settling, false, __ATOMIC_RELEASE);
}

// The process's live bytes, with T's as they are now.
static int64_t publish_net(struct memory_thread *t, int64_t bytes)
{
	int64_t change = bytes - __atomic_exchange_n(&t->published, bytes, __ATOMIC_RELAXED);

	return __atomic_add_fetch(&live, change, __ATOMIC_RELAXED);
}

// TID's from now on, if its thread is no more. What that had not told is the process's to tell.
static bool inherit(struct memory_thread *t, uint32_t tid)
{
	uint32_t owner = __atomic_load_n(&t->tid, __ATOMIC_RELAXED);

	if (!is_gone(owner) || !take_slots())
		return false;
	bool ours = __atomic_compare_exchange_n(&t->tid, &owner, tid, false, __ATOMIC_ACQ_REL,
	                                        __ATOMIC_RELAXED);
	if (ours) {
		struct op_memory rest = untold(t);
		add(&memory.extra, &rest);
		publish_net(t, net(&t->totals));
		memset(t, 0, offsetof(struct memory_thread, tid));
	}
	give_slots();
	return ours;
}

// Once around. If all threads are alive, there is no second look for a while.
static struct memory_thread *find_gone(uint32_t tid)
{
	uint64_t now = clock_now_ns();

	if (now < __atomic_load_n(&memory.full_until_ns, __ATOMIC_RELAXED))
		return NULL;
	for (uint32_t i = 0; i < MEMORY_THREADS; i++) {
		uint32_t at = __atomic_fetch_add(&memory.next, 1, __ATOMIC_RELAXED);
		if (inherit(&memory.threads[at % MEMORY_THREADS], tid))
			return &memory.threads[at % MEMORY_THREADS];
	}
	__atomic_store_n(&memory.full_until_ns, now + FULL_NS, __ATOMIC_RELAXED);
	return NULL;
}

// Nobody is lazy any more: what threads have kept to themselves so far, some of them gone, is told
// now, and those that live are to look at their next call.
static void end_laziness(void)
{
	if (!take_slots())
		return;
	for (uint32_t i = 0; i < MEMORY_LAZY_THREADS; i++) {
		struct memory_thread *t = &memory.threads[i];
		publish_net(t, net(&t->totals));
		__atomic_store_n(&t->look_at, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&t->free_look_at, 0, __ATOMIC_RELAXED);
	}
	give_slots();
}

static struct memory_thread *claim(uint32_t tid)
{
	if (count_threads() < MEMORY_THREADS) {
		uint32_t at = __atomic_fetch_add(&memory.thread_count, 1, __ATOMIC_RELAXED);
		if (at == MEMORY_LAZY_THREADS)
			end_laziness();
		if (at < MEMORY_THREADS) {
			__atomic_store_n(&memory.threads[at].tid, tid, __ATOMIC_RELEASE);
			return &memory.threads[at];
		}
		__atomic_fetch_sub(&memory.thread_count, 1, __ATOMIC_RELAXED);
	}
	return find_gone(tid);
}

static int64_t step_bytes(void)
{
	int64_t part =
		(__atomic_load_n(&peak, __ATOMIC_RELAXED) >> STEP_SHIFT) / (count_threads() + 1);

	return part > MEMORY_STEP_BYTES ? part : MEMORY_STEP_BYTES;
}

static void draw(struct memory_thread *t)
{
	t->shift = __atomic_load_n(&memory.budget.shift, __ATOMIC_RELAXED);
	t->poisson.mean = (uint64_t)agent->config.malloc_bytes << t->shift;
	t->sample_at = t->totals.allocated_bytes + poisson_distance(&t->poisson);
	t->step = step_bytes();
}

// The calling thread's slot; NULL if there is none.
static struct memory_thread *begin_thread(void)
{
	// An agent that is off may be so because such calls are forbidden.
	uint32_t tid = agent->on ? (uint32_t)syscall(SYS_gettid) : 0;
	struct memory_thread *t = tid ? claim(tid) : NULL;

	if (!t)
		return NULL;
	t->looking = false;
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

	begin_process();
	if (t) {
		*counted = t->totals;
		memset(t, 0, sizeof(*t));
	}
	t = begin_thread();
	op_memory = t ? &t->totals : NULL;
	add(t ? &t->totals : &memory.extra, counted);
	if (!t)
		__atomic_fetch_add(&live, net(counted), __ATOMIC_RELAXED);
	errno = error;
	return t;
}

static void raise_peak(int64_t now)
{
	int64_t most = __atomic_load_n(&peak, __ATOMIC_RELAXED);

	while (now > most && !__atomic_compare_exchange_n(&peak, &most, now, true, __ATOMIC_RELAXED,
	                                                  __ATOMIC_RELAXED))
		;
}

// Few threads keep what they have freed to themselves until somebody asks, so that those who
// allocate and free the same again and again write to no memory that others write to.
static bool is_lazy(void)
{
	return count_threads() <= MEMORY_LAZY_THREADS;
}

// Asks all. Who lags is to look at its next allocation, as it may now be the one for a new peak.
static int64_t settle(void)
{
	if (!is_lazy() || !take_slots())
		return __atomic_load_n(&live, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < count_threads(); i++) {
		struct memory_thread *t = &memory.threads[i];
		int64_t bytes = net(&t->totals);
		int64_t known = __atomic_load_n(&t->published, __ATOMIC_RELAXED);
		if (bytes != known)
			publish_net(t, bytes);
		if (bytes < known)
			__atomic_store_n(&t->look_at, 0, __ATOMIC_RELAXED);
	}
	give_slots();
	int64_t now = __atomic_load_n(&live, __ATOMIC_RELAXED);
	raise_peak(now);
	return now;
}

static void publish(struct memory_thread *t)
{
	int64_t now = publish_net(t, net(&t->totals));
	int64_t most = __atomic_load_n(&peak, __ATOMIC_RELAXED);
	bool alone = count_threads() == 1;

	if (now > most && (alone || !is_lazy()))
		raise_peak(now);
	else if (now - most > (most >> (STEP_SHIFT + 1)) && now - most > MEMORY_STEP_BYTES / 2)
		settle();
}

// How far T's live bytes are above what is published.
static int64_t lead(const struct memory_thread *t)
{
	return net(&t->totals) - __atomic_load_n(&t->published, __ATOMIC_RELAXED);
}

static void publish_if_due(struct memory_thread *t)
{
	if (lead(t) >= t->step / 2 || (lead(t) <= -t->step / 2 && !is_lazy()))
		publish(t);
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
	record->live_bytes = positive(settle());
	record->peak_bytes = positive(__atomic_load_n(&peak, __ATOMIC_RELAXED));
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
	struct op_memory part = take_all(&memory.extra), extra = part;
	struct op_memory own = untold(t);

	add(&part, &own);
	if (write_totals(lane, &part))
		t->told = t->totals;
	else
		add(&memory.extra, &extra);
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

static void write_sample(struct lane *lane, uint64_t address, uint64_t bytes, uint64_t weight)
{
	const struct python_chain *python = find_python(lane);
	bool tracked = memory_table_add(&memory.sampled, address);
	struct record_alloc *record = reserve(
		lane, RECORD_ALLOC, sizeof(*record) + MEMORY_STACK + python_bytes(python));

	if (!record) {
		if (tracked)
			memory_table_remove(&memory.sampled, address);
		return;
	}
	record->head.flags = tracked ? 0 : ALLOC_UNTRACKED;
	record->address = address;
	record->bytes = bytes;
	record->weight_bytes = weight;
	fill(record, lane, MEMORY_STACK, python);
}

static void sample(struct memory_thread *t, const void *p, size_t bytes)
{
	int error = errno;
	struct lane *lane = op_take_lane();

	if (lane) {
		publish(t);
		write_sample(lane, (uint64_t)(uintptr_t)p, bytes,
		             poisson_weight(&t->poisson, bytes));
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
	uint64_t up = positive(t->step - lead(t)), down = positive(t->step + lead(t));
	uint64_t moved = t->totals.allocated_bytes + t->totals.freed_bytes;
	uint64_t tell = t->tell_at > moved ? t->tell_at - moved : MEMORY_STEP_BYTES;

	t->look_at = least(t->sample_at, t->totals.allocated_bytes + up);
	t->free_look_at = t->totals.freed_bytes + (is_lazy() ? tell : least(tell, down));
}

// In a storm samples are rare, which is not to be seen in the totals, nor longer than it lasts.
static void look_at_clock(struct memory_thread *t)
{
	uint64_t now = clock_now_ns();

	poisson_rest(&memory.budget, now);
	if (now - t->told_ns >= TELL_NS)
		tell_alone(t);
}

static __attribute__((noinline)) void look_closely(struct memory_thread *t, const void *p,
                                                   size_t bytes, bool hit)
{
	publish_if_due(t);
	if (hit)
		sample(t, p, bytes);
	else if (t->totals.allocated_bytes + t->totals.freed_bytes >= t->tell_at)
		tell_alone(t);
	if (t->shift && t->looks % LOOKS == 0)
		look_at_clock(t);
	// The chance of what is to come does not hang on how long it has not come.
	if (hit || t->shift != __atomic_load_n(&memory.budget.shift, __ATOMIC_RELAXED))
		draw(t);
}

// P is NULL if nothing has been allocated. Most looks are of who takes and gives back the same.
static inline void look(struct memory_thread *t, const void *p, size_t bytes)
{
	bool hit = p && t->totals.allocated_bytes >= t->sample_at;
	int64_t up = lead(t);

	if (hit || up >= t->step / 2 || (up <= -t->step / 2 && !is_lazy()) ||
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

void memory_free_sampled(const void *p)
{
	uint64_t address = (uint64_t)(uintptr_t)p;
	int error = errno;

	if (memory_table_remove(&memory.sampled, address)) {
		struct lane *lane = op_take_lane();
		struct record_free *record =
			lane ? reserve(lane, RECORD_FREE, sizeof(*record)) : NULL;
		if (record) {
			record->address = address;
			lane_commit(lane, &record->head, sizeof(*record));
		}
		if (lane)
			op_give_lane();
	}
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
	settle();
}

// All that is counted anywhere, as one part. The threads that still run lose nothing by it.
static struct op_memory take_rest(void)
{
	for (uint32_t i = 0; i < count_threads(); i++) {
		struct memory_thread *t = &memory.threads[i];
		struct op_memory part = untold(t);
		t->told = t->totals;
		add(&memory.extra, &part);
		publish_net(t, net(&t->totals));
	}
	return take_all(&memory.extra);
}

static void append_rest(void)
{
	struct op_memory rest = take_rest();
	struct record_memory record = { .head = { .size = sizeof(record),
		                                  .type = RECORD_MEMORY,
		                                  .pid = agent->pid,
		                                  .tid = agent->pid,
		                                  .time_ns = clock_now_ns() } };

	fill_totals(&record, &rest);
	rings_append_totals(&agent->rings, &record.head);
}

static void write_rest(void)
{
	struct lane *lane = op_take_lane();

	if (!lane)
		return;
	struct op_memory rest = take_rest();
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
