/* SPDX-License-Identifier: MIT */
/*
 * Single calls of ops, waits of threads, and works of GPUs, one after the other: for timelines.
 *
 *	cleanup(slice_reader) struct slice_reader *reader = slice_reader_new(p, &query, err);
 *	while ((more = slice_reader_next(reader, &row, err)) > 0)
 *		...
 *
 * They come in the order in which they begin; of those that begin together the longest first, so
 * that calls come before what is called. Only blocks that reach over the moment are unpacked:
 * memory does not grow with their number. Rows borrow their texts from the profile, which must
 * outlive the reader. How many are missing is in struct totals. Times are in nanoseconds since the
 * start of the run.
 */
#pragma once

#include "base/cleanup.h"
#include "base/metric.h"
#include "merge/profile/profile.h"
#include "merge/table/slices.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct gpu_work_key;

struct slice_query {
	const char *thread, *process; /* as in struct query */
	uint64_t from_ns, to_ns; /* what is, even in part, in this window; to_ns 0: to the end */
	uint32_t kinds;          /* bits 1 << enum slice_kind; 0: all */
};

/* What does not go with its kind is 0 and NULL. */
struct slice_row {
	enum slice_kind kind;
	uint64_t begin_ns, end_ns; /* begin == end: an instant */
	uint32_t thread;  /* of slice_reader_thread(); of a work: who launched it, 0 unknown */
	const char *name; /* the op, the kernel or copy, the cause of the wait; never NULL */
	/* Of ops: */
	uint32_t op;          /* id */
	const char *provider; /* "nvtx", "torch" … */
	const char *domain;   /* "" if none */
	const char *shape;    /* "" if unknown */
	bool mark, left_open;
	bool labelled; /* op_is_label(), base/op.h */
	/* Of waits: the innermost place with a line; NULL and 0 if there is none. */
	enum metric metric;
	const char *function, *file;
	int line;
	uint32_t node; /* the whole path; 0: not known. For the files of merge/ alone */
	/* Of works of GPUs: */
	uint32_t stream;                 /* of slice_reader_stream() */
	const struct gpu_work_key *work; /* kind, kind of copy, launch shape: gpu/gpu_works.h */
	uint64_t bytes;                  /* of copies and sets */
	bool called;                     /* CALL_NS is known: the op that began then, in THREAD */
	uint64_t call_ns;
};

struct slice_thread {
	const char *name, *process; /* never NULL */
	uint32_t tid, pid;          /* of the first one that is in here */
	uint32_t process_slot;      /* from 1; 0: unknown */
	bool apart;                 /* it is one thread */
	bool is_main;               /* the first thread of its process */
};

struct slice_stream {
	const char *device;  /* its name; "" if unknown */
	const char *process; /* of a merged profile whose it is; else "" */
	uint32_t device_id;  /* from 1: several may have one number */
	uint32_t device_number, context, number;
	uint32_t pid;
	uint32_t process_slot;
};

struct slice_reader;

/* NULL on error. */
struct slice_reader *slice_reader_new(const struct profile *p, const struct slice_query *query,
                                      struct error *err);
void slice_reader_free(struct slice_reader *r);

CLEANUP(slice_reader, struct slice_reader *, slice_reader_free)

/* 1: the next one is in *ROW, valid until the next call. 0: that was the last. -1 on error. */
int slice_reader_next(struct slice_reader *r, struct slice_row *row, struct error *err);

/* The same as it is kept, with its numbers and the profile's own times. For the files of merge/
   alone. */
int slice_reader_next_slice(struct slice_reader *r, struct slice *slice, struct error *err);

/* Threads run from 1 to this number. */
uint32_t slice_reader_threads(const struct slice_reader *r);
/* False if the query does not ask for it. */
bool slice_reader_thread(const struct slice_reader *r, uint32_t thread, struct slice_thread *out);

/* The same for streams. */
uint32_t slice_reader_streams(const struct slice_reader *r);
bool slice_reader_stream(const struct slice_reader *r, uint32_t stream, struct slice_stream *out);
