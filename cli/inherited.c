// SPDX-License-Identifier: MIT
#include "cli/inherited.h"

static struct sigaction file_size; // as it was

void inherited_take(void)
{
	const struct sigaction ignoring = { .sa_handler = SIG_IGN };

	sigaction(SIGXFSZ, &ignoring, &file_size);
}

void inherited_restore(void)
{
	sigaction(SIGXFSZ, &file_size, NULL);
}

void inherited_defaults(sigset_t *set)
{
	if (file_size.sa_handler == SIG_DFL)
		sigaddset(set, SIGXFSZ);
}
