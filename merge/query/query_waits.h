/* SPDX-License-Identifier: MIT */
/*
 * Who waited for whom: waiter, resource, and who held it or ended the wait; and how many threads
 * were on CPUs at once. In a window (as of struct query), as fine as STEP_NS: within such a step
 * time is even. A profile that does not say when has the whole run in its place, and says so.
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
#define WAIT_KIND_SPIN       34 /* a word in memory: a lock or flag of the program's own */
#define WAIT_KIND_SIGNAL     35
#define WAIT_KIND_TEAM       36 /* the other threads of an OpenMP region */
#define WAIT_KIND_RANKS      37 /* other ranks, in a call of MPI */
#define WAIT_KIND_FILE_LOCK  38 /* a lock on a file: flock(2), F_SETLKW of fcntl(2) */
#define WAIT_KIND_LOCK       39 /* a semaphore that is used as a lock */

/* A place in code, and the threads that were there. */
struct wait_side {
	const char *function; /* NULL: not known */
	const char *file;     /* NULL: not known */
	int line;             /* 0: not known */
	bool own;             /* that is code of the user's own */
	bool nameless;        /* it is code without symbols: FUNCTION is its file's name */
	const char *below;  /* of NAMELESS code: the innermost caller that has a name; NULL: none */
	const char *thread; /* the name of one of them; NULL: nobody is known */
	const char *process; /* the same; NULL where all is one process */
	uint32_t rank;       /* of who is waited for, if a launcher of the run has started it: its
	                        number + 1, which is in PROCESS, too; 0: none */
	uint32_t threads;    /* how many there were; 0: nobody is known */
	uint64_t on_cpu_ns;  /* of these threads, in all of the run */
	uint64_t life_ns;    /* the same */
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
	bool python; /* it is a lock of Python's, or is made of one: a Condition, a Queue */
	/* What a lock manager of the program's own locks, where its functions say that the waiter
	   is in it, whatever it waits by: "row lock". NULL: it is in none. */
	const char *lock;
	uint64_t address; /* in its program or library; or an inode; 0: not known */
	uint32_t kind;    /* enum held_kind, WAIT_KIND_…; 0: not known */
	enum metric cause;
	bool guessed; /* by who ran as most of the waits ended */
	uint64_t ns, count;
	uint64_t longest_ns, median_ns; /* of the whole run; in a window at most what it has */
	uint64_t wall_ns;               /* of the run's wall time, what was waited for so */
	/* What that may be: by what samples leave open (95 %), and with waits for the same whose
	   holder is not known. What was inferred counts as known. */
	uint64_t wall_low_ns, wall_high_ns;
	uint64_t wall_ready_ns; /* of that, while who was waited for had no CPU */
};

struct wait_rows {
	struct wait_row *rows; /* most time first */
	size_t count;
	bool whole_run;   /* it is of all of it: nobody asked for a window, or it is not known */
	uint64_t step_ns; /* 0: WHOLE_RUN */
	uint64_t ns;      /* of all of them */
	uint64_t wall_ns; /* of the run's wall time, what was waited for so */
	/* Time of all threads in waits that other threads end: all of it, of which is known who
	   ended it, and of that by who ran at the time alone. */
	uint64_t blocked_ns, known_ns, guessed_ns;
	uint64_t wall_unknown_ns; /* of the run's wall time, in such waits whose holder is not known
	                           */
};

/* Texts are the profile's. NULL on error. */
struct wait_rows *query_waits(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                              struct error *err);
void wait_rows_free(struct wait_rows *rows);

CLEANUP(wait_rows, struct wait_rows *, wait_rows_free)

/* Threads at once that are distinguished; from so many on they are reported together. */
#define PARALLEL_MAX 256

/* How many threads of the run were on CPUs at once, and who was there alone. */
struct parallel {
	bool whole_run;           /* as of struct wait_rows */
	uint64_t step_ns;         /* the same */
	uint64_t all_ns;          /* what the times below are parts of; 0: nothing is known */
	uint64_t none_ns, one_ns; /* no thread was on a CPU; one was */
	uint64_t serial_ns;       /* of one_ns, while no other one was ready to run */
	uint64_t more_ns;         /* several were */
	uint32_t most;            /* threads at once */
	uint64_t at_once_ns[PARALLEL_MAX + 1]; /* of all_ns, by how many: up to MOST */
	struct wait_side alone;  /* the function that was most of one_ns, at its heaviest line; its
	                            threads are 0 */
	uint64_t alone_ns;       /* of one_ns, there */
	uint64_t alone_all_ns;   /* CPU time of all threads there, whoever ran beside them */
	uint64_t alone_other_ns; /* the most that a thread which is never there was alone */
	/* The process that was alone for longest, of those that the run has started. NULL: none
	 * was. */
	const char *process;
	uint32_t process_pid;
	uint64_t process_ns; /* of one_ns */
	/* Where in it that was most, in code of the user's own, if a quarter of it was; else its
	   function is NULL. */
	struct wait_side process_at;
	uint64_t process_at_ns; /* of process_ns, there */
};
void query_parallel(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                    struct parallel *parallel);

/* "mutex", "pipe or socket", "OpenMP barrier"; "" if KIND is not known. */
const char *wait_kind_name(uint32_t kind, enum metric cause);

/* "a" or "an", before that. */
const char *wait_kind_article(uint32_t kind);
