/* SPDX-License-Identifier: MIT */
/*
 * The TCP connections of a network namespace, and which two sockets are the ends of one, from
 * /proc/PID/net/tcp and tcp6 (proc(5)).
 *
 * To write those files the kernel walks through all of its connections' table, which takes 1 to 20
 * ms. What a socket is connected to never changes, so the files are read again only for a socket
 * that was not there, or whose other end had not been accepted yet. The
 * caller owns it and frees it. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connections;

struct connections *connections_new(void);    /* NULL if there is no memory */
void connections_free(struct connections *c); /* NULL is fine */

CLEANUP(connections, struct connections *, connections_free)

/* The inode of the socket to which the socket INODE of the process PID is connected, or until that
   is accepted, of the one that listens for it; 0: it is no connected socket, or its other end is
   not in PID's network namespace, or if *KNOWN is false, that is not known by now: the socket may
   be younger than what was read. NOW_NS is CLOCK_MONOTONIC. */
uint64_t connections_peer(struct connections *c, uint32_t pid, uint64_t inode, uint64_t now_ns,
                          bool *known);

/* Adds the lines of TEXT, which is such a file, to what is known. For tests. */
void connections_add(struct connections *c, const char *text);

/* Of what has been added: as connections_peer(). *SETTLED: it will stay so. For tests. */
uint64_t connections_find(struct connections *c, uint64_t inode, bool *settled);
