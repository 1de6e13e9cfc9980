/* SPDX-License-Identifier: MIT */
/*
 * A system call that a signal of the target's has interrupted, and a tick that came before it.
 *
 * A tick that was due when the thread went to sleep comes when another signal wakes it, and before
 * that one's handler. By our SA_RESTART the kernel has then set the registers back to the call, and
 * the other finds no call to interrupt: read() would wait on, and ^C with it. So the tick ends the
 * call if the other's handler has no SA_RESTART.
 *
 * For handlers of ours, which block all that can wait; errno may change.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

typedef int wake_action_function(int number, const struct sigaction *action, struct sigaction *old);

enum wake_by {
	WAKE_UNKNOWN,
	WAKE_RESTARTS, /* or there is no such call */
	WAKE_INTERRUPTS
};

struct wake {
	enum wake_by by;
	uint64_t since_ns;
};

/* At the beginning of a tick in CONTEXT; ACTION is libc's sigaction(). */
struct wake wake_begin(const void *context, wake_action_function *action);

/*
 * At its end: CONTEXT is as the target's handler would leave it. OWN is the target's action for our
 * own signal. MAY_GUESS: if nothing tells whose signal it was, who has handlers that interrupt
 * calls is interrupted.
 */
void wake_end(struct wake wake, void *context, wake_action_function *action,
              const struct sigaction *own, bool may_guess);

/* The calling thread is about to run ACTION for a signal of the target's that is also ours. */
void wake_tell(const struct sigaction *action);

/* Whether ACTION runs a function. */
bool wake_handles(const struct sigaction *action);
