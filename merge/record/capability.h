/* SPDX-License-Identifier: MIT */
/*
 * What the kernel lets us measure, found out by trying it on ourselves. Why not is in
 * base/perf_refused.h.
 */
#pragma once

#include <stdbool.h>

struct capability {
	int kernel_errno; /* perf_event_open() with kernel code: 0 or why not */
	int user_errno;   /* the same without kernel code */
};

struct capability capability_probe(void);
