// SPDX-License-Identifier: MIT
// bottleneck batch: many commands, one after the other, each with a profile and a report.
#include "base/cleanup.h"
#include "base/error.h"
#include "base/format.h"
#include "base/path.h"
#include "cli/batch/batch_file.h"
#include "cli/batch/batch_output.h"
#include "cli/batch/batch_run.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/report/display.h"
#include "cli/run/job.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// What has passed in a batch, beside its profiles, so that the next one need not run it again.
//
// The file "batch.done" has a line for each command: its fingerprint (cli/batch/batch_file.h), the
// runs, their median and their sum in nanoseconds, and its name; of lines with the same name the
// last one counts. A line is written when its command has passed, and half a line, after a loss of
// power, counts as none.

#define LINE_BYTES 512

static FILE *open_list(const char *directory, const char *mode, struct error *err)
{
	char path[PATH_MAX];
	FILE *list = NULL;

	if (snprintf(path, sizeof(path), "%s/batch.done", directory) < (int)sizeof(path))
		list = fopen(path, mode);
	else
		errno = ENAMETOOLONG;
	if (!list)
		error_set(err, errno, "could not write \"%s/batch.done\"", directory);
	return list;
}

// Forgets all. -1 on error.
static int batch_done_clear(const char *directory, struct error *err)
{
	cleanup_fclose FILE *list = open_list(directory, "we", err);

	return list ? 0 : -1;
}

// RESULT's command has passed. -1 on error.
static int batch_done_add(const char *directory, const struct batch_job *job,
                          const struct batch_result *result, struct error *err)
{
	FILE *list = open_list(directory, "ae", err);

	if (!list)
		return -1;
	fprintf(list, "%016" PRIx64 " %u %" PRIu64 " %" PRIu64 " %s\n", batch_job_fingerprint(job),
	        result->runs, result->wall_ns, result->sum_ns, job->name);
	if (fclose(list) == 0)
		return 0;
	return error_set(err, errno, "could not write \"%s/batch.done\"", directory);
}

static bool has_profiles(const char *directory, const struct batch_job *job)
{
	char path[PATH_MAX];

	for (uint32_t i = 1; i <= job->repeat; i++) {
		int length = job->repeat > 1 ? snprintf(path, sizeof(path), "%s/%s.%u.bneck",
		                                        directory, job->name, i)
		                             : snprintf(path, sizeof(path), "%s/%s.bneck",
		                                        directory, job->name);
		if (length >= (int)sizeof(path) || access(path, R_OK) < 0)
			return false;
	}
	return true;
}

// Whether LINE is about the command NAME; then its numbers.
static bool parse_done(const char *line, const char *name, uint64_t *fingerprint,
                       struct batch_result *result)
{
	int at = 0;

	return sscanf(line, "%16" SCNx64 " %" SCNu32 " %" SCNu64 " %" SCNu64 " %n", fingerprint,
	              &result->runs, &result->wall_ns, &result->sum_ns, &at) == 4 &&
	       at && strncmp(line + at, name, strlen(name)) == 0 &&
	       strcmp(line + at + strlen(name), "\n") == 0;
}

// Whether JOB has passed as it is now, and its profiles are there; RESULT is what is known then.
static bool batch_done_find(const char *directory, const struct batch_job *job,
                            struct batch_result *result)
{
	struct error ignored;
	cleanup_fclose FILE *list = open_list(directory, "re", &ignored);
	uint64_t fingerprint, found = 0;
	char line[LINE_BYTES];

	while (list && fgets(line, sizeof(line), list)) {
		struct batch_result one = { .outcome = BATCH_PASSED, .kept = true };
		if (!parse_done(line, job->name, &fingerprint, &one))
			continue;
		found = fingerprint;
		*result = one;
	}
	return found && found == batch_job_fingerprint(job) && has_profiles(directory, job);
}

struct batch_options {
	const char *output, *junit, *json;
	bool keep_going, resume;
};

#define AT(field) offsetof(struct batch_options, field)

static const struct option_spec specs[] = {
	{ .letter = 'o',
	  .name = "output",
	  .argument = "DIR",
	  .kind = OPTION_TEXT,
	  .offset = AT(output),
	  .help = "put profiles and reports here (FILE.runs)" },
	{ .letter = 'k',
	  .name = "keep-going",
	  .kind = OPTION_SWITCH,
	  .offset = AT(keep_going),
	  .help = "go on after a command that did not pass" },
	{ .name = "resume",
	  .kind = OPTION_SWITCH,
	  .offset = AT(resume),
	  .help = "leave out what has passed before and has not changed since" },
	{ .name = "junit",
	  .argument = "XML",
	  .kind = OPTION_TEXT,
	  .offset = AT(junit),
	  .help = "write JUnit's XML here" },
	{ .name = "json",
	  .argument = "JSON",
	  .kind = OPTION_TEXT,
	  .offset = AT(json),
	  .help = "write the results as JSON here" },
};

// A line on stderr when a command begins and when it has ended: a batch may take hours.
static void tell(const struct batch_job *job, const struct batch_result *result)
{
	const struct terminal terminal = terminal_of(stderr, 0, COLOR_NEVER);

	terminal_print(&terminal, stderr, "%s: %s%s%s%s", job->name,
	               result->kept ? "passed before" : batch_outcome_name(result->outcome),
	               result->runs ? ", " : "",
	               result->runs ? format_duration(result->wall_ns).text : "",
	               *result->message ? ": see below" : "");
	fputc('\n', stderr);
}

static int run_one(struct batch_runner *runner, const struct batch_options *options,
                   const struct batch_job *job, struct batch_result *result, struct error *err)
{
	if (options->resume && batch_done_find(runner->directory, job, result)) {
		tell(job, result);
		return 0;
	}
	batch_run(runner, job, result);
	tell(job, result);
	if (result->outcome != BATCH_PASSED)
		return 0;
	return batch_done_add(runner->directory, job, result, err);
}

static int run_all(struct batch_runner *runner, const struct batch_options *options,
                   const struct batch_file *file, struct batch_result *results, struct error *err)
{
	if (!options->resume && batch_done_clear(runner->directory, err) < 0)
		return -1;
	for (size_t i = 0; i < file->count && !runner->stopped_by; i++) {
		if (run_one(runner, options, &file->jobs[i], &results[i], err) < 0)
			return -1;
		if (results[i].outcome != BATCH_PASSED && !options->keep_going)
			return 0;
	}
	return 0;
}

static int write_all(const struct batch_output *o, const struct batch_options *options,
                     const struct display *display, struct error *err)
{
	struct terminal terminal = display_terminal(display, stdout);

	if (batch_print_table(o, &terminal, stdout, err) < 0)
		return -1;
	if (options->junit && batch_write_junit(o, options->junit, err) < 0)
		return -1;
	if (options->json && batch_write_json(o, options->json, err) < 0)
		return -1;
	return fflush(stdout) == 0 ? 0 : error_set(err, errno, "could not write the summary");
}

static int worst(const struct batch_result *results, size_t count)
{
	const struct batch_result *worst = &results[0];

	for (size_t i = 1; i < count; i++)
		if (results[i].outcome > worst->outcome)
			worst = &results[i];
	return worst->status;
}

static int work(const struct batch_options *options, const struct display *display,
                const char *path, const struct batch_file *file, const char *directory,
                struct error *err)
{
	struct batch_runner runner;
	cleanup_free struct batch_result *results = calloc(file->count, sizeof(*results));

	if (!results)
		return error_set(err, ENOMEM, "could not start");
	if (batch_runner_open(&runner, directory, err) < 0)
		return -1;
	struct batch_output output = {
		.name = path_base(path),
		.directory = directory,
		.jobs = file->jobs,
		.results = results,
		.count = file->count,
	};
	// What was done is told in any case.
	struct error late;
	int failed = run_all(&runner, options, file, results, err);
	if (write_all(&output, options, display, failed ? &late : err) < 0)
		failed = -1;
	if (runner.stopped_by) {
		batch_runner_close(&runner);
		job_die(runner.stopped_by);
	}
	batch_runner_close(&runner);
	return failed ? -1 : worst(results, file->count);
}

// Before anything runs, not after hours of it.
static int check(const char *path, const struct batch_file *file, struct error *err)
{
	for (size_t i = 0; i < file->count; i++)
		if (batch_check(&file->jobs[i], err) < 0)
			return error_wrap(err, "\"%s\", line %u", path, file->jobs[i].line);
	return 0;
}

// The same of what is written at the end.
static int check_output(const char *path, struct error *err)
{
	cleanup_close int fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;

	return path && fd < 0 ? error_set(err, errno, "could not write \"%s\"", path) : 0;
}

static int batch(const struct batch_options *options, const struct display *display,
                 const char *path, struct error *err)
{
	cleanup(batch_file) struct batch_file *file = batch_file_read(path, err);
	cleanup_free char *directory = NULL;

	if (!file || check(path, file, err) < 0 || check_output(options->junit, err) < 0 ||
	    check_output(options->json, err) < 0)
		return -1;
	const char *stem = strcmp(path, "-") == 0 ? "batch" : path_base(path);
	if (options->output)
		directory = strdup(options->output);
	else if (asprintf(&directory, "%s.runs", stem) < 0)
		directory = NULL;
	if (!directory)
		return error_set(err, ENOMEM, "could not start");
	return work(options, display, path, file, directory, err);
}

static int parse(struct batch_options *options, struct display *display, int argc, char **argv,
                 struct error *err)
{
	const struct option_group groups[] = {
		{ "Batch", specs, sizeof(specs) / sizeof(specs[0]), options },
		display_options(display),
	};
	int first = option_parse(groups, 2, argc, argv, OPTION_OPERANDS_MIX, err);

	if (first < 0)
		return -1;
	if (display->help) {
		command_help(&command_batch, groups, 2);
		return first;
	}
	if (argv[first] && !argv[first + 1])
		return first;
	error_set(err, 0, "one file of commands is to be named");
	return error_hint(err, "bottleneck-batch(5) describes it.");
}

static int run(int argc, char **argv)
{
	struct batch_options options = { 0 };
	struct display display = { .color = COLOR_AUTO };
	struct error err;
	int first = parse(&options, &display, argc, argv, &err);

	if (first >= 0 && display.help)
		return 0;
	int status = first < 0 ? -1 : batch(&options, &display, argv[first], &err);
	if (status >= 0)
		return status;
	message_error("batch", &err);
	return EXIT_OURS;
}

const struct command command_batch = {
	.name = "batch",
	.usage = { "batch [OPTIONS] FILE" },
	.summary = "run many commands, each with its own profile and report",
	.run = run,
};
