/* SPDX-License-Identifier: MIT */
/*
 * A library that a process has mapped: where it is, and where its functions are.
 *
 * The file is foreign: what it says is checked, and a wrong one has no functions. Owned by the
 * caller, from object_find() to object_fini(). One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct object_function {
	uint64_t start, size; /* as the file has it */
	const char *name;
};

struct object {
	char path[4096];           /* as the process has it; "" if there is none */
	uint64_t bias;             /* run-time address less the file's */
	uint64_t code, code_bytes; /* the first mapping of its code */
	uint64_t inode;
	bool deleted;
	struct object_function *functions;
	size_t count;
	char *names;
};

/* The first file that PID has code of and whose name, without its directory, IS_IT. False: none. */
bool object_find(struct object *o, pid_t pid, bool (*is_it)(const char *name));
void object_fini(struct object *o);

/* Whether a file that PID has code of, other than those that are LEFT_OUT, has a function NAME for
   others. True also if one of them cannot be read. */
bool object_any(pid_t pid, const char *name, bool (*left_out)(const char *name));

/* The run-time address of function NAME; 0 if it has none. */
uint64_t object_function(const struct object *o, const char *name);

/* What it calls the function at ADDRESS, which is as the file has it; NULL if that is unknown. */
const char *object_name(const struct object *o, uint64_t address);
