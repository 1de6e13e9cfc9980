/* SPDX-License-Identifier: MIT */
/*
 * The list of commands of "bottleneck batch": bottleneck-batch(5), parsed.
 *
 *	timeout = 600            what stands before the first section is for all of them
 *
 *	[solver]
 *	command = ./solver --size 300
 *	gate = CPU-LOCK
 *
 * It owns its texts. Bytes may be anything: what cannot be is an error that names the line. One
 * thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "cli/option.h"

#include <stddef.h>
#include <stdint.h>

struct error;

#define BATCH_JOBS_MAX   10000u
#define BATCH_REPEAT_MAX 1000u

struct batch_job {
	const char *name;               /* unique; fit for the name of a file */
	const char *command;            /* words as of a shell, cli/words.h */
	const char *options;            /* of bottleneck run, the same; NULL: none */
	const char *directory;          /* NULL: this one */
	struct option_list environment; /* NAME=VALUE */
	struct option_list gates;       /* of --fail-on */
	uint32_t repeat;                /* 1 or more */
	uint64_t timeout_ns;            /* 0: none */
	unsigned line;                  /* of its section */
};

struct batch_file {
	char *text; /* that the jobs point into */
	struct batch_job *jobs;
	size_t count, capacity;
};

/* NAME is for messages. NULL on error. */
struct batch_file *batch_file_parse(const char *name, const char *bytes, size_t size,
                                    struct error *err);
struct batch_file *batch_file_read(const char *path, struct error *err);
void batch_file_free(struct batch_file *file);

CLEANUP(batch_file, struct batch_file *, batch_file_free)

/* A number that changes whenever anything of what JOB runs, or how, does. */
uint64_t batch_job_fingerprint(const struct batch_job *job);
