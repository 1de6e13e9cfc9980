/* SPDX-License-Identifier: MIT */
/*
 * What has passed in a batch, beside its profiles, so that the next one need not run it again.
 *
 * The file "batch.done" has a line for each command: its fingerprint (cli/batch/batch_file.h), the
 * runs, their median and their sum in nanoseconds, and its name; of lines with the same name the
 * last one counts. A line is written when its command has passed, and half a line, after a loss of
 * power, counts as none.
 */
#pragma once

#include <stdbool.h>

struct batch_job;
struct batch_result;
struct error;

/* Forgets all. -1 on error. */
int batch_done_clear(const char *directory, struct error *err);

/* RESULT's command has passed. -1 on error. */
int batch_done_add(const char *directory, const struct batch_job *job,
                   const struct batch_result *result, struct error *err);

/* Whether JOB has passed as it is now, and its profiles are there; RESULT is what is known then. */
bool batch_done_find(const char *directory, const struct batch_job *job,
                     struct batch_result *result);
