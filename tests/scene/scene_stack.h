/* SPDX-License-Identifier: MIT */
/*
 * What a scene (tests/scene/scene.c) has written down, made ready for an unwinder.
 */
#pragma once

#include "base/cleanup.h"
#include "base/module.h"
#include "base/stack.h"
#include "sampler/event/event.h"
#include "sampler/unwind/address_space.h"
#include "scene/scene_process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scene_stack {
	struct scene_process process; /* alive, its stack unchanged */
	struct modules *modules;
	struct address_space *space;
	struct event_sample sample; /* the whole stack; its bytes are owned */
	struct frame *expected;     /* innermost first; run-time addresses, no modules */
	size_t expected_count, expected_capacity;
	uint64_t vdso; /* where it is mapped; 0: nowhere */
};

/* NULL if there is no such program (not built here). */
struct scene_stack *scene_stack_new(const char *program, const char *name, const char *argument);
void scene_stack_free(struct scene_stack *scene);

CLEANUP(scene_stack, struct scene_stack *, scene_stack_free)

/* The run-time address of a frame in the scene. */
uint64_t scene_stack_address(const struct scene_stack *scene, struct frame frame);
