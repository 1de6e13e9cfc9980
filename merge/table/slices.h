/* SPDX-License-Identifier: MIT */
/*
 * Single calls of ops, waits, and works of GPUs, with their times: what a timeline is drawn of.
 *
 * Slices are kept in blocks of one kind, packed, up to a limit; what comes later is only counted.
 * They come about in the order of their ends. What began before the block that is being filled
 * goes to another one, so that most blocks follow each other in time:
 *
 *	in order    |-- block 1 --|-- block 3 --|-- block 4 …
 *	stragglers  |----------- block 2 --------------|-- …
 *
 * For the files of merge/ alone, other than struct slice: merge/query/query_slices.h. One thread at
 * a time.
 */
#pragma once

#include "merge/table/columns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stored in profile files: append only. */
enum slice_kind {
	SLICE_OP = 0,
	SLICE_WAIT = 1, /* of a thread */
	SLICE_GPU = 2,
	SLICE_KINDS
};

enum slice_flags {
	SLICE_MARK = 1 << 0,     /* an op that is an instant */
	SLICE_LEFT_OPEN = 1 << 1 /* an op that had not ended */
};

/* What the numbers mean is by kind. 0: unknown, or none. */
struct slice {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	uint32_t kind;             /* enum slice_kind */
	uint32_t thread;           /* slot; of a GPU's work: that launched it */
	uint32_t what;             /* op id; enum metric; index of the gpu work + 1 */
	uint32_t place;            /* shape (string); node; index of the gpu stream + 1 */
	uint64_t number;           /* of an op: enum slice_flags; of a GPU's work: bytes */
	uint64_t call_ns;          /* of a GPU's work: when the call began that launched it */
};

#define SLICES_BLOCK  4096 /* rows of a block at most */
#define SLICES_WIDTH  7
#define SLICES_DELTAS 0x1

struct slice_block {
	uint32_t kind, rows;
	bool deflated;     /* as it is in files; else what is in that stream */
	size_t size;       /* bytes */
	void *bytes;       /* owned */
	uint64_t begin_ns; /* the earliest of them */
	uint64_t end_ns;   /* the latest of them */
};

/* One that is being filled. */
struct slice_filling {
	struct columns columns; /* width 0: none yet */
	uint64_t begin_ns, end_ns;
};

struct slices {
	struct slice_block *blocks; /* in the order in which they were complete */
	uint32_t count;
	size_t capacity;
	struct slice_filling filling[SLICE_KINDS][2]; /* in order, and stragglers */
	uint64_t ordered_ns[SLICE_KINDS];             /* what begins before that is a straggler */
	uint64_t limit, kept;
	uint64_t dropped; /* beyond the limit, or without memory */
	uint64_t cut_ns;  /* what ended before that is there; 0: all is */
};

void slices_init(struct slices *s, uint64_t limit);
void slices_fini(struct slices *s);

/* Where there is no room it is counted, unless none are wanted: the limit is 0. */
void slices_add(struct slices *s, const struct slice *slice);

/* FILLING, of KIND, as a block, whose bytes are the caller's. False if there is no memory; no rows:
   it is empty. */
bool slices_close(const struct slice_filling *filling, uint32_t kind, struct slice_block *block);

/* Gives the node of each wait the number MAP[node - 1]. What finds no memory is dropped. */
void slices_move_nodes(struct slices *s, const uint32_t *map);

/* Takes BLOCK over, as it is, e.g. from a file. False (and it is not) if there is no memory. */
bool slices_append(struct slices *s, const struct slice_block *block);

/* Has room for the rows of a block of KIND. False if there is no memory. */
bool slices_columns(struct columns *c, uint32_t kind);

/* The rows of BLOCK. False if it holds something else, or if there is no memory. */
bool slices_unpack(const struct slice_block *block, struct columns *c);

/* Row ROW of C, of KIND. */
struct slice slices_row(const struct columns *c, uint32_t kind, uint32_t row);

/* BLOCK as a stream for a file, to be freed with free(). NULL if there is no memory. */
void *slices_deflate(const struct slice_block *block, int level, size_t *size);
