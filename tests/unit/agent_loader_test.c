// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/loader.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OBJECTS_MAX 64

struct objects {
	size_t count;
	struct dl_phdr_info of[OBJECTS_MAX];
};

static int note(struct dl_phdr_info *info, size_t size, void *context)
{
	struct objects *objects = context;

	(void)size;
	cr_assert(lt(sz, objects->count, (size_t)OBJECTS_MAX));
	objects->of[objects->count++] = *info;
	return 0;
}

static int held;   // atomic
static int let_go; // atomic

static int hold(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)info, (void)size, (void)context;
	__atomic_store_n(&held, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&let_go, __ATOMIC_SEQ_CST))
		sched_yield();
	return 1;
}

static void *walk(void *unused)
{
	dl_iterate_phdr(hold, NULL);
	return unused;
}

static pthread_t hold_list(void)
{
	pthread_t thread;

	loader_start();
	cr_assert(eq(int, pthread_create(&thread, NULL, walk, NULL), 0));
	while (!__atomic_load_n(&held, __ATOMIC_SEQ_CST))
		sched_yield();
	return thread;
}

static void release_list(pthread_t thread)
{
	__atomic_store_n(&let_go, 1, __ATOMIC_SEQ_CST);
	pthread_join(thread, NULL);
}

Test(agent_loader, a_walk_beside_another_threads_sees_the_same_objects)
{
	struct objects expected = { 0 }, got = { 0 };

	dl_iterate_phdr(note, &expected);
	pthread_t thread = hold_list();
	loader_each(note, &got);
	release_list(thread);
	cr_assert(eq(sz, got.count, expected.count));
	cr_assert(gt(sz, got.count, (size_t)2));
	for (size_t i = 0; i < got.count; i++) {
		const struct dl_phdr_info *a = &expected.of[i], *b = &got.of[i];
		cr_expect(eq(u64, b->dlpi_addr, a->dlpi_addr), "%s", a->dlpi_name);
		cr_expect(eq(str, (char *)b->dlpi_name, (char *)a->dlpi_name));
		cr_expect(eq(ptr, (void *)b->dlpi_phdr, (void *)a->dlpi_phdr), "%s", a->dlpi_name);
		cr_expect(eq(int, b->dlpi_phnum, a->dlpi_phnum), "%s", a->dlpi_name);
	}
}

Test(agent_loader, who_can_look_later_does_not_wait_for_another_threads_walk)
{
	struct loader_lock lock;
	pthread_t thread = hold_list();

	cr_expect(not(loader_lock_soon(&lock)));
	release_list(thread);
	cr_assert(loader_lock_soon(&lock));
	cr_expect(ne(ptr, lock.lock, NULL));
	loader_unlock(&lock);
}

Test(agent_loader, a_child_lets_go_of_what_a_thread_of_its_parent_holds, .timeout = 60)
{
	pthread_t thread = hold_list();
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		struct objects objects = { 0 };
		loader_fork();
		dl_iterate_phdr(note, &objects);
		_exit(objects.count > 2 ? 7 : 1);
	}
	cr_assert(eq(int, waitpid(child, &status, 0), child));
	cr_expect(eq(int, WEXITSTATUS(status), 7));
	release_list(thread);
}
