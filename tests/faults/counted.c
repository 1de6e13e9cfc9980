// SPDX-License-Identifier: MIT
// Threads that count each request in one place, between calls, and threads that count their own.
#include "fault.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define REQUESTS 120000000L

static atomic_long served;

__attribute__((noinline)) static unsigned hash(unsigned x)
{
	x ^= x >> 16;
	x *= 0x7feb352d;
	return x ^ x >> 15;
}

static __attribute__((noinline)) void *count_all(void *arg)
{
	unsigned x = *(unsigned *)arg;

	for (long i = 0; i < REQUESTS; i++) { // fault: CPU-LINE
		x = hash(x);
		atomic_fetch_add(&served, 1);
	}
	*(unsigned *)arg = x;
	return NULL;
}

static __attribute__((noinline)) void *count_own(void *arg)
{
	unsigned x = *(unsigned *)arg;
	long own = 0;

	for (long i = 0; i < REQUESTS; i++) {
		x = hash(x);
		own++;
	}
	atomic_fetch_add(&served, own);
	*(unsigned *)arg = x;
	return NULL;
}

static void run(void *(*serve)(void *))
{
	unsigned seeds[2] = { 1, 2 };
	pthread_t thread;

	pthread_create(&thread, NULL, serve, &seeds[0]);
	serve(&seeds[1]);
	pthread_join(thread, NULL);
	printf("%ld %u\n", served, seeds[0] ^ seeds[1]);
}

void faulty(void)
{
	run(count_all);
}

void healthy(void)
{
	run(count_own);
}
