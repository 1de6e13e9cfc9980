// SPDX-License-Identifier: MIT
#include "tracer/agent/torch/torch_links.h"

#include "base/hash.h"
#include "tracer/agent/table.h"

// Key and caller in one word: whoever reads sees both, or neither.
AGENT_TABLE static uint64_t links[TORCH_LINKS]; // atomic: key << 32 | caller

// Those of one thread lie beside each other.
static uint32_t place_of(uint64_t thread, int64_t sequence)
{
	return (uint32_t)((uint64_t)sequence + thread * 0x9e37) % TORCH_LINKS;
}

static uint32_t key_of(uint64_t thread, int64_t sequence)
{
	return (uint32_t)hash_pair(thread, (uint64_t)sequence);
}

void torch_links_put(uint64_t thread, int64_t sequence, uint32_t caller)
{
	uint64_t link = (uint64_t)key_of(thread, sequence) << 32 | caller;

	__atomic_store_n(&links[place_of(thread, sequence)], link, __ATOMIC_RELAXED);
}

uint32_t torch_links_get(uint64_t thread, int64_t sequence)
{
	uint64_t link = __atomic_load_n(&links[place_of(thread, sequence)], __ATOMIC_RELAXED);

	return link >> 32 == key_of(thread, sequence) ? (uint32_t)link : 0;
}
