/* SPDX-License-Identifier: MIT */
/*
 * From the sampler to the profile, with a list of who is still alive.
 */
#pragma once

#include "sampler/sampler.h"

#include <stddef.h>
#include <stdint.h>

struct profile;

struct live_process {
	uint32_t process; /* number */
	uint32_t pid;
	char name[32];
};

struct sink {
	struct profile *profile; /* borrowed */
	struct live_process *live;
	size_t live_count, live_capacity;
};

void sink_init(struct sink *sink, struct profile *profile);
void sink_fini(struct sink *sink);

/* The functions to give to sampler_new(); SINK must outlive the sampler. */
struct sampler_sink sink_functions(struct sink *sink);

/* How many processes other than MAIN_PID are running now; *NAME is the first one's, or "". */
uint32_t sink_count_running(const struct sink *sink, uint32_t main_pid, const char **name);
