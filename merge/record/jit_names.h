/* SPDX-License-Identifier: MIT */
/*
 * Has the run-time compilers in a program write the names of what they compile (--names).
 *
 *	Node   --perf-basic-prof, in NODE_OPTIONS: it writes /tmp/perf-PID.map as it compiles
 *	PHP    opcache.jit_debug, in a directory that PHP_INI_SCAN_DIR names: the same
 *	JVM    is asked now and then, see merge/record/jvm.h, by a thread of its own
 *
 * What a JVM has written is kept in a directory of ours, as code may be freed before the next
 * time; what is left in /tmp at the end is removed there, unless the user has asked for it without
 * us. The caller's thread never waits, but for the thread's end in jit_names_stop(): for some
 * seconds at most. The caller owns it; one thread at a time.
 */
#pragma once

#include "base/cleanup.h"

struct error;
struct jit_names;
struct modules;
struct notes;

/* ARGV is the program's. NULL on error. */
struct jit_names *jit_names_new(char *const *argv, struct error *err);
void jit_names_free(struct jit_names *n); /* NULL is fine */

CLEANUP(jit_names, struct jit_names *, jit_names_free)

/* In the child, before its exec: sets its environment. */
void jit_names_export(const struct jit_names *n);

/* Where what JVMs said is kept, as perf-PID.map: a directory. N's own. */
const char *jit_names_directory(const struct jit_names *n);

/* Now and then: processes of MODULES that have made code are asked from now on, if they are JVMs.
 */
void jit_names_look(struct jit_names *n, const struct modules *modules);

/* The program has ended: nobody is asked any more. NOTES get what could not be had. */
void jit_names_stop(struct jit_names *n, struct notes *notes);

/* All addresses have their names: removes the maps that the processes of MODULES have left. */
void jit_names_clean(const struct jit_names *n, const struct modules *modules);
