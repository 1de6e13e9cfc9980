/* SPDX-License-Identifier: MIT */
/*
 * Profiles made from text, and a symbolizer that knows what they are made of.
 *
 *	add(&f, 1, METRIC_ON_CPU, 30, "main a.c:3 > work a.c:9 > memcpy@libc");
 *
 * A stack is written outermost first. A frame is a function, its file:line, the file that declares
 * it if the test is about that, and, after an @, its module if it is not "app"; a $ in the name of
 * a function is a space; "inl h.h:2|outer
 * a.c:9" is an inlined function in the one that it stands in. A frame in brackets is a mark
 * ("[kernel]", "[cut]", "[unknown]", "[gil]"), "?" code of no module, "?@libc" code without a name;
 * "%work a.c:3" was compiled without optimization; "<forward>" is an op, "{forward train.py:88}" a
 * Python function, "~name@lib" code of the interpreter at work for one; and a frame after an ! was
 * interrupted, as the innermost one always is.
 */
#pragma once

#include "base/code.h"
#include "base/op.h"
#include "merge/query/query.h"
#include "symbolize/symbolizer.h"

#define MS UINT64_C(1000000)

struct fake_code {
	char text[128];
	uint32_t module;
	uint64_t address; /* to look up */
	struct symbol symbols[4];
	uint32_t count;
};

struct symbolizer {
	struct fake_code *code;
	size_t count, capacity;
	unsigned resolved; /* batches */
	bool fails;
	struct debug_status status;
	char jitdumps[256]; /* that it was told of, each time: "PID PATH;" */
};

struct fixture {
	struct modules *modules;
	struct symbolizer symbolizer;
	struct profile *profile;
	struct ops *ops;
	struct codes *codes;
	uint64_t now_ns; /* of the next stack */
};

/* Starts a profile with process 1 "app" (pid 100) and its thread 1 "main" (tid 100), at 1 s. */
void fixture_init(struct fixture *f, const struct profile_limits *limits);
void fixture_fini(struct fixture *f);

/* One more process, or thread of a process; numbers are given by the test. */
void add_process(struct fixture *f, uint32_t process, uint32_t pid, const char *command);
void add_thread(struct fixture *f, uint32_t thread, uint32_t process, uint32_t tid,
                const char *name);

/* A stack of MS ms at now_ns. On-CPU: one sample, at that moment; else an interval. */
void add(struct fixture *f, uint32_t thread, enum metric metric, uint64_t ms, const char *stack);

/* THREAD was in STATE between these times, and then in NEXT; a wait is one for a lock. */
void add_span(struct fixture *f, uint32_t thread, uint64_t from_ms, uint64_t to_ms,
              enum thread_state state, enum thread_state next);

/* The id of the op of that name: NVTX's, in the domain that stands before a colon. */
uint32_t op_called(struct fixture *f, const char *name);

/* The frames of STACK, innermost first; how many. At most 64. */
uint32_t frames_of(struct fixture *f, const char *stack, struct frame *frames);

/* Names everything. */
void name_all(struct fixture *f);

/* "name self/total, …" in ms; in a static buffer that the next call overwrites. */
const char *rows_text(const struct rows *rows);
const char *ask(const struct fixture *f, const struct query *query);

/* "all 3/10 (main 2/7 (…), …)". In another static buffer. */
const char *tree_text(const struct call_tree *tree);
