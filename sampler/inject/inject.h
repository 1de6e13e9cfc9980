/* SPDX-License-Identifier: MIT */
/*
 * The agent in a process that runs already.
 *
 * One of its threads is stopped where it holds none of libc's locks and is made to call dlopen()
 * and the agent's own PROTOCOL_JOIN (tracer/protocol.h), see hijack.h. The process has our code in
 * it from then on. inject_leave() has it take back all but the library and an empty reservation of
 * address space for each thread that had ops. No state is kept here. Any thread, which these keep
 * until they are done: seconds at the worst.
 */
#pragma once

#include <sys/types.h>

struct error;

/*
 * LIBRARY: the absolute path of the agent's. DIRECTORY and CONFIG are for the agent. -1 with ERR:
 * the process is as it was, but for a library in it that does nothing, if the agent refused.
 */
int inject_join(pid_t pid, const char *library, const char *directory, const char *config,
                struct error *err);

/* 0 also if the process has ended. -1 with ERR: the agent is still there, or what it has mapped. */
int inject_leave(pid_t pid, const char *library, struct error *err);
