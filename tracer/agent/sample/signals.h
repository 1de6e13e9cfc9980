/* SPDX-License-Identifier: MIT */
/*
 * Our signals, beside whatever the target does with signals.
 *
 * One comes from CPU-time timers, one (SIGTRAP) from a perf event of the process's own. The target
 * may install handlers for the same signals, ask what is installed, and block them: it gets the
 * answers it would get without us, and signals that are not our ticks reach its handlers, or wait
 * as long as it blocks them. The kernel always has ours, unblocked. The functions named after
 * libc's have its contract; REAL is libc's own.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

enum signals_kind {
	SIGNALS_TIMER,
	SIGNALS_TRAP,
	SIGNALS_KINDS
};

typedef int signals_action_function(int number, const struct sigaction *action,
                                    struct sigaction *old);
typedef int signals_mask_function(int how, const sigset_t *set, sigset_t *old);

/*
 * Installs our handler and unblocks its signal in the calling thread; once started, nothing more.
 * False: there are no ticks of this kind to be had.
 */
bool signals_start(enum signals_kind kind, signals_action_function *real_action,
                   signals_mask_function *real_mask);

/*
 * FUNCTION is called where the target is to get a SIGTRAP that it has blocked: while that waits, no
 * other one can. In handlers. Before traps are started.
 */
void signals_when_waited_for(void (*function)(void));

/* The number of our signal; 0 before its start. */
int signals_number(enum signals_kind kind);

/* Whether NUMBER is one of ours. */
bool signals_is_ours(int number);

/* What a perf event's sig_data must be for its SIGTRAPs to be ours. */
uint64_t signals_trap_mark(void);

int signals_action(signals_action_function *real, int number, const struct sigaction *action,
                   struct sigaction *old);
int signals_mask(signals_mask_function *real, int how, const sigset_t *set, sigset_t *old);
