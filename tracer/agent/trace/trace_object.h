/* SPDX-License-Identifier: MIT */
/*
 * The functions of one object in memory that --trace asks for, led to the agent.
 *
 * The loader's lock must be held. One thread at a time.
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent;
struct patterns;

struct trace_object {
	uintptr_t start, end; /* all that it has mapped */
	uint64_t name;        /* hash of its path */
	bool seen;            /* by the look under way */
	void *stubs;          /* near it; NULL: none of its functions is traced */
	size_t stub_bytes;
};

struct trace_patcher {
	const struct agent *agent;
	const struct patterns *patterns;
	bool safe; /* no thread can be running the object's code */
};

/* Looks through the object that INFO describes, which lies at PATH, and patches what is wanted. */
void trace_object_patch(const struct trace_patcher *p, const struct dl_phdr_info *info,
                        const char *path, struct trace_object *object);

/* Its memory has gone. */
void trace_object_forget(struct trace_object *object);

/* Makes the loader's own hook at ADDRESS, in the object of INFO, call trace_functions[0]. */
bool trace_object_hook(const struct dl_phdr_info *info, uintptr_t address);
