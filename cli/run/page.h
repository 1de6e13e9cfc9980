/* SPDX-License-Identifier: MIT */
/*
 * The report of a run, made in a thread of its own while the profile is written.
 *
 * Both only read the profile, which nobody may change from page_start() to
 * page_print(). The functions are for one thread.
 */
#pragma once

#include "base/error.h"
#include "cli/text/text.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct page {
	struct text text;
	FILE *out;
	char *bytes; /* what has been made */
	size_t size;
	pthread_t thread;
	bool threaded;
	int failed;
	struct error error;
};

/* Starts to make PROFILE's report as VIEW and LIMITS (may be NULL) want it, for OUT. */
void page_start(struct page *page, const struct profile *profile, const struct view *view,
                const struct rule_limits *limits, FILE *out);

/*
 * Waits for the report and prints it with LAST (NULL: none) as its last line, all in one write,
 * so that nothing else gets between its lines.
 */
int page_print(struct page *page, const char *last, struct error *err);
