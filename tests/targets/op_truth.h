/* SPDX-License-Identifier: MIT */
/*
 * What a program with ops knows of them: it works by its own clock, takes the time of each op by
 * itself, and prints a line for each at its end:
 *
 *	op NAME CALLS TOTAL_NS SELF_NS
 *
 * TOTAL counts an op that is open within itself once. Of one file each.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MS        1000000
#define NAMES_MAX 16
#define DEPTH_MAX 1100

struct truth {
	const char *name;
	uint64_t calls, total_ns, self_ns;
};

struct open_op {
	struct truth *truth;
	uint64_t begin_ns, below_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct truth truths[NAMES_MAX];
static __thread struct open_op opened[DEPTH_MAX];
static __thread int depth;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static __attribute__((noipa)) void work(double ms)
{
	uint64_t end = now() + (uint64_t)(ms * MS);

	while (now() < end)
		;
}

static struct truth *find(const char *name)
{
	pthread_mutex_lock(&lock);
	struct truth *t = truths;
	while (t->name && strcmp(t->name, name) != 0)
		t++;
	t->name = name;
	pthread_mutex_unlock(&lock);
	return t;
}

static void add(struct truth *t, uint64_t calls, uint64_t total_ns, uint64_t self_ns)
{
	__atomic_add_fetch(&t->calls, calls, __ATOMIC_RELAXED);
	__atomic_add_fetch(&t->total_ns, total_ns, __ATOMIC_RELAXED);
	__atomic_add_fetch(&t->self_ns, self_ns, __ATOMIC_RELAXED);
}

static void begun(const char *name)
{
	opened[depth++] = (struct open_op){ find(name), now(), 0 };
}

static void ended(void)
{
	struct open_op *op = &opened[--depth];
	uint64_t took = now() - op->begin_ns, outer = took;

	for (int i = 0; i < depth; i++)
		if (opened[i].truth == op->truth)
			outer = 0;
	add(op->truth, 1, outer, took - op->below_ns);
	if (depth)
		op[-1].below_ns += took;
}

static void print_truth(void)
{
	for (struct truth *t = truths; t->name; t++)
		printf("op %s\t%llu %llu %llu\n", t->name, (unsigned long long)t->calls,
		       (unsigned long long)t->total_ns, (unsigned long long)t->self_ns);
}
