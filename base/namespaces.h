/* SPDX-License-Identifier: MIT */
/*
 * The namespaces in which a process counts its processes and its time, and what else sets it apart.
 *
 * A process in a PID namespace of its own knows itself and its threads by other numbers than those
 * outside, and in a time namespace CLOCK_MONOTONIC is shifted. Functions without state.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct namespaces {
	uint32_t pid;         /* inode of the PID namespace; 0: unknown */
	int64_t monotonic_ns; /* what CLOCK_MONOTONIC is ahead of the machine's; 0 if unknown */
};

/* Of the calling process. Async-signal-safe, keeps errno. */
void namespaces_read(struct namespaces *out);

/* A process or thread in /proc/PID/status, from the outermost visible namespace to its own. */
struct namespace_pids {
	uint32_t parent;       /* PPid: in the reader's namespace; 0: outside of it */
	uint32_t outer, inner; /* NSpid: the first and the last number */
	uint32_t depth;        /* how many numbers there are: 1 in the reader's own namespace */
};

/* TEXT is the file's. False if it is not of that form. */
bool namespaces_parse_pids(const char *text, struct namespace_pids *out);

/* How many seccomp filters the process of that file is under: it inherits its parent's, and can
   only add to them. NAMESPACES_FILTERS_UNKNOWN where the kernel (before 5.9) does not say. */
#define NAMESPACES_FILTERS_UNKNOWN UINT32_MAX
uint32_t namespaces_parse_filters(const char *text);

/* The same of the calling process. Async-signal-safe, keeps errno. */
uint32_t namespaces_read_filters(void);

/* TEXT is that of /proc/PID/timens_offsets. False if it is not of that form. */
bool namespaces_parse_offset(const char *text, int64_t *monotonic_ns);
