// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "base/new_file.h"
#include "cli/command.h"
#include "cli/export/exports.h"
#include "cli/file_name.h"
#include "cli/inherited.h"
#include "cli/message.h"
#include "cli/rank.h"
#include "cli/report/cut.h"
#include "cli/report/gate.h"
#include "cli/run/ending.h"
#include "cli/run/page.h"
#include "cli/run/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// The report's place is found out before the program runs, not after hours of it.
static FILE *open_report(const struct run_options *options, struct error *err)
{
	const char *path = options->report_file;
	cleanup_close int fd = -1;
	FILE *file;

	if (!path)
		return stderr;
	if (strcmp(path, "-") == 0)
		return stdout;
	fd = new_file_open_in_place(path, options->view.shared ? 0666 : 0600);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file) {
		error_set(err, errno == ELOOP ? 0 : errno, "could not write \"%s\"%s", path,
		          errno == ELOOP ? ": it is a symbolic link of another user" : "");
		return NULL;
	}
	steal_fd(&fd);
	return file;
}

// After the target's end nothing may change its status any more but gates that were asked for:
// troubles are only told. Returns what gates say.
static int conclude(struct recording *r, const struct rule_limits *limits, FILE *report)
{
	bool wanted = !r->options->no_report;
	struct page page;
	struct error err;

	ending_begin();
	job_close(&r->job);
	if (recording_symbolize(r, &err) < 0)
		message_error(NULL, &err);
	if (wanted)
		page_start(&page, r->profile, &r->options->view, limits, report);
	if (recording_save(r, &err) < 0)
		message_error(NULL, &err);
	// A report in a file is to equal the one that the profile prints later.
	const char *kept = report == stderr && r->kept[0] ? r->kept : NULL;
	if (wanted && page_print(&page, kept, &err) < 0)
		message_error(NULL, &err);
	if (ending_signal() && r->options->view.exports.count)
		message_warn("%s came: no file is exported. bottleneck report --export does so",
		             ending_signal());
	else if (exports_write(r->profile, &r->options->view, limits, &err) < 0)
		message_error(NULL, &err);
	struct view view = r->options->view;
	int status = cut_resolve(&view, r->profile, &err);
	if (status == 0)
		status = gate_status(r->profile, &view, limits, &err);
	if (status >= 0)
		return status;
	message_error(NULL, &err);
	return EXIT_INCONCLUSIVE;
}

static int record(struct recording *r, const struct rule_limits *limits, FILE *report)
{
	struct error err;
	int status = EXIT_OURS;

	if (recording_start(r, &status, &err) < 0 || recording_wait(r, &err) < 0) {
		message_error(NULL, &err);
		return status;
	}
	int gate = conclude(r, limits, report);
	int ended = r->collector.run.exit_status;
	if (WIFSIGNALED(ended)) {
		recording_close(r);
		job_die(WTERMSIG(ended));
		return 128 + WTERMSIG(ended); // that signal does not end a process here
	}
	return WEXITSTATUS(ended) ? WEXITSTATUS(ended) : gate;
}

// Names that differ from rank to rank, filled in.
struct names {
	char output[PATH_MAX], report[PATH_MAX];
	char exports[OPTION_LIST_MAX][PATH_MAX];
};

static int fill_names(struct names *names, struct run_options *options, struct error *err)
{
	struct rank rank = rank_now();

	if (options->output) {
		if (file_name_fill(options->output, false, &rank, names->output,
		                   sizeof(names->output), err) < 0)
			return -1;
		options->output = names->output;
	}
	if (options->report_file) {
		if (file_name_fill(options->report_file, false, &rank, names->report,
		                   sizeof(names->report), err) < 0)
			return -1;
		options->report_file = names->report;
	}
	for (size_t i = 0; i < options->view.exports.count; i++) {
		const char **item = &options->view.exports.items[i];
		if (file_name_fill(*item, true, &rank, names->exports[i], sizeof(names->exports[i]),
		                   err) < 0)
			return -1;
		*item = names->exports[i];
	}
	return exports_check(&options->view, false, err);
}

// Where there is no rank, there are no others that could be looked at instead.
static bool is_wanted(const struct run_options *options)
{
	struct rank rank = rank_now();
	struct error err;

	return !options->ranks || !rank.known || rank_in_list(options->ranks, rank.number, &err);
}

// As if we had never been there.
static int run_unprofiled(char **argv)
{
	struct error err;

	inherited_restore();
	execvp(argv[0], argv);
	int status = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
	error_set(&err, errno, "could not run \"%s\"", argv[0]);
	message_error(NULL, &err);
	return status;
}

static int run(int argc, char **argv)
{
	// Once a process, and larger than the stack may be: ulimit -s.
	static struct run_options options;
	static struct names names;
	static struct recording recording;
	struct error err;

	if (run_options_parse(&options, argc, argv, &err) < 0) {
		message_error(NULL, &err);
		return EXIT_OURS;
	}
	if (options.view.display.help) {
		printf("usage: bottleneck %s\n", command_run.usage[0]);
		run_options_help(stdout);
		return 0;
	}
	if (options.version) {
		printf("bottleneck %s\n", BOTTLENECK_VERSION);
		return 0;
	}
	cleanup(rule_limits) struct rule_limits *limits = gate_limits(&options.view, &err);
	if (limits && !is_wanted(&options))
		return run_unprofiled(options.argv);
	if (limits && fill_names(&names, &options, &err) < 0) {
		message_error(NULL, &err);
		return EXIT_OURS;
	}
	cleanup_fclose FILE *report = limits ? open_report(&options, &err) : NULL;
	if (!report || recording_open(&recording, &options, &err) < 0) {
		message_error(NULL, &err);
		return EXIT_OURS;
	}
	int status = record(&recording, limits, report);
	recording_close(&recording);
	return status;
}

const struct command command_run = {
	.name = "run",
	.usage = { "[run] [OPTIONS] [--] PROGRAM [ARGUMENT ...]" },
	.summary = "run a program once and report what made it slow",
	.run = run,
};
