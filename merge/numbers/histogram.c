// SPDX-License-Identifier: MIT
#include "merge/numbers/histogram.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define OCTAVE      128u // buckets of an octave
#define OCTAVE_BITS 7
_Static_assert(HISTOGRAM_BUCKETS == OCTAVE * (64 - OCTAVE_BITS + 1), "all 64 bits");

void histogram_fini(struct histogram *h)
{
	free(h->buckets);
	*h = (struct histogram){ 0 };
}

static uint32_t bucket_of(uint64_t ns)
{
	if (ns < OCTAVE)
		return (uint32_t)ns;
	unsigned shift = 63 - OCTAVE_BITS - (unsigned)__builtin_clzll(ns);
	return (shift + 1) * OCTAVE + (uint32_t)(ns >> shift & (OCTAVE - 1));
}

// The middle of BUCKET.
static uint64_t value_of(uint32_t bucket)
{
	if (bucket < 2 * OCTAVE)
		return bucket;
	unsigned shift = bucket / OCTAVE - 1;
	uint64_t low = (uint64_t)(OCTAVE + bucket % OCTAVE) << shift;
	return low + (UINT64_C(1) << shift) / 2;
}

// Index of BUCKET, or of the one before which it belongs.
static uint32_t find(const struct histogram *h, uint32_t bucket)
{
	return array_search(h->count, i, h->buckets[i].bucket < bucket);
}

static bool insert(struct histogram *h, uint32_t at, uint32_t bucket)
{
	if (!array_reserve(&h->buckets, &h->capacity, (size_t)h->count + 1))
		return false;
	memmove(h->buckets + at + 1, h->buckets + at, (h->count - at) * sizeof(*h->buckets));
	h->buckets[at] = (struct histogram_bucket){ bucket, 0 };
	h->count++;
	return true;
}

bool histogram_add_bucket(struct histogram *h, uint32_t bucket, uint32_t count)
{
	uint32_t at = h->last;

	if (bucket >= HISTOGRAM_BUCKETS)
		return false;
	if (at >= h->count || h->buckets[at].bucket != bucket)
		at = find(h, bucket);
	if ((at == h->count || h->buckets[at].bucket != bucket) && !insert(h, at, bucket))
		return false;
	uint32_t room = UINT32_MAX - h->buckets[at].count;
	h->buckets[at].count += count < room ? count : room;
	h->last = at;
	return true;
}

bool histogram_add(struct histogram *h, uint64_t ns, uint32_t count)
{
	return histogram_add_bucket(h, bucket_of(ns), count);
}

bool histogram_add_near(struct histogram *h, uint64_t ns, uint32_t count)
{
	uint32_t bucket = bucket_of(ns), at = find(h, bucket);

	if (!h->count)
		return false;
	if (at == h->count ||
	    (at && bucket - h->buckets[at - 1].bucket < h->buckets[at].bucket - bucket))
		at--;
	return histogram_add_bucket(h, h->buckets[at].bucket, count);
}

bool histogram_merge(struct histogram *h, const struct histogram *from)
{
	for (uint32_t i = 0; i < from->count; i++)
		if (!histogram_add_bucket(h, from->buckets[i].bucket, from->buckets[i].count))
			return false;
	return true;
}

uint64_t histogram_calls(const struct histogram *h)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < h->count; i++)
		all += h->buckets[i].count;
	return all;
}

uint64_t histogram_quantile(const struct histogram *h, double share)
{
	uint64_t all = histogram_calls(h), below = 0;

	for (uint32_t i = 0; i < h->count; i++) {
		below += h->buckets[i].count;
		if ((double)below > share * (double)all || below == all)
			return value_of(h->buckets[i].bucket);
	}
	return 0;
}

uint64_t histogram_quantile_within(const struct histogram *h, double share, uint64_t least,
                                   uint64_t most)
{
	uint64_t ns = histogram_quantile(h, share);

	if (!ns || !most)
		return ns;
	return ns < least ? least : ns > most ? most : ns;
}
