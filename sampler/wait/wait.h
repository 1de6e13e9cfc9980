/* SPDX-License-Identifier: MIT */
/*
 * Why a thread waits, by the system call or the kernel function it waits in.
 *
 * Two flat tables, the only place that knows names and numbers. Functions
 * without state.
 */
#pragma once

#include "base/metric.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How much a function of the kernel says. The higher rank wins, among equals the inner frame. */
enum wait_rank {
	WAIT_UNKNOWN = 0,
	WAIT_CALL = 1,     /* the system call it is in */
	WAIT_PLACE = 2,    /* the very thing it waits for: a pipe, a page of a file */
	WAIT_OVERRIDES = 3 /* whatever it was doing: a page fault, a stop signal */
};

/* What a system call's arguments say beyond its number. */
enum wait_detail {
	WAIT_PLAIN,
	WAIT_BY_DESCRIPTOR, /* the cause depends on what its first argument leads to */
	WAIT_EMPTY_SET_0, /* select: sleeps if its argument 0 says that there are no descriptors */
	WAIT_EMPTY_SET_1, /* poll: the same, argument 1 */
	WAIT_EPOLL        /* its argument 0 has the descriptors */
};

/* The descriptors that a thread waits for: of HOW, a system call's detail, with its arguments. */
struct wait_on {
	enum wait_detail how;
	uint64_t arguments[3];
};

struct wait {
	enum wait_rank rank;
	enum metric cause;
	enum wait_detail detail;
};

/* For calls by descriptor the cause is METRIC_OFF_FILE, unless something better is known. */
struct wait wait_of_call(int number);

/* NAME as in kallsyms, without its end. */
struct wait wait_of_function(const char *name, size_t length);

/*
 * Tells most names that wait_of_function() does not know from their first three
 * characters: for going through all names of a kernel.
 */
struct wait_filter {
	uint64_t bits[64];
};

void wait_filter_init(struct wait_filter *f);
bool wait_filter_passes(const struct wait_filter *f, const char *name, size_t length);

/* What reads and writes on a file of this st_mode wait for. */
enum metric wait_of_mode(mode_t mode);

/* The cause, once the first two arguments of the call are known. */
enum metric wait_with_arguments(struct wait wait, unsigned long argument0, unsigned long argument1);
