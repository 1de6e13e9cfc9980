// SPDX-License-Identifier: MIT
/*
 * Signals that are sent: whoever waits for one waits for who sends it.
 *
 * Whether the receiver waits is the collector's to know. Those to groups of processes are left
 * out: they end programs, and do not wake them.
 */
#include "tracer/agent/waits/waits_hooks.h"

#ifdef __x86_64__

#include <sys/syscall.h>

// Headers before Linux 5.1 do not have it.
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

#define IS_SENT(to, number) unlikely((to) > 0 && (number) > 0)

EXPORT int kill(pid_t to, int number)
{
	if (IS_SENT(to, number))
		waits_signal((uint32_t)to, 0);
	return waits_next.kill(to, number);
}

EXPORT int sigqueue(pid_t to, int number, union sigval value)
{
	if (IS_SENT(to, number))
		waits_signal((uint32_t)to, 0);
	return waits_next.sigqueue(to, number, value);
}

EXPORT int tgkill(pid_t process, pid_t to, int number)
{
	if (IS_SENT(to, number))
		waits_signal((uint32_t)to, HELD_TO_THREAD);
	return waits_next.tgkill(process, to, number);
}

static void send_to(pthread_t thread, int number)
{
	uint32_t to = number > 0 ? waits_tid_of(thread) : 0;

	if (to)
		waits_signal(to, HELD_TO_THREAD);
}

EXPORT int pthread_kill(pthread_t to, int number)
{
	send_to(to, number);
	return waits_next.pthread_kill(to, number);
}

EXPORT int pthread_sigqueue(pthread_t to, int number, union sigval value)
{
	send_to(to, number);
	return waits_next.pthread_sigqueue(to, number, value);
}

EXPORT int pidfd_send_signal(int to, int number, siginfo_t *info, unsigned flags)
{
	if (number > 0)
		waits_signal((uint32_t)to, HELD_TO_PIDFD);
	return waits_next.pidfd_send_signal(to, number, info, flags);
}

void waits_sent(long call, long first, long second, long third)
{
	int number = (int)(call == SYS_tgkill ? third : second);
	long to = call == SYS_tgkill ? second : first;

	// Who looks whether a process is there sends 0; the agent itself, in doubt, one to itself.
	if (number <= 0 || to < 0 || (uint32_t)to == waits_tid())
		return;
	waits_signal((uint32_t)to, call == SYS_tgkill              ? HELD_TO_THREAD
	                           : call == SYS_pidfd_send_signal ? HELD_TO_PIDFD
	                                                           : 0);
}

#endif
