// SPDX-License-Identifier: MIT
#include "tracer/agent/loader.h"

#include "base/clock.h"
#include "tracer/agent/hold.h"
#include "tracer/agent/loaded.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// ld.so's own, as debuggers use it; musl's program has none.
// NOLINTNEXTLINE(readability-redundant-declaration): weak here
extern struct r_debug _r_debug __attribute__((weak));

#define YIELDS     50
#define PATIENCE   (YIELDS + 5000) // 500 ms and more
#define SOON       1000            // 100 ms and more
#define TRIES      100
#define PAGE       4096
#define CANDIDATES 8

#define OWN        static __thread __attribute__((tls_model("initial-exec")))
OWN uint32_t depth;     // of the calling thread's walks
OWN uint32_t own_forks; // handlers of its fork that may walk

static uint32_t walking; // atomic: threads in a walk
static uint32_t forking; // atomic: threads in a fork
static bool started;
static bool given_up; // atomic: a walk did not end, or waiting is forbidden: nobody waits
static bool hushed;   // atomic

// The beginning of glibc's pthread_mutex_t where a long has 64 bits, since before 2.17.
struct mutex {
	uint32_t word;
	uint32_t count;
	int32_t owner;
	uint32_t users;
	int32_t kind;
};

/*
 * The lock for the list of objects, which dl_iterate_phdr() takes; NULL: not found (yet). Since
 * before 2.17 the lock for loading, which dlopen(), dlsym() and dladdr() take, lies before it.
 */
static pthread_mutex_t *list_lock; // atomic
static uint32_t tries;             // atomic: to find it
static uint32_t turns;             // atomic: of waiting for it, all together

// Not by libc's nanosleep(), where a thread may be cancelled.
static void give_way(int turn)
{
	struct timespec moment = { 0, 100 * NS_PER_US };

	if (turn < YIELDS)
		sched_yield();
	else
		syscall(SYS_nanosleep, &moment, NULL);
}

typedef int visit_object(struct dl_phdr_info *info, size_t size, void *context);

// In the loader's own memory, locked by the calling thread.
struct held_locks {
	int32_t tid;
	unsigned count;
	pthread_mutex_t *at[CANDIDATES];
	uint32_t counts[CANDIDATES];
};

static volatile struct mutex *mutex_of(pthread_mutex_t *lock)
{
	return (volatile struct mutex *)(void *)lock;
}

static void find_held(struct held_locks *held, uintptr_t start, uintptr_t end)
{
	// One stands before it.
	for (uintptr_t at = start + sizeof(pthread_mutex_t);
	     at + sizeof(pthread_mutex_t) <= end && held->count < CANDIDATES; at += sizeof(long)) {
		pthread_mutex_t *lock = (pthread_mutex_t *)at;
		volatile struct mutex *mutex = mutex_of(lock);
		if (mutex->owner != held->tid || mutex->kind != PTHREAD_MUTEX_RECURSIVE_NP ||
		    !mutex->word || !mutex->count ||
		    mutex_of(lock - 1)->kind != PTHREAD_MUTEX_RECURSIVE_NP)
			continue;
		held->at[held->count] = lock;
		held->counts[held->count++] = mutex->count;
	}
}

static int visit_loader(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	if (!loaded_holds(info, _r_debug.r_brk))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr, end = start + p->p_memsz;
		if (p->p_type == PT_LOAD && p->p_flags & PF_W)
			find_held(context, (start + sizeof(long) - 1) & -sizeof(long), end);
	}
	return 1;
}

// What is locked within a walk, and once less after it. Signals are held.
static void find_list_lock(void)
{
	struct held_locks held = { .tid = hold_thread() };
	pthread_mutex_t *found = NULL;
	unsigned count = 0;

	dl_iterate_phdr(visit_loader, &held);
	for (unsigned i = 0; i < held.count; i++) {
		volatile struct mutex *mutex = mutex_of(held.at[i]);
		if (mutex->owner == held.tid && mutex->count == held.counts[i])
			continue; // held before
		found = held.at[i];
		count++;
	}
	if (count == 1)
		__atomic_store_n(&list_lock, found, __ATOMIC_RELEASE);
}

// Before glibc 2.34 a program without libpthread has no locks, and may load that later.
static void find_locks(void)
{
	if (sizeof(long) != 8 || !&_r_debug || !_r_debug.r_brk ||
	    __atomic_load_n(&list_lock, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&tries, __ATOMIC_RELAXED) >= TRIES)
		return;
	__atomic_fetch_add(&tries, 1, __ATOMIC_RELAXED);
	find_list_lock();
}

void loader_start(void)
{
	struct hold held = hold_signals();

	find_locks();
	hold_end(held);
	started = true;
}

void loader_enter(void)
{
	int error = errno;

	if (depth++ || own_forks)
		return;
	for (int i = 0;; i++) {
		__atomic_fetch_add(&walking, 1, __ATOMIC_SEQ_CST);
		if (!__atomic_load_n(&forking, __ATOMIC_SEQ_CST) || i >= PATIENCE ||
		    __atomic_load_n(&given_up, __ATOMIC_RELAXED))
			break;
		__atomic_fetch_sub(&walking, 1, __ATOMIC_SEQ_CST);
		give_way(i);
	}
	errno = error;
}

void loader_leave(void)
{
	if (--depth || own_forks)
		return;
	__atomic_fetch_sub(&walking, 1, __ATOMIC_SEQ_CST);
}

// As libc does it with a recursive mutex of one process. Its functions may be a sanitizer's, which
// begins after us, or another library's.
static bool try_lock(pthread_mutex_t *lock)
{
	volatile struct mutex *mutex = mutex_of(lock);
	int32_t tid = hold_thread();
	uint32_t free = 0;

	if (mutex->owner == tid) {
		mutex->count++;
		return true;
	}
	if (!__atomic_compare_exchange_n(&mutex->word, &free, 1, false, __ATOMIC_ACQUIRE,
	                                 __ATOMIC_RELAXED))
		return false;
	mutex->count = 1;
	mutex->owner = tid;
	mutex->users++;
	return true;
}

static void unlock(pthread_mutex_t *lock)
{
	volatile struct mutex *mutex = mutex_of(lock);

	if (--mutex->count)
		return;
	mutex->owner = 0;
	mutex->users--;
	if (__atomic_exchange_n(&mutex->word, 0, __ATOMIC_RELEASE) > 1)
		syscall(SYS_futex, &mutex->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

// Who has it may wait for the calling thread, so that waiting is in vain: all of it together takes
// a moment of the process's time.
static bool take_soon(pthread_mutex_t *lock)
{
	while (!try_lock(lock)) {
		uint32_t turn = __atomic_fetch_add(&turns, 1, __ATOMIC_RELAXED);
		if (turn >= SOON) {
			__atomic_store_n(&turns, SOON, __ATOMIC_RELAXED);
			return false;
		}
		give_way(YIELDS);
	}
	return true;
}

static bool is_mapped(uintptr_t page)
{
	unsigned char there;

	return page && page % PAGE == 0 && syscall(SYS_mincore, page, PAGE, &there) == 0;
}

static bool has_dynamic(const struct dl_phdr_info *info, const void *dynamic)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC &&
		    info->dlpi_addr + info->dlpi_phdr[i].p_vaddr == (uintptr_t)dynamic)
			return true;
	return false;
}

// The headers of a library, which begins where it is loaded. The kernel tells those of the program.
static bool describe(const struct link_map *object, struct dl_phdr_info *info)
{
	const ElfW(Ehdr) *file = (const ElfW(Ehdr) *)object->l_addr;

	*info = (struct dl_phdr_info){ .dlpi_addr = object->l_addr, .dlpi_name = object->l_name };
	if (!object->l_prev) {
		info->dlpi_phdr = (const ElfW(Phdr) *)getauxval(AT_PHDR);
		info->dlpi_phnum = (ElfW(Half))getauxval(AT_PHNUM);
		if (info->dlpi_phdr && has_dynamic(info, object->l_ld))
			return true; // else the loader was called by its name
	}
	if (!is_mapped(object->l_addr) || memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 ||
	    file->e_phentsize != sizeof(ElfW(Phdr)) || file->e_phoff > PAGE ||
	    file->e_phnum > (PAGE - file->e_phoff) / sizeof(ElfW(Phdr)))
		return false;
	info->dlpi_phdr = (const ElfW(Phdr) *)(object->l_addr + file->e_phoff);
	info->dlpi_phnum = file->e_phnum;
	return has_dynamic(info, object->l_ld);
}

static int walk(visit_object *visit, void *context)
{
	int result = 0;

	for (const struct link_map *at = _r_debug.r_map; at && !result; at = at->l_next) {
		struct dl_phdr_info info;
		if (describe(at, &info))
			result = visit(&info, sizeof(info), context);
	}
	return result;
}

// The list changes under both locks, so that either will do.
static int walk_by_any_lock(visit_object *visit, void *context)
{
	pthread_mutex_t *lock = __atomic_load_n(&list_lock, __ATOMIC_ACQUIRE);
	int result;

	if (!lock || take_soon(lock)) {
		result = dl_iterate_phdr(visit, context);
		if (lock)
			unlock(lock);
	} else if (take_soon(lock - 1)) {
		result = walk(visit, context);
		unlock(lock - 1);
	} else {
		result = dl_iterate_phdr(visit, context);
	}
	return result;
}

int loader_each(int (*visit)(struct dl_phdr_info *info, size_t size, void *context), void *context)
{
	struct hold held = { 0 };

	loader_enter();
	// A handler's fork would leave the lock to a thread that the child has not got.
	if (started && !__atomic_load_n(&given_up, __ATOMIC_RELAXED))
		held = hold_signals();
	if (held.held)
		find_locks();
	int result = held.held ? walk_by_any_lock(visit, context) : dl_iterate_phdr(visit, context);
	hold_end(held);
	loader_leave();
	return result;
}

// The lock for loading comes first: dlopen() takes them in that order.
static bool take_locks(pthread_mutex_t *lock)
{
	if (!take_soon(lock - 1))
		return false;
	if (take_soon(lock))
		return true;
	unlock(lock - 1);
	return false;
}

bool loader_lock_soon(struct loader_lock *held)
{
	int error = errno;
	pthread_mutex_t *lock = __atomic_load_n(&list_lock, __ATOMIC_ACQUIRE);

	*held = (struct loader_lock){ 0 };
	loader_enter();
	if (!started || __atomic_load_n(&hushed, __ATOMIC_RELAXED) || !lock)
		return true;
	held->signals = hold_signals();
	if (take_locks(lock)) {
		held->lock = lock;
	} else {
		hold_end(held->signals);
		loader_leave();
	}
	errno = error;
	return held->lock;
}

void loader_unlock(struct loader_lock *held)
{
	int error = errno;

	if (held->lock) {
		unlock(held->lock);
		unlock(held->lock - 1);
		hold_end(held->signals);
	}
	loader_leave();
	errno = error;
}

void loader_before_fork(void)
{
	// A fork within a walk of the same thread does not wait for itself.
	uint32_t own = depth && !own_forks;

	own_forks++;
	__atomic_fetch_add(&forking, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; __atomic_load_n(&walking, __ATOMIC_SEQ_CST) > own; i++) {
		if (__atomic_load_n(&given_up, __ATOMIC_RELAXED))
			break;
		if (i >= PATIENCE)
			__atomic_store_n(&given_up, true, __ATOMIC_RELAXED);
		give_way(i);
	}
}

void loader_after_fork(void)
{
	own_forks--;
	__atomic_fetch_sub(&forking, 1, __ATOMIC_SEQ_CST);
}

// A child has one thread, unless it was made behind our back and has begun others since.
static bool is_gone(int32_t owner)
{
	int error = errno;
	bool gone = __atomic_load_n(&hushed, __ATOMIC_RELAXED) ||
	            (syscall(SYS_tgkill, getpid(), owner, 0) < 0 && errno == ESRCH);

	errno = error;
	return gone;
}

// The owner is written after the word, and cleared before it.
static int32_t owner_of(volatile struct mutex *mutex)
{
	for (int i = 0; i < YIELDS && mutex->word && !mutex->owner; i++)
		give_way(i);
	return mutex->owner;
}

static void let_go(pthread_mutex_t *lock)
{
	volatile struct mutex *mutex = mutex_of(lock);
	int32_t owner = owner_of(mutex);

	if (!mutex->word || (owner && !is_gone(owner)))
		return;
	mutex->owner = 0;
	mutex->count = mutex->users = 0;
	__atomic_store_n(&mutex->word, 0, __ATOMIC_RELEASE);
}

void loader_fork(void)
{
	pthread_mutex_t *lock = __atomic_load_n(&list_lock, __ATOMIC_RELAXED);

	own_forks = 0;
	forking = 0;
	walking = depth ? 1 : 0; // other threads are not there
	if (!lock)
		return;
	let_go(lock);
	let_go(lock - 1); // fork() has done so, _Fork() and the system call have not
}

void loader_hush(void)
{
	__atomic_store_n(&hushed, true, __ATOMIC_RELAXED);
	__atomic_store_n(&given_up, true, __ATOMIC_RELAXED);
}
