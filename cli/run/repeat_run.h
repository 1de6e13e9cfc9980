/* SPDX-License-Identifier: MIT */
/*
 * One run of a command that is measured from outside, by its end and by what the kernel has
 * counted: nothing is put into it.
 *
 * Its stdin is /dev/null, so that each run reads the same; so are stdout and stderr, unless they
 * are to be shown, or all three are to be ours. Signals and job control are those of a profiled run
 * (cli/run/job.h).
 */
#pragma once

#include <stdbool.h>

struct error;
struct job;
struct repeat;

struct repeat_run {
	char *const *argv;
	bool show_output;
	bool own_streams; /* it keeps all three of ours */
	struct job *job;  /* borrowed, open */
};

enum repeat_end {
	REPEAT_ENDED,
	REPEAT_DISTURBED /* it was stopped and continued: its time means nothing */
};

/*
 * Runs it and fills in status, wall_ns, user_ns, system_ns and peak_rss_bytes of REPEAT. Returns an
 * enum repeat_end; -1, with err->errnum set, if it could not be started.
 */
int repeat_run(const struct repeat_run *run, struct repeat *repeat, struct error *err);
