/* SPDX-License-Identifier: MIT */
/*
 * What tasks of event loops did with their time, by coroutine; in which await they stood; and which
 * steps kept others from theirs. Of the whole run, and exact; of processes that were attached to,
 * estimates of looks now and then, without steps, counts of waits and who blocked the loop.
 *
 *	total = running + ready + waiting
 *
 * Texts are the profile's or the answer's. Plain data; any thread.
 */
#pragma once

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

struct error;
struct profile;

/* A coroutine, or another function, and the line where it begins. */
struct await_function {
	const char *name; /* "?": unknown */
	const char *file; /* NULL: unknown */
	int line;         /* 0: unknown */
};

struct await_tasks {
	struct await_function coroutine;
	uint64_t tasks, steps, waits;
	uint64_t total_ns, running_ns, ready_ns, waiting_ns;
	uint64_t longest_ns; /* of the tasks that ended */
	uint64_t longest_ready_ns, longest_step_ns;
	const char *names;   /* that the program has given its tasks: "feed, poll"; NULL: none */
	const char *library; /* which has run them: "asyncio", or "asyncio, trio" */
};

struct await_wait {
	size_t tasks; /* index of its coroutine */
	/* The innermost line of the user's own in the chain, or of whoever's but the library's. */
	struct await_function place;
	const char *awaited; /* what that awaits; NULL: a future */
	const char *chain;   /* "main (app.py:12) > fetch (app.py:7) > sleep (tasks.py:649)" */
	uint64_t count, ns, longest_ns;
};

/* Steps of 10 ms and more, during which other tasks were ready. */
struct await_block {
	struct await_function blocker;  /* a coroutine, or a callback */
	uint64_t steps, ns, longest_ns; /* of these, while others were ready */
	uint64_t delayed, delayed_ns;   /* steps of others that waited meanwhile, and how long */
	struct await_function victim;   /* that was delayed most; its name NULL: none is known */
	uint64_t victim_ns;
};

struct await_delay {
	struct await_function blocker, victim;
	uint64_t count, ns, longest_ns;
};

/* Goroutines of one kind that waited at one place, for those of another one. */
struct await_held {
	struct await_function waiter, place; /* what they run, and where they wait */
	const char *reason;                  /* "sync.Mutex.Lock" */
	struct await_function holder, at;    /* whom they wait for, and where that is; the name "?":
	                                        unknown, as of one that runs */
	const char *doing;                   /* "running", "runnable", "sleep", "system call" */
	uint64_t looks, ns;                  /* NS: their time, added up */
	uint64_t wall_ns;                    /* of the goroutine of main() */
};

struct await_rows {
	struct await_tasks *tasks;  /* most total first */
	struct await_wait *waits;   /* by coroutine in that order, longest first */
	struct await_block *blocks; /* most first */
	struct await_delay *delays; /* the same */
	struct await_held *held;    /* most wall_ns first; none of event loops */
	size_t task_count, wait_count, block_count, delay_count, held_count;
	struct await_tasks
		all; /* sums, without a coroutine; LIBRARY: of all, uvloop's as asyncio's */
	uint64_t blocked_ns;
	uint64_t loops, loop_ns; /* threads that ran loops, and for how long in sum */
	char **texts;            /* its own */
	size_t text_count;
};

/* No rows where no task was seen. NULL on error. */
struct await_rows *query_awaits(const struct profile *p, struct error *err);

/*
 * The same of the goroutines of Go programs, by the function that they run: estimates, of looks now
 * and then. READY is runnable; TASKS were seen at most at once; STEPS, counts of waits and LONGEST
 * are not known (0). AWAITED is the runtime's word for why they wait ("chan receive"); a place "?"
 * is that of goroutines which went on while they were looked at.
 */
struct await_rows *query_goroutines(const struct profile *p, struct error *err);

void await_rows_free(struct await_rows *rows);

CLEANUP(await_rows, struct await_rows *, await_rows_free)
