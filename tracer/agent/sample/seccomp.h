/* SPDX-License-Identifier: MIT */
/*
 * Whether a seccomp filter lets the agent's own system calls pass.
 *
 * A program that installs a filter lists the system calls that it makes, and
 * ours are not among them: at the first one the kernel may end it. So the
 * filter, which is a program of classic BPF without loops, is asked about each
 * of ours before it is in force. What hangs on arguments that we do not know,
 * and what is no sound filter, counts as a refusal.
 */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seccomp_call {
	int number;
	unsigned known; /* bit i: args[i] is what it will be */
	uint64_t args[6];
};

/* What the COUNT instructions of PROGRAM make of CALL: SECCOMP_RET_*, with the data. False: that
   cannot be determined. */
bool seccomp_verdict(const struct sock_filter *program, size_t count,
                     const struct seccomp_call *call, uint32_t *verdict);

/* Whether the agent can go on under PROGRAM, refused a call here and there, but unharmed. */
bool seccomp_lets_us_be(const struct sock_filter *program, size_t count);
