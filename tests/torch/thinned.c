// SPDX-License-Identifier: MIT
/*
 * thinned STEPS [THREADS [LONGER]]: small ops in each thread, as a training loop of PyTorch has
 * them. Prints "NAME CALLS NS" for each: what they took in all, by its own clock.
 */
#include "tests/torch/imitation.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum kind {
	LINEAR,
	ADDMM,
	COPY,
	RARE,
	BACKWARD,
	KINDS
};

static const char *const names[KINDS] = { "aten::linear", "aten::addmm", "aten::copy_",
	                                  "aten::rare", "AddmmBackward0" };
static struct {
	uint64_t calls, ns;
} totals[KINDS];
static unsigned long steps;
static unsigned longer = 1; // so many times as long

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Each op takes as long as any other time it is called: products in a register do on any CPU, while
// some CPUs add to memory at two speeds, by what ran before.
static void work(unsigned rounds)
{
	uint64_t product = rounds;

	for (unsigned i = 0; i < 2 * rounds * longer; i++) {
		product *= UINT64_C(0x9e3779b97f4a7c15);
		__asm__ volatile("" : "+r"(product));
	}
}

static void op(enum kind kind, enum kind within, unsigned times, unsigned rounds)
{
	struct imitation_op own;
	uint64_t began = now_ns();

	imitation_begin(&own, kind == BACKWARD ? IMITATION_BACKWARD : IMITATION_FUNCTION,
	                names[kind]);
	for (unsigned i = 0; i < times; i++)
		op(within, KINDS, 0, rounds);
	work(rounds);
	imitation_end(&own);
	__atomic_add_fetch(&totals[kind].calls, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&totals[kind].ns, now_ns() - began, __ATOMIC_RELAXED);
}

static void step(unsigned long number)
{
	struct imitation_op label;

	imitation_begin(&label, IMITATION_USER, "step");
	for (unsigned i = 0; i < 12; i++)
		op(LINEAR, ADDMM, 1, 200);
	for (unsigned i = 0; i < 20; i++)
		op(COPY, KINDS, 0, 300);
	for (unsigned i = 0; i < 12; i++)
		op(BACKWARD, ADDMM, 2, 200);
	if (number % 10 == 0)
		op(RARE, KINDS, 0, 3000);
	imitation_end(&label);
}

static void *run(void *unused)
{
	for (unsigned long i = 0; i < steps; i++)
		step(i);
	return unused;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t others[16];

	steps = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	longer = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
	if (threads < 1 || threads > 16 || !longer)
		return 2;
	for (int i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, run, NULL))
			return 1;
	run(NULL);
	for (int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	for (int i = 0; i < KINDS; i++)
		printf("%s %llu %llu\n", names[i], (unsigned long long)totals[i].calls,
		       (unsigned long long)totals[i].ns);
	return 0;
}
