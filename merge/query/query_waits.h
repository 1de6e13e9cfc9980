/* SPDX-License-Identifier: MIT */
/*
 * Who waited for whom: waiter, resource, and who held it or ended the wait. Of the whole run.
 */
#pragma once

#include "base/cleanup.h"
#include "base/metric.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct profile;

/* Kinds beside enum held_kind (base/record.h). */
#define WAIT_KIND_DESCRIPTOR 32 /* a pipe or socket */
#define WAIT_KIND_GIL        33 /* the lock of Python's interpreter */

/* A place in code, and the threads that were there. */
struct wait_side {
	const char *function; /* NULL: not known */
	const char *file;     /* NULL: not known */
	int line;             /* 0: not known */
	const char *thread;   /* the name of one of them; NULL: nobody is known */
	const char *process;  /* the same; NULL where all is one process */
	uint32_t threads;     /* how many there were; 0: nobody is known */
};

struct wait_row {
	struct wait_side waiter, holder;
	/* Its name: the variable's ("journal", "table+64"), or with MADE the function's that
	   initialized it. NULL: not known. */
	const char *resource;
	const char *resource_file; /* of the source or program that has it, or of MADE's call */
	int resource_line;         /* of MADE's call; 0: not known */
	bool made; /* it has no name, but it is known where the user's code initialized it */
	/* The library's Python function that the waiter has called ("Queue.get"); NULL: none. */
	const char *within;
	bool python;      /* it is a lock of Python's, or is made of one: a Condition, a Queue */
	uint64_t address; /* in its program or library; or an inode; 0: not known */
	uint32_t kind;    /* enum held_kind, WAIT_KIND_…; 0: not known */
	enum metric cause;
	bool guessed; /* by who ran as most of the waits ended */
	uint64_t ns, count, longest_ns, median_ns;
	uint64_t wall_ns; /* of the run's wall time, what was waited for so */
};

struct wait_rows {
	struct wait_row *rows; /* most time first */
	size_t count;
	uint64_t ns;      /* of all of them */
	uint64_t wall_ns; /* of the run's wall time, what was waited for so */
	/* Time of all threads in waits that other threads end: all of it, of which is known who
	   ended it, and of that by who ran at the time alone. */
	uint64_t blocked_ns, known_ns, guessed_ns;
};

/* Texts are the profile's. NULL on error. */
struct wait_rows *query_waits(const struct profile *p, struct error *err);
void wait_rows_free(struct wait_rows *rows);

CLEANUP(wait_rows, struct wait_rows *, wait_rows_free)

/* How many threads of the run were on CPUs at once, and who was there alone. */
struct parallel {
	uint64_t all_ns;          /* what the times below are parts of; 0: nothing is known */
	uint64_t none_ns, one_ns; /* no thread was on a CPU; one was */
	uint64_t more_ns;         /* several were */
	uint32_t most;            /* threads at once */
	struct wait_side alone;   /* the function that was most of one_ns, at its heaviest line; its
	                             threads are 0 */
	uint64_t alone_ns;        /* of one_ns, there */
	uint64_t alone_all_ns;    /* CPU time of all threads there, whoever ran beside them */
	uint64_t alone_other_ns;  /* the most that a thread which is never there was alone */
};
void query_parallel(const struct profile *p, struct parallel *parallel);

/* "mutex", "pipe or socket", "semaphore"; "" if KIND is not known. */
const char *wait_kind_name(uint32_t kind, enum metric cause);
