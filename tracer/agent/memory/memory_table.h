/* SPDX-License-Identifier: MIT */
/*
 * The sampled allocations that are alive, by address.
 *
 * Every free() asks, and nearly every answer is no: a count for each page of
 * the address space (folded) says so with one load from memory that is as local
 * as the heap itself. Where a page holds a sample, one cache line of the table
 * has the addresses.
 *
 * Any thread may ask at any time, in handlers too; nothing is waited for.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TABLE_PAGE_SHIFT 12
#define TABLE_COUNTS     (1u << 17)
#define TABLE_COUNT_MAX  128
#define TABLE_LINES      (1u << 13)
#define TABLE_LINE       8
#define TABLE_EASY       (TABLE_LINES * TABLE_LINE / 4) /* addresses for which lines have room */

/* A sampled allocation. */
struct memory_block {
	float calls; /* that it stands for; 0: there is none */
	bool told;   /* the collector knows of it */
};

/* Zeroed memory is an empty table. */
struct memory_table {
	uint8_t counts[TABLE_COUNTS];                                         /* atomic */
	uint64_t lines[TABLE_LINES][TABLE_LINE] __attribute__((aligned(64))); /* atomic */
	float calls[TABLE_LINES][TABLE_LINE]; /* by line; negative: the collector does not know */
	uint32_t used;                        /* atomic: addresses */
};

/* False if there is no room where ADDRESS would go. One that is there already stays once, as BLOCK.
 */
bool memory_table_add(struct memory_table *t, uint64_t address, struct memory_block block);

/* No calls if it was not there. */
struct memory_block memory_table_remove(struct memory_table *t, uint64_t address);

/* False if ADDRESS is not there for certain. */
static inline bool memory_table_may_hold(const struct memory_table *t, uint64_t address)
{
	return __atomic_load_n(&t->counts[(address >> TABLE_PAGE_SHIFT) % TABLE_COUNTS],
	                       __ATOMIC_RELAXED) != 0;
}
