// SPDX-License-Identifier: MIT
#include "tracer/agent/torch/torch_blocks.h"

#include "tracer/agent/table.h"

#include <stdbool.h>

#define ADDRESS_BITS 47
#define ALIGNED_BITS 6 // c10::gAlignment is 64
#define BUCKET_BITS  16
#define NEAR_BITS    2 // blocks so near to each other share a bucket: what is in use is in few lines
#define TAG_BITS     (ADDRESS_BITS - ALIGNED_BITS - BUCKET_BITS)
#define TAG_MASK     ((UINT64_C(1) << TAG_BITS) - 1)
#define BYTES_MAX    (UINT64_C(1) << (64 - TAG_BITS))
#define PLACES       4

// Atomic, 0: free; else the bytes, and behind them what the bucket does not say of the address.
AGENT_TABLE static struct bucket {
	uint64_t first[PLACES], others[PLACES];
} buckets[1u << BUCKET_BITS] __attribute__((aligned(64)));

static int claimed; // atomic: there is a first thread

static bool is_first(void)
{
	static __thread enum {
		UNKNOWN,
		FIRST,
		OTHER
	} self __attribute__((tls_model("initial-exec")));

	if (__builtin_expect(self == UNKNOWN, 0))
		self = __atomic_exchange_n(&claimed, 1, __ATOMIC_RELAXED) ? OTHER : FIRST;
	return self == FIRST;
}

/*
 *	 46        24 │ 23              8 │ 7  6 │ 5      0
 *	  far          bucket, less far's   near   aligned
 */
static bool split(const void *block, struct bucket **bucket, uint64_t *tag)
{
	uint64_t address = (uint64_t)(uintptr_t)block;
	uint64_t number = address >> ALIGNED_BITS;
	uint64_t far = number >> (NEAR_BITS + BUCKET_BITS);

	*bucket = &buckets[(number >> NEAR_BITS ^ far ^ far >> BUCKET_BITS) % (1u << BUCKET_BITS)];
	*tag = far << NEAR_BITS | number % (1u << NEAR_BITS);
	return address % (1u << ALIGNED_BITS) == 0 && address >> ADDRESS_BITS == 0;
}

static bool put_first(struct bucket *bucket, uint64_t word)
{
	for (unsigned i = 0; i < PLACES; i++)
		if (!__atomic_load_n(&bucket->first[i], __ATOMIC_RELAXED)) {
			__atomic_store_n(&bucket->first[i], word, __ATOMIC_RELAXED);
			return true;
		}
	return false;
}

static void put_other(struct bucket *bucket, uint64_t word)
{
	for (unsigned i = 0; i < PLACES; i++) {
		uint64_t none = 0;
		if (!__atomic_load_n(&bucket->others[i], __ATOMIC_RELAXED) &&
		    __atomic_compare_exchange_n(&bucket->others[i], &none, word, false,
		                                __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return;
	}
}

void torch_blocks_put(const void *block, uint64_t bytes)
{
	struct bucket *bucket;
	uint64_t tag;

	if (!split(block, &bucket, &tag) || !bytes || bytes >= BYTES_MAX)
		return;
	uint64_t word = bytes << TAG_BITS | tag;
	if (!is_first() || !put_first(bucket, word))
		put_other(bucket, word);
}

static uint64_t take(uint64_t places[PLACES], uint64_t tag)
{
	for (unsigned i = 0; i < PLACES; i++) {
		uint64_t word = __atomic_load_n(&places[i], __ATOMIC_RELAXED);
		if (!word || (word & TAG_MASK) != tag)
			continue;
		__atomic_store_n(&places[i], 0, __ATOMIC_RELAXED);
		return word >> TAG_BITS;
	}
	return 0;
}

uint64_t torch_blocks_take(const void *block)
{
	struct bucket *bucket;
	uint64_t tag;

	if (!split(block, &bucket, &tag))
		return 0;
	uint64_t bytes = take(bucket->first, tag);
	return bytes ? bytes : take(bucket->others, tag);
}
