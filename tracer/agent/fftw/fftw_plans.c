// SPDX-License-Identifier: MIT
#include "tracer/agent/fftw/fftw.h"

#include "base/hash.h"
#include "tracer/agent/table.h"

#include <stddef.h>

#define BUCKETS 512 // a power of two
#define WAYS    8

struct entry {
	uint64_t plan; // atomic; 0: free; 1: being written
	struct fftw_shape shape;
};

AGENT_TABLE static struct entry entries[BUCKETS][WAYS];

static struct entry *bucket_of(uint64_t plan)
{
	return entries[hash_mix(plan) % BUCKETS];
}

static struct entry *find(uint64_t plan)
{
	struct entry *bucket = bucket_of(plan);

	for (int i = 0; i < WAYS; i++)
		if (__atomic_load_n(&bucket[i].plan, __ATOMIC_ACQUIRE) == plan)
			return &bucket[i];
	return NULL;
}

// A plan that is there already has been freed without our knowing.
static struct entry *claim(uint64_t plan)
{
	struct entry *bucket = bucket_of(plan), *known = find(plan);

	if (known && __atomic_compare_exchange_n(&known->plan, &plan, 1, false, __ATOMIC_ACQUIRE,
	                                         __ATOMIC_RELAXED))
		return known;
	for (int i = 0; i < WAYS; i++) {
		uint64_t free = 0;
		if (__atomic_compare_exchange_n(&bucket[i].plan, &free, 1, false, __ATOMIC_ACQUIRE,
		                                __ATOMIC_RELAXED))
			return &bucket[i];
	}
	return NULL;
}

void fftw_plan_add(uint64_t plan, const struct fftw_shape *shape)
{
	struct entry *entry = plan > 1 ? claim(plan) : NULL;

	if (!entry)
		return;
	entry->shape = *shape;
	__atomic_store_n(&entry->plan, plan, __ATOMIC_RELEASE);
}

bool fftw_plan_find(uint64_t plan, struct fftw_shape *out)
{
	struct entry *entry = plan > 1 ? find(plan) : NULL;

	if (entry)
		*out = entry->shape;
	return entry;
}

void fftw_plan_remove(uint64_t plan)
{
	struct entry *entry = plan > 1 ? find(plan) : NULL;

	if (entry)
		__atomic_store_n(&entry->plan, 0, __ATOMIC_RELEASE);
}

void fftw_plan_remove_all(void)
{
	for (int i = 0; i < BUCKETS; i++)
		for (int j = 0; j < WAYS; j++)
			if (__atomic_load_n(&entries[i][j].plan, __ATOMIC_RELAXED))
				__atomic_store_n(&entries[i][j].plan, 0, __ATOMIC_RELEASE);
}
