/* SPDX-License-Identifier: MIT */
/*
 * Where memory was allocated, and what of it was alive at the peak and at the end.
 *
 * Sites are nodes of the call tree; their bytes are estimates, from sampled
 * allocations that stand for all. The blocks of these that are alive are kept by
 * process and address, in bounded memory. Totals, and with them the peak, are
 * exact where the processes have counted. One thread at a time.
 */
#pragma once

#include "base/hash.h"
#include "base/stack.h"
#include "merge/table/memory_curves.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct allocation_site {
	uint32_t node;
	uint64_t samples;
	uint64_t allocated_bytes;
	uint64_t live_bytes; /* now */
	uint64_t peak_bytes; /* at the last peak that was noted */
	uint64_t end_bytes;  /* at the end of processes that have ended */
};

/* A sampled allocation that is alive. */
struct allocation_block {
	uint64_t address; /* 0: none */
	uint64_t bytes;   /* that it stands for */
	uint32_t site;    /* index + 1 */
	uint32_t package; /* index + 1 of a curve; 0: none */
};

struct allocating_process {
	struct allocation_block *blocks; /* [mask + 1], by hash of the address */
	uint32_t mask, used;             /* 0, 0: there is no table yet */
	int64_t live_bytes;              /* by its own count; less than 0 in a child that frees what
	                                    its parent has allocated */
};

struct allocations {
	struct allocation_site *sites;
	uint32_t site_count;
	size_t site_capacity;
	struct hash index;
	struct allocating_process *processes; /* [slot - 1] */
	size_t process_count, process_capacity;
	uint32_t block_count, blocks_max;
	uint64_t untracked_bytes; /* of sites, allocated: nobody knows when they were freed */
	uint64_t lost;            /* sampled allocations that found no memory, or no thread */

	bool exact; /* processes have counted */
	uint64_t allocations, frees, allocated_bytes, freed_bytes;
	uint64_t allocations_variance, bytes_variance; /* of estimates: see struct memory_event */
	uint64_t live_bytes; /* of all processes; by samples unless it is exact */
	int64_t end_bytes;   /* live in processes at their end, and what they have told since */
	uint64_t peak_bytes, peak_ns;
	bool at_peak;         /* there was no more than now */
	uint64_t noted_bytes; /* when sites were last noted */
	uint64_t changes;     /* of sites since then */
	struct memory_curves curves;
};

#define ALLOCATIONS_BLOCKS (1u << 18)

/* A is all zeros. False if there is no memory. */
bool allocations_init(struct allocations *a);
void allocations_fini(struct allocations *a);

static inline bool allocations_is_empty(const struct allocations *a)
{
	return !a->site_count && !a->exact && !a->lost;
}

/* EVENT at NODE, of the process in slot PROCESS; 0: not kept apart, so nothing is known of frees.
 */
void allocations_add(struct allocations *a, uint32_t process, uint32_t node,
                     const struct alloc_event *event);
void allocations_free(struct allocations *a, uint32_t process, uint64_t address);

/* The same, of a package's library, at AT_NS since the start: for the package's curve. PACKAGE is
   its index + 1; 0: none. */
void allocations_add_at(struct allocations *a, uint32_t process, uint32_t node, uint32_t package,
                        uint64_t at_ns, const struct alloc_event *event);
void allocations_free_at(struct allocations *a, uint32_t process, uint64_t address, uint64_t at_ns);

/* The curve of a package, index + 1; 0 if there is no room. */
uint32_t allocations_package(struct allocations *a, const char *name);

/* What a process has counted; 0: one that is not kept apart, or is gone. */
void allocations_count(struct allocations *a, uint32_t process, const struct memory_event *event);

/* What is alive of all processes now stands in the host's curve. */
void allocations_draw(struct allocations *a, uint64_t at_ns);

/* It has ended, or is another program. */
void allocations_end_process(struct allocations *a, uint32_t process);

/* Moves each site to the node MAP[node - 1]. ROOM has one number for each site. */
void allocations_move_nodes(struct allocations *a, const uint32_t *map, uint32_t *room);

/* Adds what stands in a file. NULL if there is no memory. */
struct allocation_site *allocations_append(struct allocations *a, uint32_t node);

/* The site of NODE, which is made if there is none. NULL if there is no memory. */
struct allocation_site *allocations_site(struct allocations *a, uint32_t node);

/* 0: none */
uint32_t allocations_find(const struct allocations *a, uint32_t node);

static inline uint64_t allocations_site_peak(const struct allocations *a,
                                             const struct allocation_site *site)
{
	return a->at_peak ? site->live_bytes : site->peak_bytes;
}

static inline uint64_t allocations_site_end(const struct allocation_site *site)
{
	return site->end_bytes + site->live_bytes;
}

/* Live at the end, or now. */
uint64_t allocations_end_bytes(const struct allocations *a);
