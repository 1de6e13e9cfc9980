/* SPDX-License-Identifier: MIT */
/*
 * Providers as the rest of the agent sees them: what each has to do when something becomes of the
 * process.
 *
 * Each provider of base/providers.def that has hooks of its own defines NAME_provider, a constant
 * that lives as long as the process; provider.c has the list of them, in the order in which they
 * start. A member that is NULL is not called. None of this is on the way of an op: the program
 * calls hooks, and these call op/op.h, directly.
 *
 * Errno is kept where the member says so, else its caller in wrap/ keeps it.
 */
#pragma once

#include "base/provider.h"

#include <stdbool.h>
#include <stdint.h>

struct agent;
struct detour_stubs;
struct dl_phdr_info;
struct loaded;

struct agent_provider {
	/* The program has begun, in its only thread mostly; A lives as long as the process. */
	void (*start)(struct agent *a);

	/*
	 * Somebody asks the loader for symbol NAME: that is when new libraries are there, and their
	 * code is about to be called. Any thread; not for handlers. Keeps errno.
	 */
	void (*look)(const char *name);

	/* The calling thread is about to make another one. Not for handlers. Keeps errno. */
	void (*before_thread)(void);

	/* Whether it is the provider's own business for which CALLER (an instruction) makes one. */
	bool (*owns)(uintptr_t caller);

	/* A fork comes, in the thread that forks; it is over there, whether it failed or not; and
	   in the child, which has this thread alone. */
	void (*before_fork)(void);
	void (*after_fork)(void);
	void (*fork)(void);

	/*
	 * The process is about to become another program, and did not. The first returns whether
	 * the second is to be called. Async-signal-safe, and for children of vfork(), in their
	 * parent's memory.
	 */
	bool (*before_exec)(void);
	void (*exec_failed)(void);

	/* The process ends at once, by _exit(): no destructor runs. A vfork child's, too. */
	void (*exit)(void);

	/* The process ends, or the agent is about to be off for good. */
	void (*end)(void);

	/*
	 * The agent leaves a process that goes on: what calls into it from elsewhere is taken
	 * back. Beside running threads; not for handlers.
	 */
	void (*leave)(void);

	/*
	 * The agent is off, in a process that goes on or in a child that was forked from one that
	 * it had joined: functions of ours that are called nevertheless forward at once.
	 * Async-signal-safe.
	 */
	void (*idle)(void);

	/*
	 * An OBJECT has come, which INFO describes: before its code is called, mostly. The loader's
	 * lock is held. Possibly before start().
	 */
	void (*bind)(struct dl_phdr_info *info, const struct loaded *object);

	/*
	 * Of functions whose names begin with PREFIX: the one of ours that stands in front of
	 * FOUND, which a library that the program has loaded itself has under NAME; else FOUND.
	 * NULL: none.
	 */
	const char *prefix;
	void *(*choose)(const char *name, void *found);

	/* The program sets what is done with a signal. In handlers, too. Keeps errno. */
	void (*before_action)(void);

	/* The process lets itself be traced from now on: no tick that its tracer would see. */
	void (*before_traced)(void);

	/* The functions it stands in front of by detours (op/detour.h). */
	struct detour_stubs *stubs;
};

/* The list; NULL is behind the last. */
extern const struct agent_provider *const agent_providers[];

/* All that is said above, to each; providers_end() and providers_exit() from the last to the first.
 */
void providers_start(struct agent *a);
void providers_look(const char *name);
void providers_before_thread(void);
bool providers_own(uintptr_t caller);
void providers_before_fork(void);
void providers_after_fork(void);
void providers_fork(void);
uint32_t providers_before_exec(void); /* whose exec_failed() there will be: bits, by the list */
void providers_exec_failed(uint32_t whose);
void providers_bind(struct dl_phdr_info *info, const struct loaded *object);
void providers_before_action(void);
void providers_before_traced(void);
void providers_exit(void);
void providers_end(void);
void providers_leave(void);
void providers_idle(void);

/* The one that stands in front of functions whose names begin as NAME does; NULL: nobody. */
const struct agent_provider *providers_in_front(const char *name);
