// SPDX-License-Identifier: MIT
// overhead_cost KIND [N]: does N pieces of one kind of work, for tests/bench/overhead to run with
// and without a profiler.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;

static uint64_t spin(uint64_t rounds)
{
	uint64_t x = 88172645463325252ULL;

	for (uint64_t i = 0; i < rounds; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

static void run_threads(int count, void *(*function)(void *), void *argument)
{
	pthread_t threads[64];

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, function, argument);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void cpu(long n)
{
	for (long i = 0; i < n; i++)
		sink += spin(1000);
}

static void memory(long n)
{
	size_t count = (size_t)8 << 20;
	uint64_t *words = malloc(count * sizeof(*words)), at = 1;

	memset(words, 1, count * sizeof(*words));
	for (long i = 0; i < n; i++) {
		at = at * 6364136223846793005ULL + 1442695040888963407ULL;
		sink += words[(at >> 20) % count];
	}
	free(words);
}

__attribute__((noinline)) static uint64_t descend(uint64_t depth)
{
	return depth ? descend(depth - 1) + (depth & sink) : spin(2000);
}

static void recursion(long n)
{
	for (long i = 0; i < n; i++)
		sink += descend(400);
}

static void small_blocks(long n)
{
	void *kept[64] = { NULL };

	for (long i = 0; i < n; i++) {
		free(kept[i & 63]);
		kept[i & 63] = malloc(16 + (size_t)(i & 15) * 16);
		*(volatile char *)kept[i & 63] = 1;
	}
	for (int i = 0; i < 64; i++)
		free(kept[i]);
}

static void growing_blocks(long n)
{
	char *block = NULL;

	for (long i = 0; i < n; i++) {
		block = realloc(block, 64 + (size_t)(i & 255) * 64);
		*(volatile char *)block = 1;
	}
	free(block);
}

static void mappings(long n)
{
	for (long i = 0; i < n; i++) {
		char *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		               0);
		p[0] = 1;
		munmap(p, 65536);
	}
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int turn;

static void *contend(void *argument)
{
	for (long i = 0, n = *(long *)argument; i < n; i++) {
		pthread_mutex_lock(&mutex);
		sink += spin(200);
		pthread_mutex_unlock(&mutex);
		sink += spin(100);
	}
	return NULL;
}

static void contended(long n)
{
	run_threads(4, contend, &n);
}

static void uncontended(long n)
{
	for (long i = 0; i < n; i++) {
		pthread_mutex_lock(&mutex);
		sink++;
		pthread_mutex_unlock(&mutex);
	}
}

static int sides;

static void *take_turns(void *argument)
{
	int side = __atomic_fetch_add(&sides, 1, __ATOMIC_RELAXED);

	for (long i = 0, n = *(long *)argument; i < n; i++) {
		pthread_mutex_lock(&mutex);
		while (turn != side)
			pthread_cond_wait(&condition, &mutex);
		turn = !side;
		pthread_cond_signal(&condition);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void conditions(long n)
{
	run_threads(2, take_turns, &n);
}

static void answer(int from, int to, long n)
{
	char byte;

	for (long i = 0; i < n; i++)
		if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1)
			_exit(1);
}

static void pipes(long n)
{
	int there[2], back[2];
	char byte = 1;

	if (pipe(there) < 0 || pipe(back) < 0)
		exit(1);
	pid_t child = fork();
	if (!child) {
		answer(there[0], back[1], n);
		_exit(0);
	}
	for (long i = 0; i < n; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			exit(1);
	waitpid(child, NULL, 0);
}

static int scratch(void)
{
	int fd = open("scratch", O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0)
		exit(1);
	return fd;
}

static void fsyncs(long n)
{
	int fd = scratch();

	for (long i = 0; i < n; i++)
		if (pwrite(fd, &i, sizeof(i), i * 4096) < 0 || fsync(fd) < 0)
			exit(1);
	close(fd);
}

static void writes(long n)
{
	int fd = scratch();

	for (long i = 0; i < n; i++)
		if (pwrite(fd, "sixteen bytes...", 16, (i & 4095) * 16) != 16)
			exit(1);
	close(fd);
}

static void *little(void *argument)
{
	sink += spin(2000);
	return argument;
}

static void threads(long n)
{
	for (long i = 0; i < n; i += 4)
		run_threads(4, little, NULL);
}

// Children that do a little of their own and end.
static void forks(long n)
{
	for (long i = 0; i < n; i++) {
		pid_t child = fork();
		if (!child) {
			sink += spin(2000);
			_exit(0);
		}
		if (child < 0 || waitpid(child, NULL, 0) < 0)
			exit(1);
	}
}

static void handle(int number)
{
	sink += (uint64_t)number;
}

static void signals(long n)
{
	signal(SIGUSR1, handle);
	for (long i = 0; i < n; i++)
		raise(SIGUSR1);
}

// Executes itself until N is 0.
static void chain(long n)
{
	char rest[32];

	if (n <= 0)
		return;
	snprintf(rest, sizeof(rest), "%ld", n - 1);
	execl("/proc/self/exe", "overhead_cost", "chain", rest, (char *)NULL);
	exit(1);
}

static void reads(long n)
{
	int fd = open("/dev/zero", O_RDONLY);
	char bytes[16];

	for (long i = 0; i < n; i++)
		if (read(fd, bytes, sizeof(bytes)) != sizeof(bytes))
			exit(1);
	close(fd);
}

static void system_calls(long n)
{
	for (long i = 0; i < n; i++)
		sink += (uint64_t)syscall(SYS_getppid);
}

static void stats(long n)
{
	struct stat st;

	for (long i = 0; i < n; i++)
		if (stat("/proc/self/exe", &st) == 0)
			sink += (uint64_t)st.st_ino;
}

// One page at a time, of memory that is new.
static void faults(long n)
{
	const long pages = 4096;

	for (long i = 0; i < n; i += pages) {
		char *p = mmap(NULL, (size_t)pages * 4096, PROT_READ | PROT_WRITE,
		               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (long j = 0; j < pages; j++)
			p[j * 4096] = 1;
		munmap(p, (size_t)pages * 4096);
	}
}

static void sockets(long n)
{
	int ends[2];
	char bytes[64] = "";

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		exit(1);
	pid_t child = fork();
	if (!child) {
		answer(ends[1], ends[1], n);
		_exit(0);
	}
	for (long i = 0; i < n; i++)
		if (send(ends[0], bytes, 1, 0) != 1 || recv(ends[0], bytes, 1, 0) != 1)
			exit(1);
	waitpid(child, NULL, 0);
}

static void sleeps(long n)
{
	const struct timespec nap = { 0, 200000 };

	for (long i = 0; i < n; i++) {
		nanosleep(&nap, NULL);
		sink += spin(2000);
	}
}

static const struct {
	const char *name;
	void (*work)(long n);
	long count;
} kinds[] = {
	{ "cpu", cpu, 350000 },
	{ "memory", memory, 15000000 },
	{ "recursion", recursion, 130000 },
	{ "malloc", small_blocks, 25000000 },
	{ "realloc", growing_blocks, 12000000 },
	{ "mmap", mappings, 250000 },
	{ "contended", contended, 150000 },
	{ "uncontended", uncontended, 40000000 },
	{ "conditions", conditions, 60000 },
	{ "pipes", pipes, 60000 },
	{ "fsync", fsyncs, 400 },
	{ "writes", writes, 800000 },
	{ "threads", threads, 10000 },
	{ "forks", forks, 8000 },
	{ "signals", signals, 2000000 },
	{ "chain", chain, 400 },
	{ "reads", reads, 4000000 },
	{ "syscalls", system_calls, 8000000 },
	{ "stat", stats, 500000 },
	{ "faults", faults, 1000000 },
	{ "sockets", sockets, 60000 },
	{ "sleep", sleeps, 6000 },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name) != 0)
			continue;
		kinds[i].work(argc > 2 ? strtol(argv[2], NULL, 10) : kinds[i].count);
		return 0;
	}
	fprintf(stderr, "usage: overhead_cost KIND [N]\n");
	return 2;
}
