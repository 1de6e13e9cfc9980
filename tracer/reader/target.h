/* SPDX-License-Identifier: MIT */
/*
 * Whether the agent can get into a program, which is asked before it is started, and whether it has
 * got into a process.
 *
 * The program is a foreign file: what it says is checked. Functions without state.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;

enum target_kind {
	TARGET_GLIBC = 1,  /* dynamic, glibc's loader: LD_PRELOAD works */
	TARGET_STATIC,     /* no loader */
	TARGET_OTHER_LIBC, /* another loader, such as musl's */
	TARGET_PRIVILEGED, /* setuid, setgid or with capabilities: the loader ignores LD_PRELOAD */
	TARGET_UNKNOWN     /* could not be read, or no program of this machine */
};

/*
 * Looks at the program that execvp() would run for COMMAND. Scripts are followed to their
 * interpreter.
 */
enum target_kind target_kind(const char *command);

/* Whether it is a Python interpreter, or has one in it from its start. */
bool target_has_python(const char *command);

/* Why the agent cannot get in, for people: "statically linked", …; "" for TARGET_GLIBC. */
const char *target_reason(enum target_kind kind);

/* Whether the agent is mapped in process PID; true also if that cannot be known. Reads all maps. */
bool target_has_agent(uint32_t pid);

/*
 * Whether PID was started with an environment that does not lead to an agent. False also if that
 * cannot be known.
 */
bool target_has_other_environment(uint32_t pid);

/*
 * Whether PID's user may not pass a directory on the way to the one in which agents of its run make
 * their files. False also if that cannot be known.
 */
bool target_is_shut_out(uint32_t pid);
