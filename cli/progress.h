/* SPDX-License-Identifier: MIT */
/*
 * One line on a terminal while something takes longer than a second; gone
 * without a trace when it is done. Nothing anywhere else. For one thread, which alone writes to the
 * terminal meanwhile; there is nothing to free.
 */
#pragma once

#include "cli/terminal.h"

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool wanted, shown;
	int width;
	uint64_t start_ns, last_ns;
};

/* T is of stderr. */
void progress_start(struct progress *p, const struct terminal *t);
/* For symbolizer_options: CONTEXT is the struct progress. */
void progress_tell(void *context, const char *what);
void progress_end(struct progress *p);
