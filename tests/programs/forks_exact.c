// SPDX-License-Identifier: MIT
/*
 * forks_exact CHILDREN: children made in all ways, one after another, beside a thread that starts
 * short threads. All of them call traced functions, and the program prints how often each is called
 * in all, as "CALLS FUNCTION". A child that blocks is ended by SIGALRM.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE    __attribute__((noinline, noclone))
#define CALLS       7
#define PATIENCE    30 // seconds
#define STACK_BYTES (256 << 10)

extern char **environ;
// Of glibc 2.34.
extern pid_t _Fork(void) __attribute__((weak)); // NOLINT(bugprone-reserved-identifier)

static int stop; // atomic
static volatile unsigned sink;
static char *self;

#define TRACED(name)                                                                               \
	NOINLINE void name(unsigned n)                                                             \
	{                                                                                          \
		for (unsigned i = 0; i < n; i++)                                                   \
			sink = sink + i;                                                           \
	}
TRACED(f_forked)
TRACED(f_inner)
TRACED(f_in_thread)
TRACED(f_child_thread)
TRACED(f_cloned)
TRACED(f_borrowing)
TRACED(f_sharing)
TRACED(f_spawned)
TRACED(f_at_exit)
TRACED(f_grandchild)
TRACED(f_lender)

NOINLINE void f_outer(unsigned n)
{
	f_inner(n);
	f_inner(n);
	sink = sink + 1;
}

// What has been called: where all processes see it.
struct truth {
	unsigned long forked, outer, inner, in_thread, child_thread, cloned, borrowing, sharing,
		spawned, at_exit, grandchild, around, lender;
};
static struct truth *truth;
static void count(unsigned long *calls)
{
	__atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
}
#define CALL(what)                                                                                 \
	do {                                                                                       \
		count(&truth->what);                                                               \
		f_##what(20);                                                                      \
	} while (0)

static void call_outer(void)
{
	count(&truth->outer);
	count(&truth->inner);
	count(&truth->inner);
	f_outer(20);
}

static void *be_short(void *argument)
{
	CALL(in_thread);
	CALL(in_thread);
	return argument;
}

static void *start_threads(void *argument)
{
	pthread_t thread;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		if (pthread_create(&thread, NULL, be_short, NULL) == 0)
			pthread_join(thread, NULL);
	return argument;
}

static void *be_child_thread(void *argument)
{
	CALL(child_thread);
	return argument;
}

static void call_at_exit(void)
{
	CALL(at_exit);
}

static void call_in_child(void)
{
	alarm(PATIENCE);
	for (int i = 0; i < CALLS; i++)
		CALL(forked);
	call_outer();
}

static int wait_for(pid_t child)
{
	int status = -1;

	return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

static int plain(void)
{
	pid_t child = fork();

	if (child == 0) {
		call_in_child();
		_exit(0);
	}
	return wait_for(child);
}

static int with_exit(void)
{
	pid_t child = fork();

	if (child == 0) {
		atexit(call_at_exit);
		call_in_child();
		exit(0);
	}
	return wait_for(child);
}

static int with_thread(void)
{
	pid_t child = fork();

	if (child == 0) {
		pthread_t thread;
		int failed = pthread_create(&thread, NULL, be_child_thread, NULL);
		call_in_child();
		if (!failed)
			pthread_join(thread, NULL);
		_exit(failed != 0);
	}
	return wait_for(child);
}

static int with_grandchild(void)
{
	pid_t child = fork();

	if (child == 0) {
		CALL(forked);
		pid_t grandchild = fork();
		if (grandchild == 0) {
			alarm(PATIENCE);
			CALL(grandchild);
			_exit(0);
		}
		CALL(forked);
		_exit(wait_for(grandchild));
	}
	return wait_for(child);
}

static int with_killed(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		call_in_child();
		kill(getpid(), SIGKILL);
	}
	return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) ? 0 : 1;
}

static int by_fork(void)
{
	return fork();
}

static int by_clone(void)
{
	return (int)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static int by_bare_fork(void)
{
	return _Fork ? _Fork() : by_clone();
}

// The child is made while a call is open, and returns from it.
NOINLINE int f_around(int (*make)(void), unsigned n)
{
	int child = make();

	f_inner(n);
	sink = sink + n;
	return child;
}

static int around(int (*make)(void))
{
	count(&truth->around);
	pid_t parent = getpid(), child = f_around(make, 20);

	count(&truth->inner);
	if (getpid() != parent) {
		call_in_child();
		_exit(0);
	}
	return wait_for(child);
}

static int around_fork(void)
{
	return around(by_fork);
}

static int around_clone(void)
{
	return around(by_clone);
}

static int around_bare_fork(void)
{
	return around(by_bare_fork);
}

static int cloned(void)
{
	pid_t child = by_clone();

	if (child == 0) {
		alarm(PATIENCE);
		for (int i = 0; i < CALLS; i++)
			CALL(cloned);
		_exit(0);
	}
	return wait_for(child);
}

static int bare_forked(void)
{
	pid_t child = by_bare_fork();

	if (child == 0) {
		call_in_child();
		_exit(0);
	}
	return wait_for(child);
}

static int vforked(void)
{
	pid_t child = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork)

	if (child == 0) {
		// NOLINTBEGIN(clang-analyzer-unix.Vfork)
		for (int i = 0; i < CALLS; i++)
			CALL(borrowing);
		_exit(0);
		// NOLINTEND(clang-analyzer-unix.Vfork)
	}
	CALL(lender);
	return wait_for(child);
}

static void *vfork_first(void *failed)
{
	*(int *)failed = vforked();
	for (int i = 0; i < CALLS; i++)
		CALL(lender);
	return NULL;
}

// Nothing has been called in the thread yet.
static int vforked_first(void)
{
	int failed = 1;
	pthread_t thread;

	if (pthread_create(&thread, NULL, vfork_first, &failed) == 0)
		pthread_join(thread, NULL);
	return failed;
}

static int be_sharing(void *argument)
{
	(void)argument;
	for (int i = 0; i < CALLS; i++)
		CALL(sharing);
	_exit(0);
}

static int sharing(void)
{
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (stack == MAP_FAILED)
		return 1;
	int child = clone(be_sharing, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	int failed = wait_for(child);
	munmap(stack, STACK_BYTES);
	return failed;
}

static int spawned(void)
{
	pid_t child;
	char *arguments[] = { self, (char *)"spawned", NULL };

	for (int i = 0; i < CALLS; i++)
		count(&truth->spawned);
	return posix_spawn(&child, self, NULL, NULL, arguments, environ) != 0 || wait_for(child);
}

static const struct {
	const char *name;
	int (*run)(void);
} ways[] = {
	{ "plain", plain },
	{ "with_exit", with_exit },
	{ "with_thread", with_thread },
	{ "with_grandchild", with_grandchild },
	{ "with_killed", with_killed },
	{ "around_fork", around_fork },
	{ "around_clone", around_clone },
	{ "around_bare_fork", around_bare_fork },
	{ "cloned", cloned },
	{ "bare_forked", bare_forked },
	{ "vforked", vforked },
	{ "vforked_first", vforked_first },
	{ "sharing", sharing },
	{ "spawned", spawned },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static void print_truth(void)
{
	const struct {
		const char *name;
		unsigned long calls;
	} rows[] = {
		{ "f_forked", truth->forked },
		{ "f_outer", truth->outer },
		{ "f_inner", truth->inner },
		{ "f_in_thread", truth->in_thread },
		{ "f_child_thread", truth->child_thread },
		{ "f_cloned", truth->cloned },
		{ "f_borrowing", truth->borrowing },
		{ "f_sharing", truth->sharing },
		{ "f_spawned", truth->spawned },
		{ "f_at_exit", truth->at_exit },
		{ "f_grandchild", truth->grandchild },
		{ "f_around", truth->around },
		{ "f_lender", truth->lender },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].calls)
			printf("%lu %s\n", rows[i].calls, rows[i].name);
}

int main(int argc, char **argv)
{
	int children = argc > 1 ? atoi(argv[1]) : 60, failed = 0;
	const char *only = argc > 2 ? argv[2] : NULL;
	pthread_t starter;

	self = argv[0];
	if (argc > 1 && strcmp(argv[1], "spawned") == 0) {
		for (int i = 0; i < CALLS; i++)
			f_spawned(20);
		return 0;
	}
	truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	             0);
	if (truth == MAP_FAILED || pthread_create(&starter, NULL, start_threads, NULL) != 0)
		return 2;
	for (size_t way = 0; way < WAYS; way++)
		for (int i = 0; i < children && (!only || strcmp(only, ways[way].name) == 0); i++)
			if (ways[way].run()) {
				fprintf(stderr, "a child failed: %s\n", ways[way].name);
				failed++;
			}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(starter, NULL);
	print_truth();
	return failed != 0;
}
