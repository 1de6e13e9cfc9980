/* SPDX-License-Identifier: MIT */
/*
 * Samples of one command, kept in memory: registers, stacks and address spaces,
 * as they were. Made for comparing unwinders; simple, not cheap.
 */
#pragma once

#include "base/module.h"
#include "sampler/event/event.h"
#include "sampler/unwind/address_space.h"

#include <stddef.h>
#include <stdint.h>

struct error;

#define CAPTURE_REFUSED (-2) /* perf_event_open is not allowed here */

struct capture_options {
	size_t samples_max;
	uint32_t frequency_hz;
	uint32_t stack_bytes;
};

struct captured_sample {
	struct event_sample sample;  /* its stack is owned */
	struct address_space *space; /* as it was then; owned by the capture */
};

struct capture {
	struct captured_sample *samples;
	size_t count, capacity;
	struct address_space **spaces; /* each different one once */
	size_t space_count, space_capacity;
};

/* Runs COMMAND to its end. -1 or CAPTURE_REFUSED on error. */
int capture_run(struct capture *capture, const struct capture_options *options,
                struct modules *modules, char **command, struct error *err);
void capture_fini(struct capture *capture);
