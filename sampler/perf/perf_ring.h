/* SPDX-License-Identifier: MIT */
/*
 * Reading perf rings: one per CPU, merged by time.
 *
 *	perf_rings_look(): what has been written up to here
 *	perf_rings_next(): the oldest record of all rings, and so on
 *
 * Each ring is in order by itself, and all share one clock. A record is
 * borrowed: it is given back to the kernel by the next call. It lies in the
 * ring, or, where it wraps around the end, in a buffer of the set's own.
 *
 * Who gets little of a CPU copies faster than it makes sense of what it copies: the records of a
 * ring that is half full are kept in memory, and the kernel has its ring back. Reading does that in
 * passing; perf_rings_relieve() does it for a reader that is kept from reading.
 *
 * Who waits for a CPU may do so with a lock and with a record. Of small rings all records are kept
 * therefore, and what is kept is read without the lock. While much is kept, most of its samples are
 * cut to CUT_STACK bytes of stack: those that are not show what called these.
 *
 * The rings are the caller's, who maps and unmaps them. One thread at a time reads, while the
 * kernel writes and another thread may relieve.
 */
#pragma once

#include "sampler/perf/perf_record.h"

#include <linux/perf_event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define CUT_STACK             4096
#define PERF_RECORD_MAX_BYTES 65536 /* perf_event_header.size has 16 bits */

struct perf_kept; /* a piece of memory with records */

struct perf_ring {
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	uint64_t mask;    /* bytes of data - 1 */
	uint64_t head;    /* of the kernel, as of the last look */
	uint64_t tail;    /* ours: read up to here */
	uint64_t next_ns; /* time of the record at tail; UINT64_MAX if there is none */
	struct perf_format format;
	uint64_t left_ns; /* when a thread left its CPU, as of the last record read; 0: none has */

	/* Records that were taken out of the ring, older than those that are in it: pieces are
	   added under the lock, while the reader takes from the first. */
	struct perf_kept *kept_first, *kept_last; /* owned; NULL: none has been kept yet */
	size_t kept_from;                         /* in the first */
	size_t kept_added, kept_taken;            /* bytes so far */
	uint32_t cut;                             /* samples so far that could be */
};

struct perf_rings {
	struct perf_ring *rings; /* the caller's */
	size_t count;
	struct perf_ring *given; /* whose record is out; NULL if none is */
	uint32_t given_bytes;
	uint32_t passed;      /* records so far */
	bool given_kept;      /* it is one of those that are kept */
	bool small;           /* the caller's: 200 ms of records fit in, no more */
	uint32_t short_bytes; /* the caller's: of stack, in samples that may be cut; 0: none may */
	pthread_mutex_t lock; /* of all of this, while a function below runs; zeroed is unlocked */
	_Alignas(uint64_t) uint8_t wrapped[PERF_RECORD_MAX_BYTES]; /* as records are in a ring */
};

/* PAGE is followed by DATA_BYTES (a power of two) of data. */
void perf_ring_init(struct perf_ring *ring, struct perf_event_mmap_page *page, uint64_t data_bytes);

void perf_ring_fini(struct perf_ring *ring);

/* -1 if a ring holds what cannot be. */
int perf_rings_look(struct perf_rings *set, struct error *err);

/*
 * The oldest record that is not younger than UNTIL_NS and its ring; NULL if
 * there is none (ERR stays empty) or a ring holds what cannot be.
 */
const struct perf_event_header *perf_rings_next(struct perf_rings *set, uint64_t until_ns,
                                                struct perf_ring **from, struct error *err);

/*
 * Keeps the records of rings that are half full, or of small ones a quarter, except where one of
 * the ring is out. From any thread. Returns whether anything is kept: the reader is behind.
 */
bool perf_rings_relieve(struct perf_rings *set);

/* How full the memory is for what is kept of the fullest ring, 0 to 1. */
double perf_rings_kept(const struct perf_rings *set);
