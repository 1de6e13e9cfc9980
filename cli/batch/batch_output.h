/* SPDX-License-Identifier: MIT */
/*
 * How a batch went, for people and for CI: a table, JUnit's XML, JSON.
 */
#pragma once

#include "cli/batch/batch_file.h"
#include "cli/batch/batch_run.h"

#include <stdio.h>

struct error;
struct terminal;

struct batch_output {
	const char *name; /* of the batch */
	const char *directory;
	const struct batch_job *jobs;
	const struct batch_result *results; /* of each job */
	size_t count;
};

/* -1 if there is no memory. */
int batch_print_table(const struct batch_output *o, const struct terminal *terminal, FILE *out,
                      struct error *err);

/* A test case for each command, with its profile and report as output. */
int batch_write_junit(const struct batch_output *o, const char *path, struct error *err);

/* bottleneck-batch(1) documents it. */
int batch_write_json(const struct batch_output *o, const char *path, struct error *err);
