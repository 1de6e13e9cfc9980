// SPDX-License-Identifier: MIT
#include "base/stop.h"

#include <signal.h>
#include <stddef.h>

static int wanted; // atomic

void stop_want(int signal)
{
	int none = 0;

	__atomic_compare_exchange_n(&wanted, &none, signal, false, __ATOMIC_RELAXED,
	                            __ATOMIC_RELAXED);
}

int stop_signal(void)
{
	return __atomic_load_n(&wanted, __ATOMIC_RELAXED);
}

const char *stop_signal_name(void)
{
	switch (stop_signal()) {
	case 0:
		return NULL;
	case SIGINT:
		return "SIGINT";
	case SIGQUIT:
		return "SIGQUIT";
	case SIGTERM:
		return "SIGTERM";
	case SIGHUP:
		return "SIGHUP";
	default:
		return "a signal";
	}
}
