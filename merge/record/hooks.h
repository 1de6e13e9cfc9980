/* SPDX-License-Identifier: MIT */
/*
 * What the agent's hooks have taken of the target's time, by provider, as samples show it.
 *
 * The agent's file says which of its code is whose: each provider's is a section of its own
 * (tracer/hooks.ld.in). What several use is the one's whose hook called it. Where a linker knows no
 * such sections, hooks of ops are not told apart.
 */
#pragma once

#include "base/op.h"
#include "base/stack.h"

#include <stddef.h>
#include <stdint.h>

struct module;

#define HOOKS_SECTIONS_MAX 16

struct hook_section {
	uint64_t begin, end;
	uint32_t owner; /* enum op_provider */
};

/* Zeroed at first. */
struct hooks {
	uint64_t ns[OP_PROVIDERS_ALL]; /* [0]: of no provider */
	uint64_t cupti_ns;             /* in CUPTI, and by the threads that are there for it */
	bool read;                     /* the agent's file has been */
	size_t section_count;
	struct hook_section sections[HOOKS_SECTIONS_MAX];
};

/* A sample of NS fell into COUNT frames of AGENT's, innermost first: the program called the last.
 */
void hooks_add(struct hooks *h, const struct module *agent, const struct frame *frames,
               size_t count, uint64_t ns);

/* Of all providers of ops. */
uint64_t hooks_ops_ns(const struct hooks *h);
