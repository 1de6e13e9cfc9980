/* SPDX-License-Identifier: MIT */
/*
 * A ring of records in shared memory: one producer, one consumer, no locks.
 *
 *	[header page | data, a power of two of bytes]
 *
 * The producer may be a signal handler in another process and may die at any
 * instruction: HEAD is published with a release store after the record is
 * whole, so the consumer sees whole records or nothing. A record never wraps;
 * where it would, a filler (type 0) takes the rest. A full ring drops the
 * record, counts it, and never waits.
 *
 * The consumer trusts nothing that it reads: the other side is the profiled
 * program, which may scribble. Both sides keep their own position, and a size
 * that cannot be is an error, after which the ring is not read any more.
 */
#pragma once

#include "base/record.h"

#include <stdbool.h>
#include <stdint.h>

struct error;

#define RING_MAGIC        UINT32_C(0x474e5242) /* "BRNG" */
#define RING_HEADER_BYTES ((size_t)4096)

struct ring_header {
	uint32_t magic;
	uint32_t version;
	uint64_t data_bytes;
	uint32_t pid; /* of the producer */
	uint32_t tid;
	uint8_t pad0[40];
	uint64_t head;    /* producer: bytes written since the start */
	uint64_t dropped; /* producer: records that found no room */
	uint8_t pad1[48];
	uint64_t tail; /* consumer: bytes read since the start */
	uint8_t pad2[56];
};
_Static_assert(offsetof(struct ring_header, head) == 64, "head has its own cache line");
_Static_assert(offsetof(struct ring_header, tail) == 128, "tail has its own cache line");

/* A view of a ring; the memory belongs to whoever mapped it. */
struct ring {
	struct ring_header *header;
	uint8_t *data;
	uint64_t mask;
	uint64_t position; /* consumer: its own copy of tail; producer: of head */
	uint64_t seen;     /* consumer: head when it was last looked at */
	uint32_t peeked;   /* consumer: size of the record that ring_peek() gave out */
};

/* Lays a fresh ring over MEMORY (RING_HEADER_BYTES + DATA_BYTES, a power of two, zeroed). */
void ring_create(struct ring *ring, void *memory, uint64_t data_bytes, uint32_t pid, uint32_t tid);

/* Takes MEMORY of SIZE bytes as a ring made elsewhere. False if it cannot be one. */
bool ring_open(struct ring *ring, void *memory, size_t size);

/*
 * Producer: room for a record of SIZE bytes (a multiple of 8), NULL if there is
 * none (counted as dropped). Async-signal-safe, but not against a signal on
 * the same thread between reserve and commit: the caller guards that.
 */
struct record *ring_reserve(struct ring *ring, size_t size);

/* Producer: makes the reserved record visible. It may have shrunk to SIZE. */
static inline void ring_commit(struct ring *ring, struct record *record, size_t size)
{
	record->size = (uint32_t)size;
	ring->position += size;
	__atomic_store_n(&ring->header->head, ring->position, __ATOMIC_RELEASE);
}

/*
 * Consumer: the next record, NULL if there is none. It stays valid, and in the
 * ring, until ring_advance(). On damage: NULL with ERR set (else errnum and text stay empty);
 * the ring gives no more records.
 */
const struct record *ring_peek(struct ring *ring, struct error *err);
void ring_advance(struct ring *ring);

/* Records that the producer could not write so far. */
uint64_t ring_dropped(const struct ring *ring);
