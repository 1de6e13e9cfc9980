// SPDX-License-Identifier: MIT
#include "base/ring.h"

#include "base/error.h"

#define RING_VERSION 1
#define FILLER       0
#define DAMAGED      UINT64_MAX // a position that no byte count reaches

void ring_create(struct ring *ring, void *memory, uint64_t data_bytes, uint32_t pid, uint32_t tid)
{
	struct ring_header *header = memory;

	*header = (struct ring_header){
		.version = RING_VERSION,
		.data_bytes = data_bytes,
		.pid = pid,
		.tid = tid,
	};
	*ring = (struct ring){
		.header = header,
		.data = (uint8_t *)memory + RING_HEADER_BYTES,
		.mask = data_bytes - 1,
	};
	__atomic_store_n(&header->magic, RING_MAGIC, __ATOMIC_RELEASE);
}

bool ring_open(struct ring *ring, void *memory, size_t size)
{
	struct ring_header *header = memory;

	if (size <= RING_HEADER_BYTES ||
	    __atomic_load_n(&header->magic, __ATOMIC_ACQUIRE) != RING_MAGIC)
		return false;
	uint64_t data_bytes = header->data_bytes; // read once: the other side may change it
	if (header->version != RING_VERSION || data_bytes != size - RING_HEADER_BYTES ||
	    (data_bytes & (data_bytes - 1)) != 0)
		return false;
	*ring = (struct ring){
		.header = header,
		.data = (uint8_t *)memory + RING_HEADER_BYTES,
		.mask = data_bytes - 1,
		.position = __atomic_load_n(&header->tail, __ATOMIC_RELAXED),
	};
	ring->seen = ring->position;
	return true;
}

static void count_drop(struct ring *ring)
{
	uint64_t dropped = __atomic_load_n(&ring->header->dropped, __ATOMIC_RELAXED);

	__atomic_store_n(&ring->header->dropped, dropped + 1, __ATOMIC_RELAXED);
}

struct record *ring_reserve(struct ring *ring, size_t size)
{
	uint64_t capacity = ring->mask + 1;
	uint64_t tail = __atomic_load_n(&ring->header->tail, __ATOMIC_ACQUIRE);
	uint64_t room = capacity - (ring->position - tail);
	uint64_t to_end = capacity - (ring->position & ring->mask);
	uint64_t skip = size > to_end ? to_end : 0;

	if (size > capacity || skip + size > room) {
		count_drop(ring);
		return NULL;
	}
	if (skip) {
		// The filler becomes visible with the record behind it.
		struct record *filler =
			(struct record *)(ring->data + (ring->position & ring->mask));
		filler->size = (uint32_t)skip;
		filler->type = FILLER;
		ring->position += skip;
	}
	return (struct record *)(ring->data + (ring->position & ring->mask));
}

static const struct record *damaged(struct ring *ring, struct error *err, uint32_t size)
{
	error_set(err, 0, "the ring of thread %u holds a record of impossible size %u",
	          ring->header->tid, size);
	ring->position = DAMAGED;
	return NULL;
}

const struct record *ring_peek(struct ring *ring, struct error *err)
{
	if (ring->position == DAMAGED)
		return NULL;

	for (;;) {
		// Looked at for each record, its line would have to come back to the producer for
		// each one that it writes.
		if (ring->seen == ring->position)
			ring->seen = __atomic_load_n(&ring->header->head, __ATOMIC_ACQUIRE);
		uint64_t left = ring->seen - ring->position;
		if (left == 0)
			return NULL;

		const struct record *record =
			(const struct record *)(ring->data + (ring->position & ring->mask));
		uint32_t size = *(const volatile uint32_t *)&record->size;
		uint64_t to_end = ring->mask + 1 - (ring->position & ring->mask);
		if (left > ring->mask + 1 || size < 8 || size % 8 || size > left || size > to_end)
			return damaged(ring, err, size);
		if (record->type != FILLER) {
			if (size < sizeof(*record))
				return damaged(ring, err, size);
			ring->peeked = size;
			return record;
		}
		ring->position += size;
	}
}

void ring_advance(struct ring *ring)
{
	ring->position += ring->peeked;
	__atomic_store_n(&ring->header->tail, ring->position, __ATOMIC_RELEASE);
}

uint64_t ring_dropped(const struct ring *ring)
{
	return __atomic_load_n(&ring->header->dropped, __ATOMIC_RELAXED);
}
