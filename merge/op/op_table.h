/* SPDX-License-Identifier: MIT */
/*
 * What is kept of ops: sums by (op, around, shape, callers, thread), in bounded
 * memory, and when they were.
 *
 * Beyond a limit new rows leave out their shape, caller and the op around them, and
 * durations are put to similar ones; that is counted. Times are kept in bins whose width doubles
 * when there are too many, as in merge/table/cells.h. One thread at a time.
 */
#pragma once

#include "base/device_bytes.h"
#include "base/hash.h"
#include "merge/numbers/histogram.h"
#include "merge/op/op_estimate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct op_key {
	uint32_t op;        /* id, base/op.h */
	uint32_t parent;    /* id of the op around it; 0: none */
	uint32_t shape;     /* string; 0: none */
	uint32_t caller;    /* location; 0: unknown */
	uint32_t thread;    /* slot */
	uint32_t chain;     /* node of the profile's chains: who calls it in Python; 0: unknown */
	uint32_t forward;   /* the same of what it is the derivative of; 0: unknown, or nothing */
	bool within_domain; /* one of the same domain is open around it */
};

/* What adds up. */
struct op_sums {
	uint64_t calls;    /* all: timed and untimed */
	uint64_t untimed;  /* those without a duration of their own */
	uint64_t timeless; /* of the untimed, those of which no time is known at all */
	uint64_t left_open;
	uint64_t marks;
	uint64_t total_ns; /* without those that are open within themselves */
	uint64_t sum_ns;   /* with them: average × calls less timeless */
	uint64_t self_ns;
	uint64_t allocated_bytes, freed_bytes; /* as total_ns */
	uint64_t self_allocated_bytes, self_freed_bytes;
	struct op_device_bytes devices; /* the same of GPUs */
	uint64_t flops;
	uint64_t message_bytes; /* of calls of MPI */
	uint64_t others_ns;     /* of self_ns: see struct op_row; 0 in a table */
	/* Of calls, those that were not recorded, and the standard errors of calls and total_ns by
	   that. Of several rows they add up to more than the error of their sum. */
	uint64_t unseen, calls_error, total_error_ns;
};

struct op_entry {
	struct op_key key;
	struct op_sums sums;
	uint64_t first_begin_ns, first_ns; /* of the earliest call; 0, 0: none was timed */
	uint64_t min_ns, max_ns;
	struct histogram durations;
	uint32_t series; /* id, merge/table/series.h, of its calls; 0: not known */
	/* While not all calls are recorded; owned, NULL: all are, or op_table_settle() has been
	   called. */
	struct op_estimate *estimate;
	double carry;         /* of calls: what whole numbers have left out so far */
	double unseen_within; /* of self_ns: in ops within it that were not recorded */
};

/* Ops that began in one bin. */
struct op_bin {
	uint32_t entry; /* index + 1 */
	uint32_t bin;
	uint64_t calls, marks, total_ns, self_ns;
};

/* One call, or several without times of their own. */
struct op_call {
	struct op_key key;
	uint64_t begin_ns, duration_ns;
	bool within_itself;
	double weight;                    /* it stands for so many; 0 or 1: for itself */
	uint64_t stall_ns, self_stall_ns; /* see struct op_event */
	uint32_t window;                  /* which it was recorded in, where that is more than 1 */
	double unseen_within; /* of its self time, by estimate, in ops that were not recorded */
	struct op_sums
		sums; /* total_ns and sum_ns are worked out from the duration of timed calls */
};

struct op_table {
	struct op_entry *entries;
	uint32_t count;
	size_t capacity;
	struct hash index;
	struct op_bin *bins;
	uint32_t bin_count;
	size_t bin_capacity;
	struct hash bin_index;
	uint64_t origin_ns; /* where bin 0 begins; 0: no call yet */
	uint64_t bin_ns;
	uint32_t entries_max, bins_max;
	uint64_t folded;   /* calls whose shape, caller and parent were left out */
	uint64_t whole_ns; /* when the last op began before not all were recorded any more; 0: all
	                      were. While calls are added: the last one that began */
	bool thinned;      /* not all are */
	uint64_t lost;     /* calls that found no memory */
	uint32_t bucket_count, buckets_max; /* of all durations */
	uint64_t blurred; /* calls whose duration is kept as a similar one, or not at all */
};

#define OP_TABLE_ENTRIES     65536
#define OP_TABLE_BINS        131072
#define OP_TABLE_BUCKETS     (1u << 20)
#define OP_TABLE_BINS_OF_RUN 4096

/* False if there is no memory. Limits of 0: the defaults. */
bool op_table_init(struct op_table *t, uint32_t entries_max, uint32_t bins_max);
void op_table_fini(struct op_table *t);

/* The entry that has got it; NULL if there is none. */
struct op_entry *op_table_add(struct op_table *t, const struct op_call *call);

/* Nothing more is added: works out what is known of calls that were not recorded. Again it does
   nothing. */
void op_table_settle(struct op_table *t);

/* NULL if there is none. */
struct op_entry *op_table_find(const struct op_table *t, const struct op_key *key);

/* Whether another key would have to leave something out. */
static inline bool op_table_is_full(const struct op_table *t)
{
	return t->count >= t->entries_max;
}

/* Gives each entry the caller MAP[caller - 1]; no two become one. */
void op_table_move_callers(struct op_table *t, const uint32_t *map);

/* Adds what stands in a file. False if there is no memory. */
struct op_entry *op_table_append(struct op_table *t, const struct op_key *key);
bool op_table_append_bin(struct op_table *t, const struct op_bin *bin);

/* Adds what stands in ENTRY, of another table, to the row of its key. NULL if there is no room:
   then its calls are lost. */
struct op_entry *op_table_join(struct op_table *t, const struct op_entry *entry);

/* The same of a bin whose middle is TIME_NS, and whose entry is one of this table. */
void op_table_join_bin(struct op_table *t, const struct op_bin *bin, uint64_t time_ns);

/* Adds FROM's sums to TO's. */
void op_sums_add(struct op_sums *to, const struct op_sums *from);
