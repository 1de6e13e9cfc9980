/* SPDX-License-Identifier: MIT */
/*
 * The private directory in which the agents leave their rings, and the
 * environment that leads them there. It is removed with all that is in it.
 *
 * Where root makes it, processes of the program that become another user can
 * write to it, too, by a name that nobody else knows.
 *
 * One thread at a time.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct session;

struct session_options {
	const char *library;   /* absolute path of libbottleneck-agent.so */
	uint32_t frequency_hz; /* for the agent */
	uint32_t stack_bytes;
	bool kernel_only;     /* user code is sampled from elsewhere */
	uint32_t python_hz;   /* for processes with a Python interpreter; 0: they are none apart */
	uint32_t ops;         /* providers that are on: bits 1 << enum op_provider */
	uint32_t ops_allowed; /* millionths of the program's time: see tracer/agent/config.h */
	bool count_calls;     /* of Python functions */
	const char *const *trace; /* patterns (tracer/agent/trace/pattern.h); borrowed for good */
	size_t trace_count;
	bool waits; /* for locks and other threads */
	uint32_t malloc_allowed;
	uint32_t malloc_bytes; /* of allocations for each that is sampled; 0: none are looked at */
	uint32_t gpu;          /* enum protocol_gpu of tracer/protocol.h */
	uint32_t launches;     /* the same: enum protocol_launches */
};

/* Makes the directory: ours alone, but see above. NULL on error. */
struct session *session_new(const struct session_options *options, struct error *err);
void session_free(struct session *s); /* NULL is fine */

CLEANUP(session, struct session *, session_free)

/* Its path, the session's own. */
const char *session_directory(const struct session *s);

/* Whether other users can write to it, if they know its path. */
bool session_is_open(const struct session *s);

/* What the agent is to record, as it reads it (tracer/agent/config.h): 256 bytes do. */
void session_config(const struct session *s, char *text, size_t size);

/*
 * Puts what the agent needs into the environment of the calling process: for the child, between
 * fork and exec. What stands in LD_PRELOAD stays there, behind ours; other injection libraries
 * of the user's are called by ours. -1 if there is no memory.
 */
int session_export(const struct session *s, struct error *err);
