// SPDX-License-Identifier: MIT
/*
 * Handlers of faults as runtimes have them: memory that is probed, written to for the first time,
 * and a stack that ends. They jump out, or mend what was wrong and go on. A program, and a library
 * for programs in other languages.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE         4096
#define PAGES        64
#define STACK_BYTES  (64 << 10)
#define THREAD_BYTES (256 << 10)
#define THREADS      3

static struct sigaction before;
static __thread sigjmp_buf *volatile escape; // a fault is expected
static __thread char *volatile barrier;      // PAGES that are read-only until they are written to
static __thread volatile unsigned mended;    // how many of them were

static void handler(int number, siginfo_t *info, void *context)
{
	char *at = info->si_addr;

	if (barrier && at >= barrier && at < barrier + PAGES * PAGE) {
		mprotect(barrier + (at - barrier) / PAGE * PAGE, PAGE, PROT_READ | PROT_WRITE);
		mended++;
		return;
	}
	if (escape)
		siglongjmp(*escape, 1);
	// It is somebody else's: faulthandler's, or nobody's.
	if (before.sa_flags & SA_SIGINFO)
		before.sa_sigaction(number, info, context);
	else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
		before.sa_handler(number);
	else {
		signal(number, SIG_DFL);
		raise(number);
	}
}

int guards_install(void)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	return sigaction(SIGSEGV, &action, &before);
}

/* For the calling thread, which keeps one that it has. */
int guards_stack(void)
{
	stack_t stack = { .ss_size = STACK_BYTES }, own;

	if (sigaltstack(NULL, &own) == 0 && !(own.ss_flags & SS_DISABLE))
		return 0;
	stack.ss_sp =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return sigaltstack(&stack, NULL);
}

/* Whether a byte can be read there. */
int guards_probe(const volatile char *at)
{
	sigjmp_buf here;

	if (sigsetjmp(here, 1)) {
		escape = NULL;
		return 0;
	}
	escape = &here;
	(void)*at;
	escape = NULL;
	return 1;
}

/* Writes everywhere in a row of pages; how many of them the handler has opened: PAGES. */
unsigned guards_write(void)
{
	char *pages = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mended = 0;
	barrier = pages;
	for (unsigned i = 0; i < PAGES; i++)
		memset(pages + i * PAGE, (int)i, PAGE);
	for (unsigned i = 0; i < PAGES * PAGE; i += PAGE / 2)
		if (pages[i] != (char)(i / PAGE))
			mended = 0;
	barrier = NULL;
	munmap(pages, PAGES * PAGE);
	return mended;
}

// As deep as the stack is, whatever there is to come back to.
static volatile unsigned deepest = UINT32_MAX;

static __attribute__((noinline)) unsigned deeper(unsigned depth)
{
	volatile char room[200];

	room[depth % sizeof(room)] = 1;
	return depth == deepest ? 0 : deeper(depth + 1) + (unsigned)room[depth % sizeof(room)];
}

/* Calls itself until the stack ends, and comes back: 1. */
int guards_overflow(void)
{
	sigjmp_buf here;

	if (sigsetjmp(here, 1)) {
		escape = NULL;
		return 1;
	}
	escape = &here;
	return (int)deeper(0);
}

static void *work(void *argument)
{
	static char readable;
	unsigned rounds = *(unsigned *)argument;
	uintptr_t counts[4] = { 0 };
	char *none = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (guards_stack() != 0)
		return NULL;
	for (unsigned i = 0; i < rounds; i++) {
		counts[0] += (uintptr_t)guards_probe(none + i % PAGE);
		counts[1] += (uintptr_t)guards_probe(&readable);
		counts[2] += i % 8 ? 0 : guards_write();
		counts[3] += i % 8 ? 0 : (uintptr_t)guards_overflow();
	}
	munmap(none, PAGE);
	char *text = NULL;
	if (asprintf(&text, "%zu of %u, %zu, %zu, %zu", counts[0], rounds, counts[1], counts[2],
	             counts[3]) < 0)
		return NULL;
	return text;
}

// guards [ROUNDS [fault]]
int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000;
	pthread_t threads[THREADS];
	pthread_attr_t attributes;

	guards_install();
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, THREAD_BYTES);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], &attributes, work, &rounds);
	for (int i = 0; i < THREADS; i++) {
		void *text = NULL;
		pthread_join(threads[i], &text);
		printf("%s\n", text ? (char *)text : "nothing");
		free(text);
	}
	fflush(stdout);
	if (argc > 2)
		raise(SIGSEGV);
	return 0;
}
