// SPDX-License-Identifier: MIT
// bottleneck count: how many instructions a program executes, where; the same number every time.
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/report/counts.h"
#include "cli/report/display.h"
#include "cli/report/facts.h"
#include "cli/run/callgrind_run.h"
#include "cli/run/job.h"
#include "cli/state.h"
#include "cli/text/text.h"
#include "cli/words.h"
#include "merge/profile/counts.h"
#include "merge/profile/profile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TOP_DEFAULT 20

struct count_options {
	const char *file;         /* a count that was kept; NULL: the program is run */
	const char *baseline;     /* the same, to be taken away; NULL: none */
	const char *baseline_run; /* a command that is to be counted for that */
	const char *filter;
	struct option_list transforms;
	int by, sort;
	uint32_t top;
	bool noise, json;
	const char *output;
};

#define AT(field) offsetof(struct count_options, field)

static const char *const bys[] = { "function", "line", "file", "module", NULL };
static const char *const sorts[] = { "self", "total", NULL };

static const struct option_spec specs[] = {
	{ .name = "by",
	  .argument = "WHAT",
	  .kind = OPTION_CHOICE,
	  .offset = AT(by),
	  .choices = bys,
	  .help = "function, line, file or module" },
	{ .name = "sort",
	  .argument = "KEY",
	  .kind = OPTION_CHOICE,
	  .offset = AT(sort),
	  .choices = sorts,
	  .help = "self or total" },
	{ .letter = 'n',
	  .name = "top",
	  .argument = "N",
	  .kind = OPTION_NUMBER,
	  .offset = AT(top),
	  .min = 1,
	  .max = UINT32_MAX,
	  .help = "rows (20)" },
	{ .name = "filter",
	  .argument = "GLOB",
	  .kind = OPTION_TEXT,
	  .offset = AT(filter),
	  .help = "only functions of such names" },
	{ .name = "transform",
	  .argument = "FROM=TO",
	  .kind = OPTION_LIST,
	  .offset = AT(transforms),
	  .help = "this text in names and files is to be that" },
	{ .name = "noise",
	  .kind = OPTION_SWITCH,
	  .offset = AT(noise),
	  .help = "with the dynamic loader and other things that vary" },
	{ .name = "file",
	  .argument = "FILE",
	  .kind = OPTION_TEXT,
	  .offset = AT(file),
	  .help = "show a count that was kept; no program is run" },
	{ .name = "baseline",
	  .argument = "FILE",
	  .kind = OPTION_TEXT,
	  .offset = AT(baseline),
	  .help = "what differs from this count, which was kept" },
	{ .name = "baseline-run",
	  .argument = "CMD",
	  .kind = OPTION_TEXT,
	  .offset = AT(baseline_run),
	  .help = "what differs from this command, quoted as one word" },
	{ .letter = 'o',
	  .name = "output",
	  .argument = "FILE",
	  .kind = OPTION_TEXT,
	  .offset = AT(output),
	  .help = "keep the count here, not as the last run" },
	{ .name = "json", .kind = OPTION_SWITCH, .offset = AT(json), .help = "print JSON" },
};

/* A profile whose names of modules nobody else needs. */
struct counted {
	struct modules *modules; /* NULL: the profile was read, and has its own */
	struct profile *profile;
};

static void counted_at_scope_end(struct counted *c)
{
	profile_free(c->profile);
	modules_free(c->modules);
}

static int count(char *const *argv, struct counted *c, int *status, struct error *err)
{
	struct facts facts;
	struct job job;
	struct run run;

	c->modules = modules_new();
	c->profile = c->modules ? profile_new(c->modules, NULL, err) : NULL;
	if (!c->profile || facts_take(&facts, argv, &run) < 0)
		return error_set(err, ENOMEM, "could not start");
	int failed = job_open(&job, err);
	if (!failed) {
		failed = callgrind_run(argv, &job, c->profile, status, err);
		job_close(&job);
	}
	if (!failed) {
		run.wall_ns = clock_now_ns() - run.start_ns;
		run.exit_status = *status;
		run.complete = true;
		failed = profile_set_run(c->profile, &run, err);
	}
	facts_fini(&facts);
	return failed;
}

static int read_count(const char *path, struct counted *c, struct error *err)
{
	c->profile = profile_read(path, err);
	if (!c->profile)
		return -1;
	if (profile_has_counts(c->profile))
		return 0;
	return error_set(err, 0, "\"%s\" is no count of instructions", path);
}

static int count_baseline(const struct count_options *options, struct counted *c, struct error *err)
{
	wordexp_t words;
	int status;

	if (options->baseline)
		return read_count(options->baseline, c, err);
	if (!options->baseline_run)
		return 0;
	if (words_split(options->baseline_run, &words, err) < 0)
		return -1;
	int failed = count(words.we_wordv, c, &status, err);
	wordfree(&words);
	if (failed)
		error_wrap(err, "%s", options->baseline_run);
	return failed;
}

static int print_text(const struct text *text, const struct counts_shown *shown, struct error *err)
{
	cleanup(report) struct report r = text_report(text);
	const struct section *s = section_count_report(&r, shown, err);

	return s ? text_section(text, s, err) : -1;
}

static int print(const struct count_options *options, const struct display *display,
                 const struct counted *c, const struct counted *baseline, struct error *err)
{
	FILE *out = options->file || options->json ? stdout : stderr;
	const struct text text = {
		.out = out,
		.profile = c->profile,
		.terminal = display_terminal(display, out),
	};
	const struct counts_shown shown = {
		.query = { .by = (enum counts_by)options->by,
		           .sort = (enum counts_sort)options->sort,
		           .filter = options->filter,
		           .transforms = options->transforms.items,
		           .transform_count = options->transforms.count,
		           .noise = options->noise,
		           .baseline = baseline->profile },
		.baseline = options->baseline ? options->baseline : options->baseline_run,
		.top = options->top,
	};

	if ((options->json ? counts_json(c->profile, &shown.query, out, err)
	                   : print_text(&text, &shown, err)) < 0)
		return -1;
	return fflush(out) == 0 ? 0 : error_set(err, errno, "could not write the report");
}

static int save(const struct count_options *options, const struct profile *profile,
                struct error *err)
{
	char path[PATH_MAX];

	if (options->file)
		return 0;
	if (options->output)
		return profile_write(profile, options->output, err);
	if (state_prepare(path, sizeof(path), err) == 0 && profile_write(profile, path, err) == 0)
		return 0;
	message_error("count", err); // nobody has asked for a file
	return 0;
}

static int measure(const struct count_options *options, const struct display *display,
                   char *const *argv, int *status, struct error *err)
{
	cleanup(counted) struct counted counted = { 0 }, baseline = { 0 };

	if (count_baseline(options, &baseline, err) < 0)
		return -1;
	*status = 0;
	if ((options->file ? read_count(options->file, &counted, err)
	                   : count(argv, &counted, status, err)) < 0)
		return -1;
	if (print(options, display, &counted, &baseline, err) < 0)
		return -1;
	return save(options, counted.profile, err);
}

static int check(const struct count_options *options, char *const *argv, struct error *err)
{
	if (options->baseline && options->baseline_run)
		return error_set(err, 0, "--baseline and --baseline-run: one of them");
	for (size_t i = 0; i < options->transforms.count; i++) {
		const char *equals = strchr(options->transforms.items[i], '=');
		if (!equals || equals == options->transforms.items[i])
			return error_set(err, 0, "--transform takes FROM=TO, not \"%s\"",
			                 options->transforms.items[i]);
	}
	if (options->output && state_check_output(options->output, err) < 0)
		return -1;
	if (options->file && *argv)
		return error_set(err, 0, "--file shows a count: \"%s\" is too many", *argv);
	if (options->file || *argv)
		return 0;
	return command_no_program(&command_count, err);
}

static int run(int argc, char **argv)
{
	struct count_options options = { .top = TOP_DEFAULT };
	struct display display = { .color = COLOR_AUTO };
	const struct option_group groups[] = {
		{ "Count", specs, sizeof(specs) / sizeof(specs[0]), &options },
		display_options(&display),
	};
	struct error err;
	int status = -1;
	int first = option_parse(groups, 2, argc, argv, OPTION_OPERANDS_END, &err);

	if (first >= 0 && display.help)
		return command_help(&command_count, groups, 2);
	if (first < 0 || check(&options, argv + first, &err) < 0) {
		message_error("count", &err);
		return EXIT_OURS;
	}
	int failed = measure(&options, &display, argv + first, &status, &err);
	if (failed)
		message_error("count", &err);
	if (status >= 0 && WIFSIGNALED(status)) {
		job_die(WTERMSIG(status));
		return 128 + WTERMSIG(status); // that signal does not end a process here
	}
	if (status >= 0 && WEXITSTATUS(status))
		return WEXITSTATUS(status);
	return failed ? EXIT_OURS : 0;
}

const struct command command_count = {
	.name = "count",
	.usage = { "count [OPTIONS] [--] PROGRAM [ARGUMENT ...]" },
	.summary = "count the instructions of a program, by function and line",
	.run = run,
};
