// SPDX-License-Identifier: MIT
#include "tracer/agent/memory/memory_slots.h"

#include "base/clock.h"
#include "tracer/agent/task_list.h"

#include <string.h>
#include <unistd.h>

#define STEP_SHIFT 9 // the process's peak is told to within that part of it
#define FULL_NS    (100 * NS_PER_MS)

// What a forked child starts with is its parent's.
static int64_t live __attribute__((aligned(64))); // atomic: with what is published, not below
static int64_t peak;                              // atomic

static struct op_memory take_all(struct op_memory *from)
{
	return (struct op_memory){
		.allocations = __atomic_exchange_n(&from->allocations, 0, __ATOMIC_RELAXED),
		.frees = __atomic_exchange_n(&from->frees, 0, __ATOMIC_RELAXED),
		.allocated_bytes = __atomic_exchange_n(&from->allocated_bytes, 0, __ATOMIC_RELAXED),
		.freed_bytes = __atomic_exchange_n(&from->freed_bytes, 0, __ATOMIC_RELAXED),
		.allocations_variance =
			__atomic_exchange_n(&from->allocations_variance, 0, __ATOMIC_RELAXED),
		.bytes_variance = __atomic_exchange_n(&from->bytes_variance, 0, __ATOMIC_RELAXED),
	};
}

struct op_memory memory_slots_take_extra(void)
{
	return take_all(&memory.extra);
}

void memory_slots_do_without(const struct op_memory *counted)
{
	memory_slots_add(&memory.extra, counted);
	__atomic_fetch_add(&live, memory_net(counted), __ATOMIC_RELAXED);
}

void memory_slots_begin(void)
{
	if (__atomic_exchange_n(&memory.begun, true, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&peak, __atomic_load_n(&live, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

void memory_slots_begin_again(void)
{
	memory_slots_take_extra();
	__atomic_store_n(&live, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&peak, 0, __ATOMIC_RELAXED);
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

	if (!task_list_lacks((uint32_t)getpid(), owner) || !take_slots())
		return false;
	bool ours = __atomic_compare_exchange_n(&t->tid, &owner, tid, false, __ATOMIC_ACQ_REL,
	                                        __ATOMIC_RELAXED);
	if (ours) {
		struct op_memory rest = memory_untold(t);
		memory_slots_add(&memory.extra, &rest);
		publish_net(t, memory_net(&t->totals));
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
		publish_net(t, memory_net(&t->totals));
		__atomic_store_n(&t->look_at, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&t->free_look_at, 0, __ATOMIC_RELAXED);
	}
	give_slots();
}

struct memory_thread *memory_slots_claim(uint32_t tid)
{
	if (memory_slots_count() < MEMORY_THREADS) {
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

int64_t memory_slots_step(void)
{
	int64_t part = (__atomic_load_n(&peak, __ATOMIC_RELAXED) >> STEP_SHIFT) /
	               (memory_slots_count() + 1);

	return part > MEMORY_STEP_BYTES ? part : MEMORY_STEP_BYTES;
}

int64_t memory_slots_peak(void)
{
	return __atomic_load_n(&peak, __ATOMIC_RELAXED);
}

static void raise_peak(int64_t now)
{
	int64_t most = __atomic_load_n(&peak, __ATOMIC_RELAXED);

	while (now > most && !__atomic_compare_exchange_n(&peak, &most, now, true, __ATOMIC_RELAXED,
	                                                  __ATOMIC_RELAXED))
		;
}

// Asks all. Who lags is to look at its next allocation, as it may now be the one for a new peak.
int64_t memory_slots_settle(void)
{
	if (!memory_slots_are_lazy() || !take_slots())
		return __atomic_load_n(&live, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < memory_slots_count(); i++) {
		struct memory_thread *t = &memory.threads[i];
		int64_t bytes = memory_net(&t->totals);
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

void memory_slots_publish(struct memory_thread *t)
{
	int64_t now = publish_net(t, memory_net(&t->totals));
	int64_t most = __atomic_load_n(&peak, __ATOMIC_RELAXED);
	bool alone = memory_slots_count() == 1;

	if (now > most && (alone || !memory_slots_are_lazy()))
		raise_peak(now);
	else if (now - most > (most >> (STEP_SHIFT + 1)) && now - most > MEMORY_STEP_BYTES / 2)
		memory_slots_settle();
}

void memory_slots_publish_if_due(struct memory_thread *t)
{
	if (memory_lead(t) >= t->step / 2 ||
	    (memory_lead(t) <= -t->step / 2 && !memory_slots_are_lazy()))
		memory_slots_publish(t);
}

struct op_memory memory_slots_take_rest(void)
{
	for (uint32_t i = 0; i < memory_slots_count(); i++) {
		struct memory_thread *t = &memory.threads[i];
		struct op_memory part = memory_untold(t);
		t->told = t->totals;
		memory_slots_add(&memory.extra, &part);
		publish_net(t, memory_net(&t->totals));
	}
	return memory_slots_take_extra();
}
