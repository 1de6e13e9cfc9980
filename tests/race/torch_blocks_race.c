// SPDX-License-Identifier: MIT
/*
 * Threads put blocks and hand them to each other to be taken: each is to be found with its bytes,
 * by whomever. Blocks of different threads lie in the same buckets. Says what went wrong, if so.
 */
#include "tracer/agent/torch/torch_blocks.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>

#define THREADS 4
#define ROUNDS  200000
static uint64_t mail[THREADS]; // atomic: a block and its bytes for the thread; 0: none
static unsigned wrong;         // atomic
static unsigned done;          // atomic: threads that give no more

// All threads' own ones lie in the same few buckets, one of each thread at a time.
static uint64_t own_address(uint64_t thread, uint64_t round)
{
	return (UINT64_C(1) << 40) + (round % 8 << 8) + thread * (1 << 26 ^ 1 << 8);
}

// Those of which another thread may still have the last one when the next is made.
static uint64_t given_address(uint64_t thread, uint64_t round)
{
	return (UINT64_C(1) << 41) + (thread << 20) + (round % 4096 << 8);
}

static void take(uint64_t letter)
{
	uint64_t address = letter >> 20 << 6, bytes = letter & 0xfffff;

	if (torch_blocks_take((void *)(uintptr_t)address) != bytes)
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

static void take_mail(unsigned self)
{
	uint64_t letter = __atomic_exchange_n(&mail[self], 0, __ATOMIC_ACQ_REL);

	if (letter)
		take(letter);
	else
		sched_yield();
}

// What comes meanwhile is taken, so that nobody waits in a circle.
static void give(unsigned from, unsigned to, uint64_t letter)
{
	uint64_t none = 0;

	while (!__atomic_compare_exchange_n(&mail[to], &none, letter, false, __ATOMIC_ACQ_REL,
	                                    __ATOMIC_RELAXED)) {
		none = 0;
		take_mail(from);
	}
}

static void *run(void *argument)
{
	unsigned self = (unsigned)(uintptr_t)argument;

	for (unsigned round = 0; round < ROUNDS; round++) {
		bool given = round % 4 == 0;
		uint64_t bytes = round % 1000 + 1 + self * 1000;
		uint64_t address = given ? given_address(self, round) : own_address(self, round);
		uint64_t letter = address >> 6 << 20 | bytes;
		torch_blocks_put((void *)(uintptr_t)address, bytes);
		if (given)
			give(self, (self + 1) % THREADS, letter);
		else
			take(letter);
	}
	__atomic_fetch_add(&done, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < THREADS)
		take_mail(self);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i))
			return 2;
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < THREADS; i++)
		if (mail[i])
			take(mail[i]);
	if (wrong)
		printf("%u of %u blocks did not have their bytes\n", wrong, THREADS * ROUNDS);
	return wrong != 0;
}
