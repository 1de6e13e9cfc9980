// SPDX-License-Identifier: MIT
// sampler_child MODE [NUMBER]: what sampler_test.c samples.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

__attribute__((noinline)) static unsigned work(unsigned x)
{
	for (int i = 0; i < 20000; i++)
		x = x * 1664525 + 1013904223;
	return x;
}

__attribute__((noinline)) void spin_for(double ms)
{
	static volatile unsigned sink;

	for (double end = cpu_ms() + ms; cpu_ms() < end;)
		sink = work(sink);
}

static void *spin_thread(void *ms)
{
	char name[16];

	snprintf(name, sizeof(name), "spinner");
	prctl(PR_SET_NAME, name);
	spin_for(*(double *)ms);
	return NULL;
}

static int run_threads(int count, double ms)
{
	pthread_t threads[512];

	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, spin_thread, &ms))
			return 1;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int run_forks(int count)
{
	for (int i = 0; i < count; i++) {
		pid_t child = fork();
		if (child == 0) {
			spin_for(5);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	return 0;
}

static void vfork_true(void)
{
	char *argv[] = { "/bin/true", NULL };
	pid_t child = vfork();

	if (child == 0) {
		execv(argv[0], argv);
		_exit(127);
	}
	waitpid(child, NULL, 0);
}

static int run_spawns(int count)
{
	char *argv[] = { "/bin/true", NULL };
	pid_t child;

	for (int i = 0; i < count; i++) {
		if (posix_spawn(&child, argv[0], NULL, NULL, argv, environ))
			return 1;
		waitpid(child, NULL, 0);
		vfork_true();
	}
	return 0;
}

// Pages of fresh memory, one byte each.
static int run_touch(int ms)
{
	const size_t bytes = (size_t)32 << 20;

	for (double end = cpu_ms() + ms; cpu_ms() < end;) {
		char *fresh = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		                   -1, 0);
		if (fresh == MAP_FAILED)
			return 1;
		madvise(fresh, bytes, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < bytes; i += 4096)
			((volatile char *)fresh)[i] = 1;
		munmap(fresh, bytes);
	}
	return 0;
}

static int run_calls(int ms)
{
	int fd = open("/dev/zero", O_RDONLY);
	static char buffer[65536];

	for (double end = cpu_ms() + ms; cpu_ms() < end;)
		for (int i = 0; i < 20; i++)
			if (read(fd, buffer, sizeof(buffer)) < 0)
				return 1;
	return 0;
}

// Until THREAD has had MS on a CPU, however busy the machine is.
static void run_for(pthread_t thread, int ms)
{
	struct timespec t = { 0 };
	clockid_t clock;

	if (pthread_getcpuclockid(thread, &clock))
		abort();
	while (clock_gettime(clock, &t) == 0 && t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms)
		usleep(10000);
}

// A loop of 2^32 rounds at most, made by the program: it returns when *EDI is not 0.
static int run_made_code(int ms)
{
	static const unsigned char code[] = {
		0x83, 0x3f, 0x00, // cmpl $0, (%rdi)
		0x74, 0xfb,       // je to the start
		0xc3,             // ret
	};
	static volatile int stop;
	unsigned char *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	if (page == MAP_FAILED)
		return 1;
	memcpy(page, code, sizeof(code));
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	if (pthread_create(&thread, NULL, (void *(*)(void *))(void *)page, (void *)&stop))
		return 1;
	run_for(thread, ms);
	stop = 1;
	return pthread_join(thread, NULL);
}

// A child of a child that nobody waits for.
static int run_daemon(void)
{
	int done[2];
	char byte;

	if (pipe(done) < 0)
		return 2;
	pid_t child = fork();
	if (child == 0) {
		setsid();
		if (fork() == 0) {
			spin_for(20);
			if (write(done[1], "", 1) == 1)
				sleep(30);
		}
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return read(done[0], &byte, 1) == 1 ? 0 : 2;
}

static void *exec_from_thread(void *path)
{
	char *argv[] = { path, "spin", "20", NULL };

	execv(path, argv);
	return NULL;
}

// Spins under some 20 KB of stack.
__attribute__((noinline)) static void spin_deep(int depth, int ms)
{
	char room[700];

	memset(room, depth, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
	if (depth)
		spin_deep(depth - 1, ms);
	else
		spin_for(ms);
	__asm__ volatile("" : : "r"(room) : "memory");
}

static int run_thread_exec(void)
{
	pthread_t thread;

	spin_for(20);
	pthread_create(&thread, NULL, exec_from_thread, "/proc/self/exe");
	pthread_join(thread, NULL);
	return 1;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int number = argc > 2 ? atoi(argv[2]) : 0;

	if (strcmp(mode, "spin") == 0)
		spin_for(number);
	else if (strcmp(mode, "deep") == 0)
		spin_deep(28, number);
	else if (strcmp(mode, "threads") == 0)
		return run_threads(number, 30);
	else if (strcmp(mode, "crowd") == 0)
		return run_threads(number, 0);
	else if (strcmp(mode, "forks") == 0)
		return run_forks(number);
	else if (strcmp(mode, "spawns") == 0)
		return run_spawns(number);
	else if (strcmp(mode, "calls") == 0)
		return run_calls(number);
	else if (strcmp(mode, "touch") == 0)
		return run_touch(number);
	else if (strcmp(mode, "made") == 0)
		return run_made_code(number);
	else if (strcmp(mode, "daemon") == 0)
		return run_daemon();
	else if (strcmp(mode, "thread-exec") == 0)
		return run_thread_exec();
	else if (strcmp(mode, "sleep") == 0)
		usleep((useconds_t)number * 1000);
	else if (strcmp(mode, "killed") == 0 && (spin_for(20), 1))
		raise(SIGKILL);
	else if (strcmp(mode, "no-exit") == 0 && (spin_for(20), 1))
		syscall(SYS_exit_group, 7);
	else
		return 2;
	return 0;
}
