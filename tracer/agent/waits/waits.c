// SPDX-License-Identifier: MIT
#include "tracer/agent/waits/waits.h"

#include "base/clock.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/modes.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/sample/threads.h"
#include "tracer/agent/table.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define TAG_BITS  28
#define TAG_SHIFT 32
#define DID_SHIFT (TAG_SHIFT + TAG_BITS)
// An owner each, the last one, and a while without any; and those before that are summed up.
#define PARTS_MAX (WAITS_HISTORY + 2 + FOLDED_OWNERS)
#define FOLD      (WAITS_HISTORY / 2) // entries that are summed up at once
#define CUT_SHARE 0.1                 // of what is summed up, of which nobody is known
#define QUICK     64
#define MANY      64 // waits of a thread, from which on it is worth to know it by its ops

// Between readings of a thread's CPU clock, which is a system call.
#define CPU_APART_NS NS_PER_MS

enum did {
	TOOK = 1,
	WOKE = 2,
	RELEASED = 3
};

AGENT_LARGE struct waits waits;
bool waits_share;

// A place of MADE is of the address that its words give together: two threads that write it at once
// leave one that is of none.
AGENT_TABLE static struct {
	uintptr_t caller, check; // atomic
} made[WAITS_MADE];

static struct agent *agent; // NULL: nothing is told
static bool wiped;          // by the kernel, in each child
static bool cut;            // a history was too short: atomic

// Initial-exec: handlers must not be the first to touch lazily allocated memory.
static __thread struct {
	uint32_t epoch, tid;
	uint32_t told;
	uint32_t quick;  // calls for a disk or child in a row that did not wait, up to QUICK; then
	                 // all
	uint16_t inside; // the place where it waits, and one; 0: nowhere
	uint64_t cpu_read_ns; // when its CPU clock was read
} own __attribute__((tls_model("initial-exec")));

// A child of fork() finds its memory wiped, and is another thread than its parent's.
static __attribute__((noinline)) void renew(void)
{
	uint32_t none = 0;

	__atomic_compare_exchange_n(&waits.epoch, &none, (uint32_t)getpid(), false,
	                            __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	own.epoch = __atomic_load_n(&waits.epoch, __ATOMIC_RELAXED);
	own.tid = (uint32_t)syscall(SYS_gettid);
	own.told = 0;
	own.quick = 0;
	own.inside = 0;
	own.cpu_read_ns = 0;
}

uint32_t waits_tid(void)
{
	uint32_t epoch = __atomic_load_n(&waits.epoch, __ATOMIC_RELAXED);

	if (__builtin_expect(!epoch || own.epoch != epoch, 0)) {
		int error = errno;
		renew();
		errno = error;
	}
	return own.tid;
}

static uint32_t place_of(const volatile void *address)
{
	return (uint32_t)(waits_hash(address) >> (64 - WAITS_BITS));
}

static uint64_t signature(const volatile void *address, uint32_t tid, enum did did)
{
	uint64_t tag = waits_hash(address) << WAITS_BITS >> (64 - TAG_BITS);

	return (uint64_t)did << DID_SHIFT | tag << TAG_SHIFT | tid;
}

static void write_entry(struct waits_entry *entry, uint64_t who, uint64_t time_ns)
{
	__atomic_store_n(&entry->who, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&entry->time_ns, time_ns, __ATOMIC_RELEASE);
	__atomic_store_n(&entry->who, who, __ATOMIC_RELEASE);
}

// False if another thread is writing it just now.
static bool read_entry(const struct waits_entry *entry, uint64_t *who, uint64_t *time_ns)
{
	*who = __atomic_load_n(&entry->who, __ATOMIC_ACQUIRE);
	*time_ns = __atomic_load_n(&entry->time_ns, __ATOMIC_ACQUIRE);
	return *who && __atomic_load_n(&entry->who, __ATOMIC_RELAXED) == *who;
}

// The last entries before HEAD, and that one: who had it for how long. Of two addresses that share
// the place it is that of the newest.
static __attribute__((noinline)) void fold(uint32_t at, uint32_t head)
{
	struct folded_group group = { 0 };
	uint64_t who, time_ns, since = 0;
	uint32_t owner = 0, tag = 0;

	if (!read_entry(&waits.histories[at].entries[head % WAITS_HISTORY], &who, &time_ns))
		return;
	tag = (uint32_t)(who >> TAG_SHIFT) & ((1u << TAG_BITS) - 1);
	group.tag = tag;
	for (uint32_t i = head - FOLD; i != head + 1; i++) {
		if (!read_entry(&waits.histories[at].entries[i % WAITS_HISTORY], &who, &time_ns) ||
		    ((uint32_t)(who >> TAG_SHIFT) & ((1u << TAG_BITS) - 1)) != tag ||
		    who >> DID_SHIFT == WOKE)
			continue;
		if (owner && time_ns > since)
			folded_add(&group, owner, time_ns - since);
		group.from_ns = group.from_ns ? group.from_ns : time_ns;
		owner = who >> DID_SHIFT == TOOK || !owner ? (uint32_t)who : owner;
		since = time_ns > since ? time_ns : since;
	}
	group.to_ns = since;
	if (group.count && group.to_ns > group.from_ns)
		folded_push(&waits.folded[at % WAITS_FOLDED], at, &group);
}

static void note(uint32_t at, uint64_t who, uint64_t time_ns)
{
	uint32_t head = __atomic_fetch_add(&waits.places[at].head, 1, __ATOMIC_RELAXED);

	write_entry(&waits.histories[at].entries[head % WAITS_HISTORY], who, time_ns);
	if (head && head % FOLD == 0)
		fold(at, head);
}

// The same thread again: its neighbours in the history are kept for those who change.
static bool is_last(uint32_t at, uint64_t who)
{
	uint32_t last = __atomic_load_n(&waits.places[at].head, __ATOMIC_RELAXED) - 1;

	return __atomic_load_n(&waits.histories[at].entries[last % WAITS_HISTORY].who,
	                       __ATOMIC_RELAXED) == who;
}

bool waits_are_told(void)
{
	return agent && agent->on && agent_untraced != AGENT_OURS;
}

static struct lane *take_lane(void)
{
	if (op_own || ++own.told > MANY) {
		struct op_thread *t = op_enter();
		return t ? t->lane : NULL;
	}
	return op_take_lane();
}

// Where no kernel records switches, it is not known when between two samples a thread had no CPU:
// that its clock is read where others wait for it, and it for them, says so for both.
static bool is_cpu_due(uint64_t now_ns)
{
	return agent_tells(agent) && now_ns - own.cpu_read_ns >= CPU_APART_NS;
}

static void tell_cpu(struct lane *lane, uint64_t now_ns)
{
	struct record_ran *record =
		(struct record_ran *)lane_reserve(lane, agent->rings.by_populate, sizeof(*record));

	own.cpu_read_ns = now_ns;
	if (!record)
		return;
	record->head.type = RECORD_RAN;
	record->head.flags = 0;
	record->head.pid = agent->pid;
	record->head.tid = lane->tid ? lane->tid : agent->pid;
	record->head.time_ns = now_ns;
	record->cpu_time_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	record->sleeps = modes_sleeps();
	record->reserved = 0;
	lane_commit(lane, &record->head, sizeof(*record));
}

// The calling thread is about to end a wait of another one.
static __attribute__((noinline)) void tell_end(uint64_t now_ns)
{
	int error = errno;
	struct lane *lane = take_lane();

	if (lane) {
		tell_cpu(lane, now_ns);
		op_give_lane();
	}
	errno = error;
}

void waits_owns(const volatile void *address)
{
	if (waits_are_told())
		note(place_of(address), signature(address, waits_tid(), TOOK), clock_now_ns());
}

void waits_took(const volatile void *address)
{
	uint64_t who = signature(address, waits_tid(), TOOK);

	if (waits_are_told() && !is_last(place_of(address), who))
		note(place_of(address), who, clock_now_ns());
}

void waits_release(const volatile void *address, bool sleeps)
{
	uint32_t at = place_of(address), tid = waits_tid();
	struct waits_entry *released = &waits.histories[at].released;
	uint64_t who = signature(address, tid, RELEASED);

	if (!waits_are_told())
		return;
	bool last = is_last(at, signature(address, tid, TOOK));
	// Reading the clock costs more than all else here.
	if (!sleeps && last && __atomic_load_n(&released->who, __ATOMIC_RELAXED) == who)
		return;
	uint64_t time_ns = clock_now_ns();
	if (!last)
		note(at, who, time_ns);
	write_entry(released, who, time_ns);
	if (sleeps && is_cpu_due(time_ns))
		tell_end(time_ns);
}

void waits_wake(const volatile void *address)
{
	if (!waits_are_told())
		return;
	uint64_t time_ns = clock_now_ns();
	note(place_of(address), signature(address, waits_tid(), WOKE), time_ns);
	if (is_cpu_due(time_ns))
		tell_end(time_ns);
}

uint32_t waits_owner(const volatile void *address)
{
	uint32_t at = place_of(address);
	uint32_t head = __atomic_load_n(&waits.places[at].head, __ATOMIC_ACQUIRE);

	for (uint32_t i = 1; i <= WAITS_HISTORY; i++) {
		uint64_t who, time_ns;
		if (read_entry(&waits.histories[at].entries[(head - i) % WAITS_HISTORY], &who,
		               &time_ns) &&
		    signature(address, (uint32_t)who, TOOK) == who)
			return (uint32_t)who;
	}
	return 0;
}

void waits_made(const volatile void *address, const void *caller)
{
	uint64_t at = waits_hash(address) >> 32 & (WAITS_MADE - 1);

	__atomic_store_n(&made[at].caller, (uintptr_t)caller, __ATOMIC_RELAXED);
	__atomic_store_n(&made[at].check, (uintptr_t)caller ^ (uintptr_t)address, __ATOMIC_RELAXED);
}

static uint64_t made_at(const volatile void *address)
{
	uint64_t at = waits_hash(address) >> 32 & (WAITS_MADE - 1);
	uintptr_t caller = __atomic_load_n(&made[at].caller, __ATOMIC_RELAXED);
	uintptr_t check = __atomic_load_n(&made[at].check, __ATOMIC_RELAXED);

	return (check ^ caller) == (uintptr_t)address ? caller : 0;
}

// A child may get here from a wait that its parent has begun.
static void leave(uint32_t at)
{
	uint32_t *waiters = &waits.places[at].waiters;
	uint32_t count = __atomic_load_n(waiters, __ATOMIC_RELAXED);

	while (count && !__atomic_compare_exchange_n(waiters, &count, count - 1, true,
	                                             __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

bool waits_begin(struct wait *w, uint16_t kind, const volatile void *address)
{
	if (!waits_are_told())
		return false;
	uint32_t at = place_of(address);
	waits_tid();
	*w = (struct wait){ .address = (const void *)address, .kind = kind, .outer = own.inside };
	own.inside = (uint16_t)(at + 1);
	// Before the owner is asked for: who takes it from now on notes it.
	__atomic_fetch_add(&waits.places[at].waiters, 1, __ATOMIC_SEQ_CST);
	w->head = __atomic_load_n(&waits.places[at].head, __ATOMIC_RELAXED);
	w->begin_ns = clock_now_ns();
	return true;
}

struct parts {
	uint32_t count;
	struct wait_part part[PARTS_MAX];
};

static void add(struct parts *p, uint64_t until_ns, uint32_t tid, enum held_how how)
{
	struct wait_part *last = p->count ? &p->part[p->count - 1] : NULL;

	if (last && until_ns < last->until_ns)
		until_ns = last->until_ns; // they are noted in an order that is nearly that of time
	if (last && how != HELD_BY_WAKER && last->tid == tid && last->how == how)
		last->until_ns = until_ns;
	else if (p->count < PARTS_MAX)
		p->part[p->count++] = (struct wait_part){ until_ns, tid, how };
}

// What others have done at W's address within it, oldest first; CUT: more has come than is kept.
struct seen {
	uint32_t count;
	bool cut;
	struct {
		uint64_t time_ns;
		uint32_t tid;
		enum did did;
	} did[WAITS_HISTORY];
};

static void look(const struct wait *w, uint64_t end_ns, struct seen *seen)
{
	uint32_t at = place_of(w->address);
	uint32_t head = __atomic_load_n(&waits.places[at].head, __ATOMIC_ACQUIRE), first = w->head;

	seen->count = 0;
	seen->cut = head - first > WAITS_HISTORY;
	if (seen->cut)
		first = head - WAITS_HISTORY;
	for (; first != head; first++) {
		uint64_t who, time_ns;
		if (!read_entry(&waits.histories[at].entries[first % WAITS_HISTORY], &who,
		                &time_ns))
			continue;
		uint32_t tid = (uint32_t)who;
		enum did did = (enum did)(who >> DID_SHIFT);
		if (signature(w->address, tid, did) != who || time_ns < w->begin_ns ||
		    time_ns > end_ns || tid == own.tid)
			continue;
		seen->did[seen->count].time_ns = time_ns;
		seen->did[seen->count].tid = tid;
		seen->did[seen->count++].did = did;
	}
}

// When the last owner let go, if that was within the wait and after SINCE; 0 if not. *TID: who.
static uint64_t find_release(const struct wait *w, uint64_t since, uint64_t end_ns, uint32_t *tid)
{
	uint64_t who, time_ns;

	if (!read_entry(&waits.histories[place_of(w->address)].released, &who, &time_ns) ||
	    time_ns < since || time_ns > end_ns ||
	    signature(w->address, (uint32_t)who, RELEASED) != who)
		return 0;
	*tid = (uint32_t)who;
	return time_ns;
}

// Who had it before UNTIL_NS, where the history begins: one after the other, whoever came first.
// What is not known comes at the beginning. Returns whether that is little.
static bool add_folded(const struct wait *w, uint64_t until_ns, struct parts *p)
{
	uint32_t at = place_of(w->address);
	uint64_t known = 0, all = until_ns > w->begin_ns ? until_ns - w->begin_ns : 0;
	struct folded_group sum = { .from_ns = w->begin_ns,
		                    .to_ns = until_ns,
		                    .tag = (uint32_t)(signature(w->address, 0, 0) >> TAG_SHIFT) };

	if (!all || !folded_between(&waits.folded[at % WAITS_FOLDED], at, &sum))
		return false;
	for (uint32_t i = 0; i < sum.count; i++)
		known += sum.owners[i].tid && sum.owners[i].tid != own.tid ? sum.owners[i].ns : 0;
	if (known > all)
		known = all; // by the shares of what began before
	uint64_t time_ns = w->begin_ns + all - known;
	if (known < all)
		add(p, time_ns, 0, HELD_BY_OWNER);
	for (uint32_t i = 0; i < sum.count; i++) {
		if (!sum.owners[i].tid || sum.owners[i].tid == own.tid)
			continue;
		time_ns += sum.owners[i].ns;
		add(p, time_ns < until_ns ? time_ns : until_ns, sum.owners[i].tid, HELD_BY_OWNER);
	}
	return (double)(all - known) <= CUT_SHARE * (double)all;
}

static void find_owners(const struct wait *w, uint64_t end_ns, struct seen *seen, struct parts *p)
{
	uint32_t owner = seen->cut ? 0 : w->owner, releaser = 0;
	uint64_t since = w->begin_ns;

	if (seen->cut && seen->count)
		seen->cut = !add_folded(w, seen->did[0].time_ns, p);

	for (uint32_t i = 0; i < seen->count; i++) {
		if (seen->did[i].did == RELEASED && !owner)
			owner = seen->did[i].tid;
		if (seen->did[i].did != TOOK)
			continue;
		since = seen->did[i].time_ns;
		add(p, since, owner, HELD_BY_OWNER);
		owner = seen->did[i].tid;
	}
	uint64_t released = find_release(w, since, end_ns, &releaser);
	add(p, released ? released : end_ns, owner ? owner : releaser, HELD_BY_OWNER);
	if (released)
		add(p, end_ns, 0, HELD_BY_NOBODY);
}

// A writer is known, at the latest when it lets go; who holds it to read shows only by that.
static void find_holders(const struct wait *w, uint64_t end_ns, const struct seen *seen,
                         struct parts *p)
{
	uint32_t owner = seen->cut ? 0 : w->owner;

	for (uint32_t i = 0; i < seen->count; i++) {
		uint64_t time_ns = seen->did[i].time_ns;
		uint32_t tid = seen->did[i].tid;
		bool lets_go = seen->did[i].did != TOOK;
		if (!owner && seen->did[i].did == RELEASED)
			owner = tid;
		if (owner)
			add(p, time_ns, owner, HELD_BY_OWNER);
		if (lets_go && tid != owner)
			add(p, time_ns, tid, HELD_BY_WAKER);
		if (!lets_go || tid == owner)
			owner = lets_go ? 0 : tid;
	}
	if (owner)
		add(p, end_ns, owner, HELD_BY_OWNER);
}

// Those who were missing have come, or one who arrives for the second time has begun the next
// round.
static uint32_t end_of_round(const struct wait *w, const struct seen *seen)
{
	if (w->missing < seen->count)
		return w->missing;
	for (uint32_t i = 1; i < seen->count; i++)
		for (uint32_t k = 0; k < i; k++)
			// NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
			if (seen->did[k].tid == seen->did[i].tid)
				return i;
	return seen->count;
}

static void find_wakers(const struct wait *w, const struct seen *seen, struct parts *p)
{
	uint32_t count = w->kind == HELD_BARRIER ? end_of_round(w, seen) : seen->count;

	for (uint32_t i = count > WAITS_WAKERS ? count - WAITS_WAKERS : 0; i < count; i++)
		// NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
		if (seen->did[i].did == WOKE)
			add(p, seen->did[i].time_ns, seen->did[i].tid, HELD_BY_WAKER);
}

static void find_parts(const struct wait *w, uint64_t end_ns, bool *is_cut, struct parts *p)
{
	struct seen seen;

	look(w, end_ns, &seen);
	p->count = 0;
	*is_cut = false;
	switch (w->kind) {
	case HELD_CONDITION:
	case HELD_SEMAPHORE:
	case HELD_BARRIER:
		find_wakers(w, &seen, p);
		return;
	case HELD_RWLOCK:
		find_holders(w, end_ns, &seen, p);
		break;
	case HELD_JOIN:
		add(p, end_ns, w->owner, HELD_BY_OWNER);
		return;
	default:
		find_owners(w, end_ns, &seen, p);
		break;
	}
	*is_cut = seen.cut;
}

static void write_record(struct lane *lane, const struct wait *w, uint64_t end_ns, uint16_t flags,
                         const struct parts *parts)
{
	size_t bytes = parts->count * sizeof(parts->part[0]);
	struct record_wait *record = (struct record_wait *)lane_reserve(
		lane, agent->rings.by_populate, sizeof(*record) + bytes);

	if (!record)
		return;
	record->head.type = RECORD_WAIT;
	record->head.flags = flags;
	record->head.pid = agent->pid;
	record->head.tid = lane->tid ? lane->tid : agent->pid;
	record->head.time_ns = end_ns;
	record->begin_ns = w->begin_ns;
	record->address = (uint64_t)(uintptr_t)w->address;
	record->made_at = w->caller ? (uint64_t)(uintptr_t)w->caller : made_at(w->address);
	record->kind = w->kind;
	record->count = parts->count;
	memcpy(record + 1, parts->part, bytes);
	lane_commit(lane, &record->head, sizeof(*record) + bytes);
}

static __attribute__((noinline)) void tell(const struct wait *w, uint64_t end_ns, uint16_t flags)
{
	struct parts parts;
	bool is_cut;
	struct lane *lane = take_lane();

	if (!lane)
		return;
	parts.count = 0;
	is_cut = false;
	if (!(flags & HELD_POSTED))
		find_parts(w, end_ns, &is_cut, &parts);
	if (is_cut)
		__atomic_store_n(&cut, true, __ATOMIC_RELAXED);
	write_record(lane, w, end_ns, flags | (is_cut ? HELD_CUT : 0), &parts);
	if (!(flags & HELD_POSTED) && is_cpu_due(end_ns))
		tell_cpu(lane, end_ns);
	op_give_lane();
}

void waits_end(struct wait *w, uint16_t flags, bool took)
{
	int error = errno;
	uint64_t end_ns = clock_now_ns();
	uint64_t who = signature(w->address, waits_tid(), TOOK);
	uint32_t at = place_of(w->address);

	own.inside = w->outer;
	leave(at);
	if (took && waits_watched(w->address))
		note(at, who, end_ns);
	// What has begun before the agent joined the process is of another time.
	if (end_ns - w->begin_ns >= WAITS_LEAST_NS && agent->on && w->begin_ns >= agent->born_ns)
		tell(w, end_ns, flags);
	errno = error;
}

void waits_post(const volatile void *address, uint16_t kind)
{
	int error = errno;
	struct wait wait = { .address = (const void *)address, .kind = kind };

	if (!waits_are_told())
		return;
	waits_tid();
	wait.begin_ns = clock_now_ns();
	tell(&wait, wait.begin_ns, HELD_POSTED);
	errno = error;
}

void waits_signal(uint32_t to, uint16_t flags)
{
	int error = errno;
	bool by_descriptor = flags & HELD_TO_PIDFD;
	struct wait wait = { .kind = HELD_SIGNAL };
	struct parts parts = { .count = 0 };

	if (!waits_are_told())
		return;
	waits_tid();
	wait.begin_ns = clock_now_ns();
	if (by_descriptor)
		// NOLINTNEXTLINE(performance-no-int-to-ptr): it takes the place of an address
		wait.address = (const void *)(uintptr_t)to;
	else
		add(&parts, wait.begin_ns, to, HELD_BY_WAKER);
	struct lane *lane = take_lane();
	if (lane) {
		write_record(lane, &wait, wait.begin_ns, flags | HELD_POSTED, &parts);
		op_give_lane();
	}
	errno = error;
}

static void tell_call(const struct wait *w, uint64_t time_ns, uint16_t flags)
{
	const struct parts none = { .count = 0 };
	struct lane *lane = take_lane();

	if (!lane)
		return;
	write_record(lane, w, time_ns, flags, &none);
	op_give_lane();
}

// What returns at once, as where files are in memory, is reported now and then.
static bool is_quick(void)
{
	return own.quick >= QUICK && ++own.quick % QUICK != 0;
}

bool waits_call_begin(struct wait *w, uint16_t kind, const void *function, const void *caller)
{
	int error = errno;

	if (!waits_are_told())
		return false;
	waits_tid();
	if (is_quick())
		return false;
	*w = (struct wait){
		.address = function, .caller = caller, .begin_ns = clock_now_ns(), .kind = kind
	};
	tell_call(w, w->begin_ns, HELD_BEGUN);
	errno = error;
	return true;
}

void waits_call_end(const struct wait *w)
{
	int error = errno;
	uint64_t end_ns = clock_now_ns();

	waits_tid();
	own.quick = end_ns - w->begin_ns >= WAITS_LEAST_NS ? 0 : own.quick + (own.quick < QUICK);
	if (agent->on && w->begin_ns >= agent->born_ns)
		tell_call(w, end_ns, 0);
	errno = error;
}

// Whoever was cancelled in a wait, or has jumped out of it.
static void end_thread(void)
{
	if (own.inside && own.epoch == __atomic_load_n(&waits.epoch, __ATOMIC_RELAXED))
		leave(own.inside - 1u);
	own.inside = 0;
}

void waits_start(struct agent *a)
{
	wiped = madvise(&waits, sizeof(waits), MADV_WIPEONFORK) == 0;
	threads_at_end(end_thread);
	agent = a;
}

void waits_fork(void)
{
	own.epoch = 0;
	own.inside = 0;
	if (!wiped && waits.epoch)
		memset(&waits, 0, sizeof(waits));
	// Not in the child's first wait: some programs look for signals, and then begin to wait,
	// and hang if one comes in between. CPython's semaphores are so: what is done there is
	// added.
	if (agent && agent->on)
		waits_tid();
}

void waits_finish(void)
{
	if (agent && agent->on && __atomic_exchange_n(&cut, false, __ATOMIC_RELAXED))
		op_say("locks: some had more owners during one wait than are recorded; the first "
		       "ones are unknown");
}
