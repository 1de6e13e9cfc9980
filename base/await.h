/* SPDX-License-Identifier: MIT */
/*
 * What tasks of an event loop do with their time, summed by coroutine.
 *
 *	wall time of a task   ready  run  wait ──────────  ready ──  run
 *	                                  └ fetch app.py:12 > get queues.py:158
 *
 * A task is ready from the moment that it is scheduled until its step begins, runs during its step,
 * and waits in an await from then on. Plain data; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stored in profile files: append only. */
enum await_kind {
	AWAIT_TASK = 1, /* tasks of a coroutine: how many began, their wall time, the longest one */
	AWAIT_RUN,      /* their steps */
	AWAIT_READY,    /* how long they were ready before these */
	AWAIT_WAIT,     /* waits by the chain of awaits, outermost first */
	AWAIT_BLOCK,    /* long steps of a coroutine or a callback, while other tasks were ready */
	AWAIT_DELAY,    /* how long such steps (first place) delayed a task's (second place) */
	AWAIT_LOOP,    /* threads that ran loops, and from their first step to their last; its place
	                  is unknown */
	AWAIT_NAME,    /* tasks (of the first place) that the program has named (the second one) */
	AWAIT_LIBRARY, /* which library (the second place) has run tasks of the first one */
	/* Goroutines that waited for others, by estimate. Places: the function that those run which
	   waited, where that was, and the reason; the same of whom they waited for, whose reason is
	   what that one did. COUNT looks; their time, added up ... */
	AWAIT_HELD,
	AWAIT_HELD_WALL, /* ... and what of the time of the run's own goroutine went so */
	AWAIT_KINDS
};

/* The library of goroutines, which merge/op/goroutines.h makes tasks of, by estimate. */
#define AWAIT_GO         "Go"

#define AWAIT_PLACES_MAX 12 /* in a chain; in deeper ones, some in the middle are left out */
#define AWAIT_LONG_MS    10 /* a step that takes longer blocks the loop */

/* A line of a function; of a coroutine, where it begins. */
struct await_told {
	const char *function, *file; /* "": unknown */
	uint32_t line;               /* 0: unknown */
};

/* What has come since the last event; LONGEST_NS: of all so far. */
struct python_await_event {
	enum await_kind kind;
	uint64_t count, ns, longest_ns;
	struct await_told places[AWAIT_PLACES_MAX]; /* the first one is the coroutine */
	uint32_t place_count;
};

/*
 * The COUNT places behind a struct record_python_await, which has SIZE bytes of them: their texts
 * stay there. False: that cannot be.
 */
bool await_read_places(const void *bytes, size_t size, uint32_t count,
                       struct await_told places[AWAIT_PLACES_MAX]);
