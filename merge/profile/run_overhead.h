/* SPDX-License-Identifier: MIT */
/*
 * The part of the target's CPU time that profiling has taken.
 */
#pragma once

#include "merge/profile/profile.h"

static inline uint64_t run_inside_ns(const struct run *run)
{
	return run->handlers_ns + run->hooks_ops_ns + run->hooks_memory_ns + run->hooks_waits_ns +
	       run->hooks_cupti_ns + run->setup_ns + run->kernel_ns;
}

/* What the target would have taken, of CPU_NS with profiling; at least a tenth, as the parts are
   estimates. */
static inline uint64_t run_bare_ns(const struct run *run, uint64_t cpu_ns)
{
	uint64_t inside = run_inside_ns(run);

	return inside < cpu_ns - cpu_ns / 10 ? cpu_ns - inside : cpu_ns / 10;
}
