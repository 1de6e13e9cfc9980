/* SPDX-License-Identifier: MIT */
/*
 * Our one signal, beside whatever the target does with signals.
 *
 * The target may install a handler for the same signal, ask what is installed,
 * and block it: it gets the answers it would get without us, and signals that
 * are not our ticks reach its handler. The kernel always has ours, unblocked.
 * The functions named after libc's have its contract; REAL is libc's own.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

typedef int signals_action_function(int number, const struct sigaction *action,
                                    struct sigaction *old);
typedef int signals_mask_function(int how, const sigset_t *set, sigset_t *old);

/* Installs our handler and unblocks it in the calling thread. False: the agent stays off. */
bool signals_start(signals_action_function *real_action, signals_mask_function *real_mask);

/* The number of our signal; 0 before the start. */
int signals_number(void);

int signals_action(signals_action_function *real, int number, const struct sigaction *action,
                   struct sigaction *old);
int signals_mask(signals_mask_function *real, int how, const sigset_t *set, sigset_t *old);
