/* SPDX-License-Identifier: MIT */
/*
 * Where processes in other PID namespaces introduce themselves.
 *
 * An agent there connects to a socket in the run's directory and says by which numbers its files
 * know it (tracer/protocol.h); the kernel says which process that is by the collector's numbers,
 * even if it has ended by now. A door owns its socket, not DIRECTORY. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct door;

/* What a process has said of itself, and what the kernel has. */
struct visitor {
	uint32_t pid_namespace, pid;
	uint32_t parent_pid; /* in that namespace; 0: outside of it */
	uint64_t image_ns;
	uint32_t outer; /* its pid for the collector */
	uid_t user;
};

/* Opens one in DIRECTORY. Where that cannot be, nobody comes. NULL: no memory. */
struct door *door_open(int directory);
void door_close(struct door *d); /* NULL is fine; the socket's file stays */

CLEANUP(door, struct door *, door_close)

/* Lets in who has come. */
void door_listen(struct door *d);

/* The last visitor of USER's that has the numbers of WANTED; an image of 0 is any. Who has come in
   the meantime is let in. False if there is none. */
bool door_find(struct door *d, const struct visitor *wanted, uid_t user, struct visitor *found);
