/* SPDX-License-Identifier: MIT */
/*
 * What the kernel lets us measure, found out by trying it on ourselves. For the main thread:
 * texts may be strerror()'s.
 */
#pragma once

#include <stdbool.h>

struct capability {
	int kernel_errno; /* perf_event_open() with kernel code: 0 or why not */
	int user_errno;   /* the same without kernel code */
};

struct capability capability_probe(void);

/* Why ERRNUM came back from perf_event_open(), in words, and what would change it. */
const char *capability_reason(int errnum);
const char *capability_remedy(int errnum, bool kernel);
