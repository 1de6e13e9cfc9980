/* SPDX-License-Identifier: MIT */
/*
 * What the agent's hooks have taken of the target's time, by provider, as samples show it.
 *
 * The agent's file says which of its code is whose: each provider's is a section of its own
 * (tracer/hooks.ld.in). What several use is the one's whose hook called it. Where a linker knows no
 * such sections, hooks of ops are not distinguished.
 */
#pragma once

#include "base/op.h"
#include "base/stack.h"

#include <stddef.h>
#include <stdint.h>

struct module;
struct modules;

#define HOOKS_SECTIONS_MAX 16
#define HOOKS_SETUP        OP_PROVIDERS_ALL /* the owner of what it does at a start, a fork and an end */

struct hook_section {
	uint64_t begin, end;
	uint32_t owner; /* enum op_provider */
};

#define HOOKS_CALLEES 64 /* a power of two */

/* Whether code at an address that the agent has called is a service of libc's to it. */
struct hook_callee {
	uint64_t address;
	uint32_t module; /* 0: none */
	bool serves;
};

/* Zeroed at first. */
struct hooks {
	uint64_t ns[OP_PROVIDERS_ALL + 1]; /* [0]: of no provider; [HOOKS_SETUP] */
	/* Of OP_WAITS, in functions that stand in front of libc's and leave by a jump: mostly the
	   delay of the lock's word, which the program would have met within libc. */
	uint64_t stalls_ns;
	uint64_t cupti_ns; /* in CUPTI, and by the threads that are there for it */
	bool read;         /* the agent's file has been */
	size_t section_count;
	struct hook_section sections[HOOKS_SECTIONS_MAX];
	struct hook_callee callees[HOOKS_CALLEES];
	struct hook_callee entries[HOOKS_CALLEES]; /* SERVES: it is such a function's */
};

/*
 * How many of the COUNT frames, innermost first, are the agent's and of what it has called for
 * itself; 0: none. What the program calls goes through the agent to the function of libc that it
 * means, which is the program's: so it goes by what is called, and by where in the agent.
 */
size_t hooks_depth(struct hooks *h, const struct modules *modules, uint32_t agent,
                   const struct frame *frames, size_t count);

/* A sample of NS fell into COUNT frames of AGENT's, innermost first: the program called the last.
 */
void hooks_add(struct hooks *h, const struct module *agent, const struct frame *frames,
               size_t count, uint64_t ns);

/* Of all, with CUPTI. */
uint64_t hooks_all_ns(const struct hooks *h);

/* Of all providers of ops. */
uint64_t hooks_ops_ns(const struct hooks *h);
