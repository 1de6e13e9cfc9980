/* SPDX-License-Identifier: MIT */
/*
 * What the goroutines of a Go process do, read from outside while it runs.
 *
 * The process is not stopped: a goroutine that goes on while it is read counts in the state that
 * was read first, and the place that was read of its stack is dropped. All that is read is checked
 * as foreign bytes are, and may be anything without harm.
 *
 * Of more than GO_LOOKED_MAX goroutines one of each of so many equal parts of the runtime's list is
 * drawn, and stands for its part: sums are unbiased. Those that have ended stay in that list, so
 * that after a peak the estimate is of fewer.
 *
 * One of these belongs to one process between two of its execs. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "base/sampled.h"
#include "sampler/go/go_layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GO_LOOKED_MAX 1000 /* goroutines in one pass */
#define GO_FRAMES_MAX 32   /* innermost ones of a goroutine */
#define GO_REASON_MAX 48   /* bytes of the runtime's word for a wait, with its NUL */

/* Goroutines that do the same at the same place. */
struct go_group {
	enum goroutine_state state;
	uint64_t start;      /* address of the function that they began in */
	const char *reason;  /* of GOROUTINE_WAITING; "": unknown. Lives as long as the struct
	                        go_remote */
	uint64_t goroutines; /* that it stands for */
	uint32_t count;      /* of frames; 0: unknown, or of GOROUTINE_RUNNING */
	uint64_t frames[GO_FRAMES_MAX]; /* return addresses, innermost first */
};

/* Bytes of the process that are wanted. */
struct go_read {
	uint64_t address;
	void *to;
	size_t size;
	bool done; /* all of them were read */
};

/* Reads as many of COUNT as can be read. */
typedef void go_read_function(void *context, struct go_read *reads, size_t count);

/* A go_read_function: CONTEXT is the process's number, a pid_t. */
void go_read_process(void *context, struct go_read *reads, size_t count);

/* What passes read, half a megabyte: for any number of processes, one pass at a time. */
struct go_room;

struct go_room *go_room_new(void);       /* NULL if there is no memory */
void go_room_free(struct go_room *room); /* NULL is fine */

struct go_remote;

/* BIAS is added to LAYOUT's addresses. ROOM is borrowed, and must outlive the go_remote. NULL if
   there is no memory. */
struct go_remote *go_remote_new(const struct go_layout *layout, uint64_t bias,
                                struct go_room *room);
void go_remote_free(struct go_remote *r); /* NULL is fine */

CLEANUP(go_room, struct go_room *, go_room_free)
CLEANUP(go_remote, struct go_remote *, go_remote_free)

/*
 * Looks at the goroutines once. *COUNT groups, valid until the next pass of any process that has
 * the same room; NULL: the list cannot be read, as before the runtime has begun.
 */
const struct go_group *go_remote_pass(struct go_remote *r, go_read_function *read, void *context,
                                      size_t *count);

/* Of the last pass: those in the runtime's list, ended ones too; and how many were looked at. */
uint64_t go_remote_listed(const struct go_remote *r);
uint32_t go_remote_looked(const struct go_remote *r);
