// SPDX-License-Identifier: MIT
/*
 * loader_busy SCENE CHILDREN: children, and calls of hooked functions, while another thread holds a
 * lock of the loader.
 *
 * walk, open: children of all kinds are made while another thread is in a callback of
 * dl_iterate_phdr(), or in the constructor of a library that it opens. Each child allocates, calls
 * f_work(), throws nothing and loads nothing, and ends with 7. Prints how many of each kind did so.
 *
 * own: the thread that is in the callback forks by itself, and its child goes on with the walk.
 *
 * walk_waits, open_waits: the callback, or the constructor, waits for a mutex of the thread that
 * calls the hooked functions meanwhile.
 *
 * A child that blocks is killed, and the program ends by SIGALRM where it blocks itself. Without a
 * profiler neither does.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#define PATIENCE 20 // seconds
#define ENDS     7
#define US       1000L
#define STACK    (256 << 10)

extern char **environ;
double cblas_ddot(int n, const double *x, int dx, const double *y, int dy);
double cblas_dasum(int n, const double *x, int dx);
// Of glibc 2.34.
extern pid_t _Fork(void) __attribute__((weak)); // NOLINT(bugprone-reserved-identifier)

static bool stop; // atomic
static int busy;  // atomic: the other thread holds the lock
static volatile unsigned sink;
static char *self;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline, noclone)) void f_work(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink = sink + i;
}

static void rest(long us)
{
	struct timespec moment = { 0, us * 1000 };
	nanosleep(&moment, NULL);
}

// What the constructor of the library calls, and the callback.
static void loader_is_held(void)
{
	__atomic_store_n(&busy, 1, __ATOMIC_SEQ_CST);
	rest(3 * US);
	__atomic_store_n(&busy, 0, __ATOMIC_SEQ_CST);
}

static void wait_for_mutex(void)
{
	__atomic_store_n(&busy, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	__atomic_store_n(&busy, 0, __ATOMIC_SEQ_CST);
}

// Of the library.
static void (*held)(void) = loader_is_held;
__attribute__((visibility("default"))) void loader_busy_constructed(void);
void loader_busy_constructed(void)
{
	held();
}

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)info, (void)size, (void)context;
	held();
	return 1;
}

static void walk_once(void)
{
	dl_iterate_phdr(visit, NULL);
}

static void open_once(void)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s_library.so", self);
	void *library = dlopen(path, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(3);
	}
	dlclose(library);
}

static void *hold_again_and_again(void *once)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		((void (*)(void))once)();
	return NULL;
}

static void wait_until_busy(void)
{
	while (!__atomic_load_n(&busy, __ATOMIC_SEQ_CST))
		sched_yield();
}

static void *work(void *argument)
{
	f_work(100);
	return argument;
}

static void allocate(void)
{
	for (int i = 0; i < 50; i++) {
		char *p = malloc(100 + 100 * (size_t)i);
		if (p)
			memset(p, 1, 100);
		sink = sink + (unsigned)(p ? p[50] : 0);
		free(p);
	}
}

static void be_child(bool with_thread)
{
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread;

	allocate();
	for (int i = 0; i < 5; i++)
		f_work(100);
	pthread_mutex_lock(&own);
	pthread_mutex_unlock(&own);
	signal(SIGUSR1, SIG_IGN);
	if (with_thread && pthread_create(&thread, NULL, work, NULL) == 0)
		pthread_join(thread, NULL);
	// NOLINTNEXTLINE(clang-analyzer-unix.Vfork)
	_exit(ENDS);
}

static int by_clone(void)
{
	return (int)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static pid_t make_fork(void)
{
	pid_t child = fork();

	if (child == 0)
		be_child(true);
	return child;
}

// Libraries are not to be opened in it, nor need there be another thread: no lock has been reset.
static pid_t make_bare_fork(void)
{
	pid_t child = _Fork ? _Fork() : by_clone();

	if (child == 0)
		be_child(false);
	return child;
}

static pid_t make_clone(void)
{
	pid_t child = by_clone();

	if (child == 0)
		be_child(false);
	return child;
}

static pid_t make_vfork(void)
{
	pid_t child = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork)

	if (child == 0) {
		f_work(100);
		_exit(ENDS);
	}
	return child;
}

static int borrow(void *unused)
{
	(void)unused;
	f_work(100);
	_exit(ENDS);
}

static pid_t make_sharing(void)
{
	static char stack[STACK] __attribute__((aligned(16)));

	return clone(borrow, stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
}

static pid_t make_spawn(void)
{
	char *arguments[] = { self, (char *)"end", NULL };
	pid_t child;

	return posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0 ? child : -1;
}

static pid_t make_vfork_exec(void)
{
	pid_t child = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork)

	if (child == 0) {
		execl(self, self, "end", (char *)NULL);
		_exit(1);
	}
	return child;
}

// It may have all signals blocked.
static int wait_or_kill(pid_t child)
{
	int status = -1;

	for (long us = 0; us < PATIENCE * 1000 * US; us += US) {
		if (waitpid(child, &status, WNOHANG) == child)
			return status;
		rest(US);
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return status;
}

static bool ended_well(pid_t child, const char *kind)
{
	int status = child > 0 ? wait_or_kill(child) : -1;

	if (WIFEXITED(status) && WEXITSTATUS(status) == ENDS)
		return true;
	fprintf(stderr, "%s: status %#x\n", kind, (unsigned)status);
	return false;
}

static const struct {
	const char *name;
	pid_t (*make)(void);
} kinds[] = {
	{ "fork", make_fork },
	{ "_Fork", make_bare_fork },
	{ "clone", make_clone },
	{ "vfork", make_vfork },
	{ "sharing", make_sharing },
	{ "spawn", make_spawn },
	{ "vfork_exec", make_vfork_exec },
};

static int fork_beside(void (*once)(void), int children)
{
	pthread_t other;

	if (pthread_create(&other, NULL, hold_again_and_again, (void *)once) != 0)
		return 2;
	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
		int good = 0;
		for (int i = 0; i < children && good == i; i++) {
			wait_until_busy();
			good += ended_well(kinds[kind].make(), kinds[kind].name);
		}
		printf("%d %s\n", good, kinds[kind].name);
		fflush(stdout);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(other, NULL);
	return 0;
}

static bool is_child;
static pid_t (*make_within)(void);

static int visit_and_fork(struct dl_phdr_info *info, size_t size, void *child)
{
	(void)info, (void)size;
	*(pid_t *)child = make_within();
	is_child = *(pid_t *)child == 0;
	f_work(100);
	return 1;
}

static int fork_within(int children)
{
	static const struct {
		const char *name;
		pid_t (*make)(void);
	} ways[] = { { "fork", fork }, { "clone", by_clone } };
	pthread_t other;

	// Before glibc 2.34 one thread takes no locks.
	if (pthread_create(&other, NULL, work, NULL) != 0)
		return 2;
	pthread_join(other, NULL);
	for (size_t way = 0; way < 2; way++) {
		int good = 0;
		make_within = ways[way].make;
		for (int i = 0; i < children && good == i; i++) {
			pid_t child = -1;
			dl_iterate_phdr(visit_and_fork, &child);
			if (is_child)
				be_child(way == 0);
			good += ended_well(child, ways[way].name);
		}
		printf("%d %s\n", good, ways[way].name);
	}
	return 0;
}

static int work_c11(void *unused)
{
	(void)unused;
	f_work(100);
	return 0;
}

static void ignore(int number)
{
	(void)number;
}

// Whoever hooks them looks for them when they are first called.
static void call_blas(void)
{
	const double x[] = { 1, 2, 3 };

	if (cblas_ddot(3, x, 1, x, 1) != 14 || cblas_dasum(3, x, 1) != 6)
		puts("wrong sums");
}

// What a thread may do under a lock of its own, by functions that a profiler hooks.
static void call_hooked(void)
{
	struct sigaction action = { .sa_handler = ignore };
	pthread_t thread;
	thrd_t c11;
	int status;

	allocate();
	call_blas();
	if (pthread_create(&thread, NULL, work, NULL) == 0)
		pthread_join(thread, NULL);
	if (thrd_create(&c11, work_c11, NULL) == thrd_success)
		thrd_join(c11, NULL);
	signal(SIGUSR1, ignore);
	sigaction(SIGUSR2, &action, NULL);
	siginterrupt(SIGUSR2, 1);
	sigset(SIGUSR1, ignore); // NOLINT: that is what is tried
	int fds[2];
	if (pipe(fds) == 0) {
		close(fds[0]);
		close(fds[1]);
	}
	if (system("exit 0") != 0)
		puts("no shell");
	FILE *stream = popen("exit 0", "r");
	if (stream)
		pclose(stream);
	void *page = mmap(NULL, STACK, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page != MAP_FAILED)
		munmap(page, STACK);
	pid_t child = fork();
	if (child == 0)
		_exit(0);
	waitpid(child, &status, 0);
}

static int call_beside(void (*once)(void), bool look_up)
{
	pthread_t other;

	held = wait_for_mutex;
	pthread_mutex_lock(&mutex);
	if (pthread_create(&other, NULL, hold_again_and_again, (void *)once) != 0)
		return 2;
	for (int i = 0; i < 20; i++) {
		wait_until_busy();
		rest(US); // it blocks for the mutex
		call_hooked();
		if (look_up && !dlsym(RTLD_DEFAULT, "malloc"))
			puts("no malloc");
		pthread_mutex_unlock(&mutex);
		rest(US);
		pthread_mutex_lock(&mutex);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&mutex);
	pthread_join(other, NULL);
	puts("20 calls");
	return 0;
}

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "";
	int children = argc > 2 ? atoi(argv[2]) : 20;

	self = argv[0];
	if (strcmp(scene, "end") == 0)
		return ENDS;
	alarm(3 * PATIENCE);
	if (strcmp(scene, "walk") == 0)
		return fork_beside(walk_once, children);
	if (strcmp(scene, "open") == 0)
		return fork_beside(open_once, children);
	if (strcmp(scene, "own") == 0)
		return fork_within(children);
	if (strcmp(scene, "walk_waits") == 0)
		return call_beside(walk_once, true);
	if (strcmp(scene, "open_waits") == 0)
		return call_beside(open_once, false);
	return 2;
}
