// SPDX-License-Identifier: MIT
#include "cli/run/ending.h"

#include "base/stop.h"
#include "base/temporary.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static const struct {
	int number;
	const char *name;
} signals[] = {
	{ SIGINT, "SIGINT" },
	{ SIGQUIT, "SIGQUIT" },
	{ SIGTERM, "SIGTERM" },
	{ SIGHUP, "SIGHUP" },
};

static void handle(int number)
{
	if (!stop_is_wanted()) {
		stop_want(number);
		return;
	}
	temporary_remove_all();
	signal(number, SIG_DFL);
	raise(number); // blocked while this runs, it comes when this has returned
}

void ending_begin(void)
{
	// Without SA_RESTART: what waits for a reader of the report, or for a server, goes on.
	const struct sigaction handling = { .sa_handler = handle };
	struct sigaction now;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i].number, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaction(signals[i].number, &handling, NULL);
}

const char *ending_signal(void)
{
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (stop_signal() == signals[i].number)
			return signals[i].name;
	return NULL;
}
