/* SPDX-License-Identifier: MIT */
/*
 * The processed profile format of the Firefox Profiler, version FIREFOX_VERSION, which later
 * viewers upgrade: what its parts share.
 *
 * The format keeps tables as columns: an object of arrays of one length. Texts are numbers of one
 * list, which is written last. Times are milliseconds since the start of the run.
 */
#pragma once

#include "cli/report/answers.h"

#include "base/strings.h"
#include "cli/json.h"

#include <stddef.h>
#include <stdint.h>

struct exporting;

#define FIREFOX_VERSION 58

/* In this order in the list of categories; the first grey one is what nothing else is. */
enum firefox_category {
	FIREFOX_OTHER,
	FIREFOX_PYTHON,
	FIREFOX_NATIVE,
	FIREFOX_KERNEL,
	FIREFOX_OP,
	FIREFOX_WAITING,
	FIREFOX_GPU,
	FIREFOX_CATEGORIES
};

/* A row of the timeline: a thread, or a stream of a GPU. */
struct firefox_track {
	const struct stack_thread *stacks; /* NULL: it has none */
	uint32_t thread, stream;           /* of the reader; 0: it is the other one */
	size_t first_marker, markers;      /* in struct firefox_markers */
};

/* Processes by number: those of other hosts may have the same, and are "4711.1" and so on. */
struct firefox_owner {
	uint32_t pid, slot;
};

struct firefox {
	const struct exporting *e;
	struct json *j;
	struct strings *texts, *modules, *files;
	bool failed; /* there was no memory for a text */
	const struct stacks *stacks;
	const struct stack_times *times;
	struct firefox_owner *owners;
	size_t owner_count, owner_capacity;
};

/* The number of TEXT in the list; that of "" if there is no memory, see failed. */
uint32_t firefox_text(struct firefox *f, const char *text);

/* A column with the same LENGTH times. */
enum firefox_same {
	FIREFOX_NULL,
	FIREFOX_FALSE,
	FIREFOX_ZERO,
	FIREFOX_MINUS_ONE
};
void firefox_put_same(struct json *j, const char *key, size_t length, enum firefox_same what);

/* The frames, functions, stacks and samples of a thread of stacks. */
int firefox_put_stacks(struct firefox *f, const struct stack_thread *thread, struct error *err);

/* The same of what has no samples, from BEGIN_NS to END_NS. */
void firefox_put_no_stacks(struct firefox *f, uint64_t begin_ns, uint64_t end_ns);
