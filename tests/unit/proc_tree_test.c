// SPDX-License-Identifier: MIT
#include "sampler/proc/proc_tree.h"

#include "tests/support/expect.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *wait_for_ever(void *context)
{
	(void)context;
	for (;;)
		pause();
	return NULL;
}

// A child with a second thread and a child of its own, which writes its number into OUT.
static pid_t start(int out)
{
	pid_t child = fork();
	pthread_t thread;

	if (child != 0)
		return child;
	pid_t grandchild = fork();
	if (grandchild == 0)
		wait_for_ever(NULL);
	if (pthread_create(&thread, NULL, wait_for_ever, NULL) == 0 &&
	    write(out, &grandchild, sizeof(grandchild)) == sizeof(grandchild))
		wait_for_ever(NULL);
	_exit(1);
}

Test(proc_tree, threads_and_descendants_parents_first)
{
	struct proc_tree tree = { 0 };
	pid_t grandchild = 0;
	int fds[2];

	cr_assert(pipe(fds) == 0);
	pid_t child = start(fds[1]);
	cr_assert(read(fds[0], &grandchild, sizeof(grandchild)) == sizeof(grandchild));
	const pid_t wanted[] = { child, child, grandchild };
	for (int i = 0; i < 200; i++) { // until all of them wait
		cr_assert(proc_tree_list(&tree, wanted, 3));
		if (tree.count == 3 && tree.threads[0].blocked && tree.threads[1].blocked)
			break;
		usleep(10000);
	}
	cr_assert(eq(sz, tree.count, 3), "a process that is named twice is there once");
	cr_expect(eq(u32, tree.threads[0].pid, (uint32_t)child));
	cr_expect(eq(u32, tree.threads[0].tid, (uint32_t)child));
	cr_expect(eq(u32, tree.threads[0].parent_pid, 0), "its parent is not listed");
	cr_expect(tree.threads[0].blocked);
	cr_expect(eq(u32, tree.threads[1].pid, (uint32_t)child));
	cr_expect(ne(u32, tree.threads[1].tid, (uint32_t)child));
	cr_expect(eq(u32, tree.threads[2].pid, (uint32_t)grandchild));

	cr_assert(proc_tree_list(&tree, &child, 1));
	cr_assert(eq(sz, tree.count, 3));
	cr_expect(eq(u32, tree.threads[2].pid, (uint32_t)grandchild));
	cr_expect(eq(u32, tree.threads[2].parent_pid, (uint32_t)child));
	cr_expect(proc_tree_has(&tree, (uint32_t)grandchild));
	cr_expect(not(proc_tree_has(&tree, 1)));

	kill(grandchild, SIGKILL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	cr_assert(proc_tree_list(&tree, &child, 1));
	cr_expect(eq(sz, tree.count, 0), "it has ended");
	proc_tree_fini(&tree);
}

Test(proc_tree, who_runs_is_not_blocked)
{
	struct proc_tree tree = { 0 };
	pid_t self = getpid();

	cr_assert(proc_tree_list(&tree, &self, 1));
	for (size_t i = 0; i < tree.count; i++)
		if (tree.threads[i].tid == (uint32_t)syscall(SYS_gettid))
			cr_expect(not(tree.threads[i].blocked));
	proc_tree_fini(&tree);
}
