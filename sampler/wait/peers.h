/* SPDX-License-Identifier: MIT */
/*
 * Who is at the other end of a pipe or of a socket: processes of the run that hold it, as /proc
 * and, for Unix sockets, the kernel's socket diagnostics tell.
 *
 * What was found is kept for a moment, so that asking at every wait costs little. One thread at a
 * time.
 */
#pragma once

#include "base/cleanup.h"
#include "sampler/wait/wait.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEERS_MAX 8

struct peers;

struct peer_end {
	uint64_t inode;       /* of the pipe, or of the other socket */
	uint64_t descriptors; /* tells sets of them apart, by their numbers */
	bool outside; /* one of several is a socket that no process of the run has the other end of
	               */
	uint32_t count; /* more than PEERS_MAX are not told */
	uint32_t pids[PEERS_MAX];
};

/* Calls VISIT for each process that may hold it. */
typedef void peers_each(void *context, void (*visit)(void *data, uint32_t pid), void *data);

struct peers *peers_new(void);    /* NULL if there is no memory */
void peers_free(struct peers *p); /* NULL is fine */

CLEANUP(peers, struct peers *, peers_free)

/* The processes other than PID at the other ends of the descriptors ON which a thread of PID waits;
   of several the inode is that of the first one that a process holds. False if none is a pipe or
   socket, or nothing can be seen of them. */
bool peers_find(struct peers *p, uint32_t pid, const struct wait_on *on, uint64_t now_ns,
                peers_each *each, void *context, struct peer_end *end);
