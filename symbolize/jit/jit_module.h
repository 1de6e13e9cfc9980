/* SPDX-License-Identifier: MIT */
/*
 * Code that a process made at run time, from what its compiler has written
 * about it: a jitdump, else a perf map.
 */
#pragma once

#include "base/debug_status.h"
#include "symbolize/frame/frames.h"

#include <sys/types.h>

struct demangler;
struct error;
struct strings;

struct jit_search {
	pid_t pid;
	pid_t inner_pid;  /* in its own PID namespace; 0: unknown */
	uint64_t born_ns; /* CLOCK_REALTIME: older files are not its own; 0: unknown */
	int place;        /* open on its own /tmp; -1: it has ours, or that is not known */
	uid_t user;       /* whose process it is: files of others, but for root's, are ignored */
	const char *directory; /* where perf-PID.map is */
	const char *kept;      /* where one may be that comes first, by PID; NULL: nowhere */
	const char *dump;      /* path of the jitdump that the process mapped; NULL if unknown */
	int dump_fd;           /* the same, open; -1: by its path */
	struct strings *paths;
	struct demangler *names;
};

/* Adds what is known of ADDRESSES to FRAMES, and says so in STATUS, or which file was not taken.
 * -1 if there is no memory. */
int jit_module_resolve(const struct jit_search *search, const uint64_t *addresses, size_t count,
                       struct frames *frames, struct debug_status *status, struct error *err);
