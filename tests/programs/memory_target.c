// SPDX-License-Identifier: MIT
/*
 * memory_target MODE [N]: allocates what it then says, in ways that make life hard for whoever
 * counts along. Prints
 *
 *	site NAME FROM TO BYTES LIVE         code in [FROM, TO) has allocated BYTES, of which LIVE
 *	                                     are still there
 *	total ALLOCATIONS BYTES FREES BYTES
 *
 * as malloc_usable_size() counts, and otherwise the same with the agent and without.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT    64
#define SITE(n) __attribute__((noipa, section("site_" #n)))

struct site {
	const char *name;
	const char *from, *to;
	void (*run)(struct site *self);
	uint64_t bytes, live;
	void *kept[KEPT]; // of each 8th allocation
	uint32_t count;
};

static uint64_t allocations, allocated, frees, freed; // atomic
static uint32_t seed = 1;
static bool has_pvalloc;

static uint32_t dice(uint32_t sides)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % sides;
}

static void *took(struct site *site, void *p)
{
	uint64_t bytes = malloc_usable_size(p);

	site->bytes += bytes;
	site->live += bytes;
	__atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&allocated, bytes, __ATOMIC_RELAXED);
	return p;
}

static void gives(struct site *site, void *p)
{
	if (!p)
		return;
	uint64_t bytes = malloc_usable_size(p);
	site->live -= bytes;
	__atomic_fetch_add(&frees, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&freed, bytes, __ATOMIC_RELAXED);
}

static void give(struct site *site, void *p)
{
	gives(site, p);
	free(p);
}

// Some live on for a while, and at the end.
static void keep_or_give(struct site *site, void *p)
{
	if (site->count++ % 8) {
		give(site, p);
		return;
	}
	void **kept = &site->kept[site->count / 8 % KEPT];
	give(site, *kept);
	*kept = p;
}

SITE(small) static void run_small(struct site *self)
{
	keep_or_give(self, took(self, malloc(40)));
}

SITE(mixed) static void run_mixed(struct site *self)
{
	keep_or_give(self, took(self, malloc(1 + dice(8192))));
}

SITE(large) static void run_large(struct site *self)
{
	keep_or_give(self, took(self, malloc(300000)));
}

SITE(zeroed) static void run_zeroed(struct site *self)
{
	char *p = took(self, calloc(3, 1000));

	if (p[0] || p[2999])
		abort();
	p[0] = p[2999] = 1;
	keep_or_give(self, p);
}

SITE(aligned) static void run_aligned(struct site *self)
{
	void *p = NULL;

	switch (dice(5)) {
	case 0:
		if (posix_memalign(&p, 64, 500) != 0)
			abort();
		break;
	case 1:
		p = aligned_alloc(128, 1024);
		break;
	case 2:
		p = memalign(256, 700);
		break;
	case 3:
		p = valloc(100);
		break;
	default: // jemalloc has none: what libc's gives cannot be freed
		p = has_pvalloc ? pvalloc(5000) : valloc(5000);
	}
	if ((uintptr_t)p % 64)
		abort();
	keep_or_give(self, took(self, p));
}

// A vector that grows.
SITE(grown) static void run_grown(struct site *self)
{
	void *p = NULL;

	for (size_t size = 100; size < 60000; size = size * 3 / 2) {
		gives(self, p);
		p = took(self, dice(2) ? realloc(p, size) : reallocarray(p, size / 4, 4));
	}
	keep_or_give(self, p);
}

SITE(copied) static void run_copied(struct site *self)
{
	static char text[700];

	memset(text, 't', sizeof(text) - 1);
	keep_or_give(self, took(self, strdup(text)));
}

#define SITE_ROW(name)                                                                             \
	{                                                                                          \
#name, __start_site_##name, __stop_site_##name, run_##name, 0, 0, { NULL }, 0      \
	}
#define SITE_ENDS(name) extern const char __start_site_##name[], __stop_site_##name[]
SITE_ENDS(small);
SITE_ENDS(mixed);
SITE_ENDS(large);
SITE_ENDS(zeroed);
SITE_ENDS(aligned);
SITE_ENDS(grown);
SITE_ENDS(copied);

static void tell(const struct site *sites, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("site %s %p %p %lu %lu\n", sites[i].name, (const void *)sites[i].from,
		       (const void *)sites[i].to, sites[i].bytes, sites[i].live);
	printf("total %lu %lu %lu %lu\n", allocations, allocated, frees, freed);
}

static int run_sites(uint64_t rounds)
{
	static struct site sites[] = { SITE_ROW(small),  SITE_ROW(mixed),   SITE_ROW(large),
		                       SITE_ROW(zeroed), SITE_ROW(aligned), SITE_ROW(grown),
		                       SITE_ROW(copied) };
	// So often that all allocate about as much.
	static const int often[] = { 3000, 30, 1, 50, 40, 1, 200 };

	for (uint64_t round = 0; round < rounds; round++)
		for (size_t i = 0; i < 7; i++)
			for (int k = 0; k < often[i]; k++)
				sites[i].run(&sites[i]);
	tell(sites, 7);
	return 0;
}

#define QUEUE 1024

static void *queue[QUEUE]; // from those who allocate to those who free

static void *allocate(void *argument)
{
	uint64_t rounds = (uint64_t)(uintptr_t)argument, at = (uintptr_t)&rounds >> 12;
	struct site site = { .name = "" };

	for (uint64_t i = 0; i < rounds; i++) {
		void *p = took(&site, malloc(16 + (i * 37 + at) % 3000));
		give(&site, __atomic_exchange_n(&queue[at++ % QUEUE], p, __ATOMIC_ACQ_REL));
	}
	return NULL;
}

static int run_threads(uint64_t rounds)
{
	pthread_t threads[64];

	for (int i = 0; i < 64; i++)
		if (pthread_create(&threads[i], NULL, allocate, (void *)(uintptr_t)rounds) != 0)
			return 1;
	for (int i = 0; i < 64; i++)
		pthread_join(threads[i], NULL);
	struct site site = { .name = "" };
	for (int i = 0; i < QUEUE; i++)
		give(&site, queue[i]);
	tell(NULL, 0);
	return 0;
}

static int run_churn(uint64_t count)
{
	pthread_t thread;

	for (uint64_t i = 0; i < count; i++) {
		if (pthread_create(&thread, NULL, allocate, (void *)(uintptr_t)10) != 0)
			return 1;
		pthread_join(thread, NULL);
	}
	puts("joined");
	return 0;
}

// Up to the peak and down again, twice.
static int run_peak(uint64_t megabytes)
{
	static void *blocks[100000];
	struct site site = { .name = "" };
	uint64_t most = 0;

	for (int turn = 0; turn < 2; turn++) {
		uint64_t n = megabytes * 100 / (1 + (uint64_t)turn);
		for (uint64_t i = 0; i < n; i++)
			blocks[i] = took(&site, malloc(10480));
		if (site.live > most)
			most = site.live;
		for (uint64_t i = 0; i < n; i++)
			give(&site, blocks[i]);
	}
	printf("peak %lu\n", most);
	return 0;
}

static int status_of(pid_t child)
{
	int status;

	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Where a program at a fixed place takes a function's address, that is the program's own entry
// for it, for everyone.
static void work(uint64_t rounds)
{
	void *(*volatile allocator)(size_t) = malloc;
	struct site site = { .name = "" };

	for (uint64_t i = 0; i < rounds; i++)
		give(&site, took(&site, allocator(1000)));
}

static int run_forks(uint64_t count)
{
	uint64_t sum = 0;

	fflush(stdout);
	for (uint64_t i = 0; i < count; i++) {
		pid_t child = fork();
		if (child == 0) {
			void *p = malloc(100);
			work(i % 10 ? 1 : 2000);
			free(p);
			if (i % 3 == 0)
				_exit((int)(i % 7));
			exit((int)(i % 7));
		}
		sum += (uint64_t)status_of(child);
	}
	printf("sum %lu\n", sum);
	return 0;
}

static int run_vforks(uint64_t count)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < count; i++) {
		pid_t child = vfork();
		if (child == 0) {
			free(malloc(100000)); // not allowed, and done all the same
			_exit(3);
		}
		sum += (uint64_t)status_of(child);
		work(100);
	}
	printf("sum %lu\n", sum);
	return 0;
}

static int run_killed(uint64_t rounds)
{
	work(rounds);
	return raise(SIGKILL);
}

static int run_quick_exit(uint64_t rounds)
{
	work(rounds);
	tell(NULL, 0);
	fflush(stdout);
	_exit(4);
}

static int run_abort(uint64_t rounds)
{
	work(rounds);
	abort();
}

#pragma GCC diagnostic ignored "-Wpragmas" // gcc before 12 knows no such recursion
#pragma GCC diagnostic ignored "-Winfinite-recursion"
static int overflow(volatile char *before)
{
	volatile char frame[4096];

	frame[0] = *before;
	frame[1] = *(char *)malloc(3000);
	return frame[1] + overflow(frame);
}

static int run_overflow(uint64_t rounds)
{
	struct rlimit small = { 1 << 20, 1 << 20 };
	char start = 0;

	setrlimit(RLIMIT_STACK, &small);
	work(rounds);
	return overflow(&start);
}

static volatile uint64_t handled;

static void on_signal(int number)
{
	(void)number;
	free(malloc(100)); // not allowed, and done all the same
	handled++;
}

// Only signals that cannot come in the middle of malloc() itself.
static int run_signals(uint64_t rounds)
{
	signal(SIGUSR1, on_signal);
	for (uint64_t i = 0; i < rounds; i++) {
		work(1);
		raise(SIGUSR1);
	}
	printf("handled %lu\n", handled);
	return 0;
}

// What the standard and glibc say, to the letter.
static int run_manners(uint64_t rounds)
{
	volatile size_t huge = (size_t)-1 / 2, none = 0;
	void *p = NULL;

	(void)rounds;
	errno = 0;
	p = malloc(huge);
	printf("malloc %p %s\n", p, strerror(errno));
	errno = 0;
	p = calloc(huge, 4);
	printf("calloc %p %s\n", p, strerror(errno));
	char *kept = malloc(100);
	memset(kept, 'k', 100);
	errno = 0;
	p = realloc(kept, huge);
	printf("realloc %p %s %c\n", p, strerror(errno), kept[99]);
	errno = 0;
	p = reallocarray(kept, huge, huge);
	printf("reallocarray %p %s %c\n", p, strerror(errno), kept[99]);
	p = realloc(kept, none);
	printf("realloc to 0 %p\n", p);
	p = realloc(NULL, 33);
	printf("realloc of NULL %d %zu\n", p != NULL, malloc_usable_size(p));
	free(p);
	free(NULL);
	printf("usable of NULL %zu\n", malloc_usable_size(NULL));
	p = (void *)&p;
	printf("posix_memalign %d %d\n", posix_memalign(&p, 3, 10), p == (void *)&p);
	printf("posix_memalign %d %d\n", posix_memalign(&p, 64, huge), p == (void *)&p);
	errno = 0;
	p = aligned_alloc(64, huge);
	printf("aligned_alloc %p %s\n", p, strerror(errno));
	errno = 42;
	for (int i = 0; i < 100000; i++)
		free(malloc((size_t)i));
	printf("errno %d\n", errno);
	p = malloc(none);
	printf("malloc of 0 %d\n", p != NULL);
	free(p);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(uint64_t n);
	} modes[] = {
		{ "sites", run_sites },     { "threads", run_threads },
		{ "churn", run_churn },     { "peak", run_peak },
		{ "forks", run_forks },     { "vforks", run_vforks },
		{ "killed", run_killed },   { "quick-exit", run_quick_exit },
		{ "abort", run_abort },     { "overflow", run_overflow },
		{ "signals", run_signals }, { "manners", run_manners },
	};
	uint64_t n = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	const char *preload = getenv("LD_PRELOAD");

	has_pvalloc = !preload || !strstr(preload, "jemalloc");

	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(argv[1], modes[i].name) == 0)
			return modes[i].run(n);
	return 125;
}
