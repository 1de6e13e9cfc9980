// SPDX-License-Identifier: MIT
#include "tracer/agent/python/python_tally.h"

#include "base/hash.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHUNK        512u // tallies that are mapped at once, and stay where they are
#define CHUNKS_MAX   2048u
#define FRAMES_FIRST 512u
#define SLOTS_FIRST  1024u // a power of two
#define SEARCH_MAX   512u  // frames that an end is looked for in
#define OWN          static __thread __attribute__((tls_model("initial-exec")))

struct frame {
	uintptr_t key;
	uint32_t function;
	uint32_t tally; // number: the one from its caller, or else of all
};

struct table {
	struct table *next;
	uint32_t tid;   // atomic: whose it is
	uint32_t count; // atomic: tallies
	struct tally *chunks[CHUNKS_MAX];
	uint32_t *slots; // numbers of tallies; 0: free
	uint32_t slot_count;
	struct frame *frames;
	uint32_t depth, capacity;
	uint32_t beyond; // what is open for which there was no frame
};

static struct table *tables; // atomic
static bool lacking;         // atomic
OWN struct table *mine;

static void *map(size_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void lack(void)
{
	__atomic_store_n(&lacking, true, __ATOMIC_RELAXED);
}

bool tally_is_lacking(void)
{
	return __atomic_load_n(&lacking, __ATOMIC_RELAXED);
}

static inline struct tally *get(const struct table *t, uint32_t number)
{
	return &t->chunks[(number - 1) / CHUNK][(number - 1) % CHUNK];
}

static inline uint32_t slot_of(const struct table *t, uint32_t caller, uint32_t callee)
{
	uint32_t at = (uint32_t)hash_mix((uint64_t)caller << 32 | callee) & (t->slot_count - 1);

	for (; t->slots[at]; at = (at + 1) & (t->slot_count - 1)) {
		const struct tally *tally = get(t, t->slots[at]);
		if (tally->callee == callee && tally->caller == caller)
			break;
	}
	return at;
}

static bool grow_slots(struct table *t)
{
	uint32_t *old = t->slots, old_count = t->slot_count;
	uint32_t *slots = map((size_t)2 * old_count * sizeof(*slots));

	if (!slots)
		return false;
	t->slots = slots;
	t->slot_count = 2 * old_count;
	for (uint32_t number = 1; number <= t->count; number++) {
		const struct tally *tally = get(t, number);
		t->slots[slot_of(t, tally->caller, tally->callee)] = number;
	}
	munmap(old, old_count * sizeof(*old));
	return true;
}

// Its number; 0 if there is no room.
static __attribute__((noinline)) uint32_t add(struct table *t, uint32_t caller, uint32_t callee,
                                              uint32_t all)
{
	uint32_t chunk = t->count / CHUNK, number = t->count + 1;

	if (2 * number >= t->slot_count && !grow_slots(t))
		return 0;
	if (chunk == CHUNKS_MAX)
		return 0;
	if (!t->chunks[chunk])
		t->chunks[chunk] = map(CHUNK * sizeof(struct tally));
	if (!t->chunks[chunk])
		return 0;
	*get(t, number) = (struct tally){ .caller = caller, .callee = callee, .all = all };
	get(t, number)->all = all ? all : number;
	t->slots[slot_of(t, caller, callee)] = number;
	__atomic_store_n(&t->count, number, __ATOMIC_RELEASE);
	return number;
}

static inline uint32_t find_all(struct table *t, uint32_t function)
{
	uint32_t number = t->slots[slot_of(t, TALLY_ALL, function)];

	return number ? number : add(t, TALLY_ALL, function, 0);
}

static inline uint32_t find(struct table *t, uint32_t caller, uint32_t callee)
{
	if (!caller)
		return find_all(t, callee);
	uint32_t number = t->slots[slot_of(t, caller, callee)];
	if (number)
		return number;
	uint32_t all = find_all(t, callee);
	return all ? add(t, caller, callee, all) : 0;
}

static inline void pop(struct table *t)
{
	struct tally *tally = get(t, t->frames[--t->depth].tally);
	struct tally *all = get(t, tally->all);

	tally->open--;
	if (all != tally)
		all->open--;
}

static bool is_gone(uint32_t tid, uint32_t self)
{
	return tid == self || syscall(SYS_tgkill, getpid(), tid, 0) < 0;
}

// The table of a thread that has ended, whose calls stay in it.
static struct table *take_over(uint32_t self)
{
	for (struct table *t = __atomic_load_n(&tables, __ATOMIC_ACQUIRE); t; t = t->next) {
		uint32_t tid = __atomic_load_n(&t->tid, __ATOMIC_RELAXED);
		if (!is_gone(tid, self) ||
		    !__atomic_compare_exchange_n(&t->tid, &tid, self, false, __ATOMIC_ACQUIRE,
		                                 __ATOMIC_RELAXED))
			continue;
		while (t->depth)
			pop(t);
		t->beyond = 0;
		return t;
	}
	return NULL;
}

static struct table *new_table(uint32_t self)
{
	struct table *t = map(sizeof(*t));

	if (!t)
		return NULL;
	t->tid = self;
	t->slots = map(SLOTS_FIRST * sizeof(*t->slots));
	t->frames = map(FRAMES_FIRST * sizeof(*t->frames));
	if (!t->slots || !t->frames) {
		if (t->slots)
			munmap(t->slots, SLOTS_FIRST * sizeof(*t->slots));
		munmap(t, sizeof(*t));
		return NULL;
	}
	t->slot_count = SLOTS_FIRST;
	t->capacity = FRAMES_FIRST;
	t->next = __atomic_load_n(&tables, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&tables, &t->next, t, true, __ATOMIC_RELEASE,
	                                    __ATOMIC_RELAXED))
		;
	return t;
}

static __attribute__((noinline)) struct table *take_table(void)
{
	uint32_t self = (uint32_t)syscall(SYS_gettid);

	mine = take_over(self);
	if (!mine)
		mine = new_table(self);
	return mine;
}

static __attribute__((noinline)) bool grow_frames(struct table *t)
{
	size_t bytes = t->capacity * sizeof(*t->frames);
	void *grown = mremap(t->frames, bytes, 2 * bytes, MREMAP_MAYMOVE);

	if (grown == MAP_FAILED)
		return false;
	t->frames = grown;
	t->capacity *= 2;
	return true;
}

static inline void count(uint64_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED); // only its thread writes it
}

void tally_begin(uint32_t function, uintptr_t key)
{
	struct table *t = mine ? mine : take_table();

	if (!t) {
		lack();
		return;
	}
	uint32_t number = find(t, t->depth ? t->frames[t->depth - 1].function : 0, function);
	if (!number || t->beyond || (t->depth == t->capacity && !grow_frames(t))) {
		lack();
		t->beyond++;
		return;
	}
	struct tally *tally = get(t, number), *all = get(t, tally->all);
	t->frames[t->depth++] = (struct frame){ key, function, number };
	count(&all->calls);
	if (all->open++)
		count(&all->recursive);
	if (all == tally)
		return;
	count(&tally->calls);
	if (tally->open++)
		count(&tally->recursive);
}

static __attribute__((noinline)) void end_outer(struct table *t, uintptr_t key)
{
	for (uint32_t above = 1; above < t->depth && above < SEARCH_MAX; above++) {
		if (t->frames[t->depth - 1 - above].key != key)
			continue;
		for (; above != UINT32_MAX; above--)
			pop(t);
		return;
	}
}

void tally_end(uintptr_t key)
{
	struct table *t = mine;

	if (!t)
		return;
	if (t->beyond)
		t->beyond--;
	else if (t->depth && t->frames[t->depth - 1].key == key)
		pop(t);
	else
		end_outer(t, key);
}

bool tally_each(bool (*visit)(void *context, struct tally *t), void *context)
{
	for (struct table *t = __atomic_load_n(&tables, __ATOMIC_ACQUIRE); t; t = t->next) {
		uint32_t known = __atomic_load_n(&t->count, __ATOMIC_ACQUIRE);
		for (uint32_t number = 1; number <= known; number++)
			if (!visit(context, get(t, number)))
				return false;
	}
	return true;
}

static bool forget(void *unused, struct tally *t)
{
	(void)unused;
	t->told_calls = t->calls;
	t->told_recursive = t->recursive;
	return true;
}

void tally_fork(void)
{
	if (mine)
		mine->tid = (uint32_t)syscall(SYS_gettid);
	tally_each(forget, NULL);
}
