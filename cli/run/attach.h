/* SPDX-License-Identifier: MIT */
/*
 * Processes that run already and are looked at for a while: -p.
 *
 *	attach_open() → recording_attach() → recording_start() → attach_collect()
 *	→ attach_let_go() → attach_close()
 *
 * They are neither stopped nor signalled, and nothing is put into them: what is read of them is in
 * /proc, in their memory and in the kernel's events. One at a time, in the main thread; the caller,
 * who opened it, closes it.
 */
#pragma once

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct facts;
struct recording;
struct run;

#define ATTACH_MAX 64 // processes that are named; their children do not count

struct attach {
	pid_t pids[ATTACH_MAX];
	int pidfds[ATTACH_MAX]; /* readable when it has ended; -1: that is known */
	size_t count;
	char list[ATTACH_MAX * 12]; /* "4711,4712" */
	char *command;              /* of the first, its words each ended by NUL */
	char **argv;                /* these words; ends with NULL */
	int signals;                /* readable when the user has had enough; -1: not open */
	sigset_t handled, old_mask;
};

/* LIST is "PID[,PID...]". -1 with what is wrong in ERR. */
int attach_open(struct attach *a, const char *list, struct error *err);

/* Signals do what they did before, and the processes are none of ours any more; what they run is
   known for as long as the recording asks for it, up to attach_close(). */
void attach_let_go(struct attach *a);
void attach_close(struct attach *a); /* zeroed, or after a failure, is fine */

/* As facts_take(), but of the first process: where and on which CPUs it runs. -1: no memory. */
int attach_facts(struct attach *a, struct facts *facts, struct run *run);

/* Why R's events were refused for one of A may be that it is another user's: ERR says so then. */
void attach_refused(const struct attach *a, struct error *err);

/* What can't be read of A's processes is noted in R's limits. After DURATION_NS (0: no limit), when
   the user sends SIGINT or SIGTERM, or when all of A have ended, R is ended. */
int attach_collect(struct attach *a, struct recording *r, uint64_t duration_ns, struct error *err);
