/* SPDX-License-Identifier: MIT */
/*
 * What the rows of an answer are about: functions, lines, files, modules, threads.
 *
 * Every frame of every location (a location has several where code was
 * inlined) belongs to one key, and to the key of its line if that is wanted too.
 * Ops have frames only where they are asked for: else they are as if not there.
 * Code without a name is one key for each module. For the files of merge/ alone.
 *
 * The profile is borrowed until keys_fini(). One thread at a time.
 */
#pragma once

#include "base/hash.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/selection.h"

struct error;

/* What rows of too short processes, of KEY_OURS, KEY_OUTSIDE and KEY_UNKNOWN are called. */
#define KEY_SHORT_NAME   "[too short to sample"
#define KEY_OURS_NAME    "[bottleneck]"
#define KEY_OUTSIDE_NAME "[outside user code]"
#define KEY_UNKNOWN_NAME "[stack not seen]"

enum key_group {
	KEY_CODE = 1,  /* function, line or file: as far as it is known */
	KEY_MODULE,    /* a module as a whole */
	KEY_NAMELESS,  /* code of a module that has no name, or no file */
	KEY_KERNEL,    /* the kernel, or its code that has no name */
	KEY_JIT,       /* generated code without names */
	KEY_NO_MODULE, /* code in no known mapping */
	KEY_TRUNCATED,
	KEY_UNKNOWN,
	KEY_SHORT,
	KEY_FOLDED,
	KEY_HIDDEN,  /* all frames were hidden */
	KEY_OUTSIDE, /* no frame is the user's code */
	KEY_THREAD,
	KEY_PROCESS,
	KEY_OP,
	KEY_NO_OP,  /* what was in no op */
	KEY_PYTHON, /* all of Python, by module */
	KEY_GIL,
	KEY_OURS,
	KEY_FAULT /* of the kernel, in its handler of page faults */
};

struct key {
	uint32_t group;    /* enum key_group */
	uint32_t function; /* string */
	uint32_t module;   /* module id; a slot by thread or process; an op's id */
	uint32_t file;     /* string; of a function: where it is declared, if that is known */
	uint32_t line;
	/* Not part of the identity: */
	bool kernel;
	bool inlined; /* always */
	bool python;
	bool called; /* a C function that Python has called */
	bool shared; /* made at run time, in any of several processes */
};

/* One frame of a location. */
struct key_frame {
	uint32_t key;  /* id in keys */
	uint32_t line; /* id in lines; 0 where those are not wanted */
	bool hidden;
	bool user;
	bool ours; /* KEY_OURS: where no caller is user code it stands for itself */
};

struct key_table {
	struct key *keys; /* [id - 1] */
	uint32_t count;
	size_t capacity;
	struct hash index;
};

struct keys {
	const struct profile *profile;
	struct key_table keys;
	struct key_table lines;
	struct key_frame *frames;
	uint32_t *
		first; /* [location - 1]: its first frame, the outermost; up to first of the next */
	uint32_t shared_jit; /* the module that stands for all of them, if several processes made
	                        code; else 0 */
	const struct keys *kept; /* those that these are a copy of, as long as they are kept; or
	                            NULL. What has been added since is not in it. */
};

/* Which locations have frames, and what is known of each. */
enum keys_wanted {
	KEYS_CODE = 1 << 0,
	KEYS_LINES = 1 << 1, /* of code */
	KEYS_OPS = 1 << 2
};

/* Sorts out the frames of P that are WANTED (enum keys_wanted) for QUERY. -1 if there is no memory.
 */
int keys_init(struct keys *keys, const struct profile *p, const struct query *query,
              unsigned wanted, struct error *err);
void keys_fini(struct keys *keys);

static inline void keys_at_scope_end(struct keys *keys)
{
	keys_fini(keys);
}

/* The id of KEY, added if it is new. 0 if there is no memory. */
uint32_t key_table_add(struct key_table *table, const struct key *key);

/* What KEY is called. New texts go to TEXTS. NULL if there is no memory. */
const char *key_name(const struct profile *p, const struct key *key, struct strings *texts);
const char *key_module(const struct profile *p, const struct key *key);

/* The same of a thread or a process, whose name is the string TEXT. */
const char *key_task_name(const struct profile *p, uint32_t text);
