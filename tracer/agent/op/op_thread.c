// SPDX-License-Identifier: MIT
// Threads as they come to have ops, in this process and in what is forked from it; and names.
#include "tracer/agent/op/op.h"

#include "base/clock.h"
#include "base/op.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/hold.h"
#include "tracer/agent/loader.h"
#include "tracer/agent/op/op_state.h"
#include "tracer/agent/sample/threads.h"
#include "tracer/agent/table.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define PAGE     4096
#define STARTED  1 // of op_witness: a thread starts the child, or has done so; atomic
#define YIELDS   50
#define PATIENCE (YIELDS + 2000) // 200 ms and more

// Generations that no process has: what op_witness says when the agent is off, and what threads
// keep from a time when the agent was there.
#define NOBODY UINT32_MAX
#define LEFT   (UINT32_MAX - 1)

// Of ops that find no room, those that pass between two tries for some: more and more.
#define AGAIN_FIRST 64
#define AGAIN_LAST  4096

#define likely(x)   __builtin_expect(!!(x), 1)

#define OWN         __thread __attribute__((tls_model("initial-exec")))
OWN struct op_thread *op_own;
static OWN bool ended;
static OWN uint32_t unseen; // there was no room for this thread: ops that pass until it asks again
static OWN uint32_t passed; // since it asked
static OWN bool lent;       // the thread's lane: op_take_lane()
static OWN struct op_thread *spare; // what the thread has kept: LEFT

struct agent *op_agent;
AGENT_TABLE struct names op_names;
static void (*when_forked)(void);
static uint32_t generation; // of this process; grows with each fork
// The kernel wipes it in a child, of which no handler may have told.
uint32_t *op_witness;

static uint32_t *map_witness(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	if (madvise(page, 4096, MADV_WIPEONFORK) == 0)
		return page;
	munmap(page, 4096); // a kernel before 4.14: forks without handlers are not noticed
	return NULL;
}

static const struct threads_ops ops_of_threads = {
	.are_inside = op_is_inside,
	.give_lane = op_give_lane,
	.end = op_thread_end,
	.say = op_say,
};

void op_start(struct agent *a)
{
	static uint32_t otherwise[2];

	threads_use_ops(&ops_of_threads);
	if (!op_witness)
		op_witness = map_witness();
	if (!op_witness)
		op_witness = otherwise;
	*op_witness = ++generation;
	op_agent = a;
	op_wants_empties = getenv(OP_EMPTY_ENV) != NULL;
}

void op_stop(void)
{
	if (op_witness) // all enter slowly now
		__atomic_store_n(op_witness, NOBODY, __ATOMIC_SEQ_CST);
}

bool op_is_on(enum op_provider provider)
{
	return op_agent && op_agent->on && op_agent->config.ops & 1u << provider;
}

uint32_t op_allowed(void)
{
	return op_agent ? op_agent->config.ops_allowed : 0;
}

// The other threads are not there any more. The one that has forked may still look at its
// generation: in a hook that a handler has interrupted, or where a new thread is the first to
// notice.
static void drop_threads(struct rings *r, const struct op_thread *own)
{
	for (uint32_t i = 0; i < r->lane_count; i++) {
		char *ops = (char *)r->lanes[i].ops;
		size_t kept = !own || r->lanes[i].ops == own ? PAGE : 0;
		if (ops)
			munmap(ops + kept, sizeof(struct op_thread) - kept);
		r->lanes[i].ops = NULL;
	}
}

static void forget_parent(struct agent *a)
{
	const struct op_thread *own = op_own;

	op_own = NULL; // what is called from here may be traced
	drop_threads(&a->rings, own);
	names_abandon(&op_names);
	op_forget_sites();
	ended = lent = false;
	unseen = passed = 0;
	generation++;
}

// From here on others get in.
static void publish(void)
{
	__atomic_store_n(op_witness, generation, __ATOMIC_RELEASE);
}

void op_fork(struct agent *a)
{
	forget_parent(a);
	publish();
}

static bool attach_names(void)
{
	if (likely(op_names.file))
		return true;
	if (__atomic_exchange_n(&op_agent->naming, 1, __ATOMIC_ACQUIRE))
		return false; // another thread is at it
	void *memory = op_names.file ? NULL : rings_map_names(&op_agent->rings);
	if (memory) {
		stopwatch_start(); // not before there is an op: most processes have none
		names_start(&op_names, memory, op_agent->rings.by_populate, op_agent->pid,
		            op_agent->born_ns);
	}
	__atomic_store_n(&op_agent->naming, 0, __ATOMIC_RELEASE);
	return op_names.file;
}

static struct op_thread *map_thread(struct lane *lane)
{
	if (lane->ops)
		return lane->ops;
	if (spare) {
		lane->ops = spare;
		spare = NULL;
		return lane->ops;
	}
	void *memory = mmap(NULL, sizeof(struct op_thread), PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory != MAP_FAILED)
		lane->ops = memory;
	return lane->ops;
}

static struct op_thread *take_thread(void)
{
	struct lane *lane = threads_lane();
	struct op_thread *t = lane ? map_thread(lane) : NULL;

	if (!t || !attach_names())
		return NULL;
	t->lane = lane;
	t->generation = generation;
	t->tid = lane->tid;
	t->depth = 0;
	t->inside = 0;
	t->room = 0;
	t->watch = (struct stopwatch){ 0 };
	t->emptied_ns = 0;
	memset(t->cache, 0, sizeof(t->cache)); // another thread's names are as good, but of old ids
	lane->owed = 0;
	op_own = t;
	return t;
}

// The calling thread's first op.
static struct op_thread *begin_thread(void)
{
	struct hold held = hold_signals();
	struct op_thread *t = take_thread();

	hold_end(held);
	return t;
}

static bool is_being_made(void)
{
	return __atomic_load_n(&op_agent->attaching, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&op_agent->naming, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&op_agent->rings.growing, __ATOMIC_ACQUIRE);
}

// Not by libc's nanosleep(), where a thread may be cancelled. The other may be without a CPU.
static void give_way(int turn)
{
	struct timespec moment = { 0, 100 * NS_PER_US };

	if (turn < YIELDS)
		sched_yield();
	else
		syscall(SYS_nanosleep, &moment, NULL);
}

// Once. Where threads get their lanes when they start, that has counted those who got none.
static void count_unseen(void)
{
	bool counted = (agent_samples(op_agent) || op_agent->self) && !threads_lane();

	if (!counted && op_agent->rings.files[0])
		__atomic_fetch_add(&op_agent->rings.files[0]->unsampled, 1, __ATOMIC_RELAXED);
	unseen = AGAIN_FIRST;
}

// Where another thread makes the files just now, ops would be lost without a trace.
static struct op_thread *begin_patiently(void)
{
	struct op_thread *t = NULL;
	int idle = 0; // tries for which nobody was to blame

	for (int i = 0; !t && idle < 3 && i < PATIENCE; i++) {
		idle = is_being_made() ? 0 : idle + 1;
		t = begin_thread();
		if (!t)
			give_way(i);
	}
	if (!t)
		count_unseen();
	return t;
}

// Others may have ended, or a disk may have room again. It takes microseconds to see that there is
// none, so that it is done at few ops.
static struct op_thread *begin_again(void)
{
	if (++passed < unseen)
		return NULL;
	struct op_thread *t = begin_thread();
	passed = 0;
	unseen = t ? 0 : unseen < AGAIN_LAST ? 2 * unseen : AGAIN_LAST;
	return t;
}

void op_when_forked(void (*function)(void))
{
	when_forked = function;
}

void op_start_child(struct agent *a)
{
	struct hold held = hold_signals();

	loader_fork(); // before anything that may walk
	forget_parent(a);
	agent_fork(a);
	threads_fork(a);
	if (when_forked)
		when_forked();
	publish();
	hold_end(held);
}

void op_start_child_later(struct agent *a)
{
	loader_fork();
	rings_detach(&a->rings);
	names_detach(&op_names);
	op_witness[0] = op_witness[STARTED] = 0;
}

// What each thread has done before is seen from here, and what is done from here it will see.
static bool meet_all_threads(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0;
}

static bool has_one_inside(const struct agent *a)
{
	const struct rings *r = &a->rings;

	if (__atomic_load_n(&a->users, __ATOMIC_ACQUIRE))
		return true;
	for (uint32_t i = 0; i < r->lane_count; i++)
		if (r->lanes[i].ops &&
		    __atomic_load_n(&((struct op_thread *)r->lanes[i].ops)->inside,
		                    __ATOMIC_ACQUIRE))
			return true;
	return false;
}

bool op_withdraw(struct agent *a)
{
	if (!meet_all_threads())
		return false;
	for (int i = 0; has_one_inside(a); i++) {
		if (i == PATIENCE)
			return false;
		give_way(i);
	}
	for (uint32_t i = 0; i < a->rings.lane_count; i++) {
		struct op_thread *t = a->rings.lanes[i].ops;
		a->rings.lanes[i].ops = NULL;
		if (!t)
			continue;
		t->lane = NULL;
		t->generation = LEFT;
		madvise((char *)t + PAGE, sizeof(*t) - PAGE, MADV_DONTNEED);
	}
	names_abandon(&op_names);
	op_forget_sites();
	return true;
}

void op_stop_child(struct agent *a)
{
	loader_fork();
	a->on = false;
	a->users = 0; // other threads are not there
	lent = false;
	op_memory = NULL; // the kernel has wiped what it has counted
	op_stop();
	rings_detach(&a->rings);
	names_detach(&op_names);
}

static bool is_noticed(void)
{
	return __atomic_load_n(op_witness, __ATOMIC_ACQUIRE) == generation;
}

// The child may have threads already: one of them starts it, and the others wait.
static void start_once(void)
{
	if (op_agent->joined) {
		op_stop_child(op_agent);
		return;
	}
	struct hold held = hold_signals();
	uint32_t idle = 0;

	if (__atomic_compare_exchange_n(&op_witness[STARTED], &idle, 1, false, __ATOMIC_ACQ_REL,
	                                __ATOMIC_RELAXED))
		op_start_child(op_agent);
	hold_end(held);
	for (int i = 0; i < PATIENCE && !is_noticed(); i++)
		give_way(i);
}

// The target has called clone() or fork() by itself.
static void notice_fork(void)
{
	if (!is_noticed())
		start_once();
	if (op_own && op_own->generation == LEFT)
		spare = op_own;
	if (op_own && op_own->generation != generation)
		op_own = NULL; // another thread has noticed it
}

// A child of vfork() has its parent's memory: what fails here is not to fail there.
static bool is_vforked(void)
{
	return op_agent->pid != (uint32_t)getpid();
}

static struct op_thread *enter_noticed(void)
{
	struct op_thread *t = NULL;

	if (!agent_use(op_agent))
		return NULL;
	if (op_own)
		t = op_own;
	else if (unseen)
		t = begin_again();
	else if (!is_vforked())
		t = begin_patiently();
	if (t)
		t->inside = 1;
	agent_let_go(op_agent);
	return t;
}

struct op_thread *op_enter_slowly(void)
{
	int error = errno;
	struct op_thread *t = NULL;

	if (op_agent && op_agent->on && !ended && !op_is_inside()) {
		notice_fork();
		t = enter_noticed();
	}
	errno = error;
	return t;
}

bool op_is_inside(void)
{
	return lent || (op_own && op_own->inside);
}

static struct lane *lend_lane(void)
{
	if (!agent_use(op_agent))
		return NULL;
	lent = true;
	struct lane *lane = threads_lane();
	lent = lane != NULL;
	if (lane && op_own)
		op_own->inside = 1;
	if (!lane)
		agent_let_go(op_agent);
	return lane;
}

struct lane *op_take_lane(void)
{
	int error = errno;
	struct lane *lane = NULL;

	if (op_agent && op_agent->on && !ended && !op_is_inside()) {
		notice_fork();
		lane = lend_lane();
	}
	errno = error;
	return lane;
}

void op_give_lane(void)
{
	if (op_own) {
		op_own->room = 0; // something has been written
		op_own->inside = 0;
	}
	if (lent)
		agent_let_go(op_agent);
	lent = false;
}

static bool is_cached(const struct op_cached *cached, enum op_provider provider, uint32_t domain,
                      const char *text)
{
	return cached->id && cached->text == text && cached->domain == domain &&
	       names_entry(&op_names, cached->id)->provider == provider &&
	       strncmp(names_text(&op_names, cached->id), text, PROTOCOL_NAME_TEXT) == 0;
}

static uint32_t cache_slot(uint32_t domain, const char *text)
{
	return op_spread((uint64_t)(uintptr_t)text + domain, OP_CACHE_BITS);
}

uint32_t op_name_known(const struct op_thread *t, enum op_provider provider, uint32_t domain,
                       const char *text)
{
	const struct op_cached *cached = &t->cache[cache_slot(domain, text)];

	return is_cached(cached, provider, domain, text) ? cached->id : 0;
}

uint32_t op_name_in(struct op_thread *t, const struct name *name)
{
	struct op_cached *cached = &t->cache[cache_slot(name->domain, name->text)];

	if (likely(is_cached(cached, name->provider, name->domain, name->text)))
		return cached->id;
	uint32_t id = names_id(&op_names, name);
	*cached = (struct op_cached){ name->text, name->domain, id };
	return id;
}

uint32_t op_name(struct op_thread *t, enum op_provider provider, uint32_t domain, const char *text)
{
	struct name name = { .provider = provider, .domain = domain, .text = text };

	return op_name_in(t, &name);
}

uint32_t op_name_apart(const struct name *name)
{
	bool attached = op_agent && op_agent->on && agent_attach(op_agent) && attach_names();

	return attached ? names_id(&op_names, name) : 0;
}

void op_count_apart(const struct name *name)
{
	const struct op_counts counts = { .calls = 1, .timeless = 1 };
	int error = errno;
	// A child that nobody has told of has its parent's names.
	uint32_t id = op_agent && *op_witness == generation ? op_name_apart(name) : 0;

	if (id)
		names_count(&op_names, id, &counts);
	errno = error;
}

void op_thread_end(struct lane *lane)
{
	struct op_thread *t = op_own;

	ended = true;
	op_own = NULL;
	if (!t || t->lane != lane || t->generation != generation)
		return;
	op_close_all(t);
}
