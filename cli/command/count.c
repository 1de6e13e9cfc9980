// SPDX-License-Identifier: MIT
// bottleneck count: how many instructions a program executes, where; the same number every time.
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/bench/statement.h"
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

#define TOP_DEFAULT   20
#define CALLS_DEFAULT 100

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
	const char *statement, *versus; /* code; NULL: a program, none */
	const char *setup, *global, *python;
	bool cxx;
	uint32_t calls; /* of the statement */
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
	{ .name = "stmt",
	  .argument = "CODE",
	  .kind = OPTION_TEXT,
	  .offset = AT(statement),
	  .help = "count a call of this Python statement, not a program" },
	{ .name = "vs-stmt",
	  .argument = "CODE",
	  .kind = OPTION_TEXT,
	  .offset = AT(versus),
	  .help = "what differs from this statement" },
	{ .name = "setup",
	  .argument = "CODE",
	  .kind = OPTION_TEXT,
	  .offset = AT(setup),
	  .help = "run once before each statement, not counted" },
	{ .name = "calls",
	  .argument = "N",
	  .kind = OPTION_NUMBER,
	  .offset = AT(calls),
	  .min = 1,
	  .max = 100000000,
	  .help = "count so many calls of a statement (100)" },
	{ .name = "c++",
	  .kind = OPTION_SWITCH,
	  .offset = AT(cxx),
	  .help = "statements and setup are C++" },
	{ .name = "global",
	  .argument = "CODE",
	  .kind = OPTION_TEXT,
	  .offset = AT(global),
	  .help = "C++ before main(), such as #include lines" },
	{ .name = "python",
	  .argument = "PROGRAM",
	  .kind = OPTION_TEXT,
	  .offset = AT(python),
	  .help = "interpreter of statements (python3)" },
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

// NAMED is ARGV as the report has it.
static int count_as(char *const *named, char *const *argv, struct counted *c, int *status,
                    struct error *err)
{
	struct facts facts;
	struct job job;
	struct run run;

	c->modules = modules_new();
	c->profile = c->modules ? profile_new(c->modules, NULL, err) : NULL;
	if (!c->profile || facts_take(&facts, named, &run) < 0)
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

static int count(char *const *argv, struct counted *c, int *status, struct error *err)
{
	return count_as(argv, argv, c, status, err);
}

/* Statements: what some calls execute, less what one does. */

static struct statement statement_of(const struct count_options *options, const char *code)
{
	return (struct statement){ .code = code,
		                   .setup = options->setup ? options->setup : "",
		                   .global = options->global ? options->global : "",
		                   .language = options->cxx ? REPEAT_CXX : REPEAT_PYTHON,
		                   .threads = 1,
		                   .python = options->python ? options->python : "python3" };
}

static int count_calls(struct statement_process *p, const struct statement *s, uint64_t calls,
                       struct counted *c, int *status, struct error *err)
{
	char *const named[] = { (char *)s->code, NULL };
	char **command;
	struct job job;

	if (job_open(&job, err) < 0)
		return -1;
	command = statement_command(p, s, calls, &job, err);
	job_close(&job);
	if (!command)
		return -1;
	int failed = count_as(named, command, c, status, err);
	if (!failed && *status)
		failed = error_set(err, 0, "the statement failed: what it says is above");
	statement_free_command(command);
	return failed;
}

static int per_call(const struct counted *many, const struct counted *one, uint32_t calls,
                    double *each, struct error *err)
{
	const struct counts_query query = { .baseline = one->profile };
	cleanup(count_rows) struct count_rows *rows = query_counts(many->profile, &query, err);

	if (!rows)
		return -1;
	*each = ((double)rows->all - (double)rows->baseline_all) / calls;
	return 0;
}

// Counts CODE into C, and one call of it into ONE.
static int count_statement(const struct count_options *options, const char *code, struct counted *c,
                           struct counted *one, int *status, struct error *err)
{
	cleanup(statement_process) struct statement_process process = { 0 };
	struct statement statement = statement_of(options, code);

	if (count_calls(&process, &statement, 1, one, status, err) < 0)
		return -1;
	return count_calls(&process, &statement, options->calls + UINT64_C(1), c, status, err);
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
                 const struct counted *c, const struct counted *baseline,
                 const struct counts_calls *calls, struct error *err)
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
		.calls = calls,
	};

	if ((options->json ? counts_json(c->profile, &shown.query, calls, out, err)
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
	if (state_prepare(path, sizeof(path), err) == 0 &&
	    profile_write_unsynced(profile, path, err) == 0)
		return 0;
	message_error("count", err); // nobody has asked for a file
	return 0;
}

static int measure_statements(const struct count_options *options, const struct display *display,
                              int *status, struct error *err)
{
	cleanup(counted) struct counted many = { 0 }, one = { 0 }, others = { 0 }, other = { 0 };
	struct counts_calls calls = { .count = options->calls, .versus = options->versus };

	if (count_statement(options, options->statement, &many, &one, status, err) < 0)
		return -1;
	if (per_call(&many, &one, options->calls, &calls.each, err) < 0)
		return -1;
	if (options->versus) {
		if (count_statement(options, options->versus, &others, &other, status, err) < 0)
			return error_wrap(err, "--vs-stmt");
		if (per_call(&others, &other, options->calls, &calls.versus_each, err) < 0)
			return -1;
	}
	if (print(options, display, &many, options->versus ? &others : &one, &calls, err) < 0)
		return -1;
	return save(options, many.profile, err);
}

static int measure(const struct count_options *options, const struct display *display,
                   char *const *argv, int *status, struct error *err)
{
	cleanup(counted) struct counted counted = { 0 }, baseline = { 0 };

	*status = 0;
	if (options->statement)
		return measure_statements(options, display, status, err);
	if (count_baseline(options, &baseline, err) < 0)
		return -1;
	if ((options->file ? read_count(options->file, &counted, err)
	                   : count(argv, &counted, status, err)) < 0)
		return -1;
	if (print(options, display, &counted, &baseline, NULL, err) < 0)
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
	bool others = options->versus || options->setup || options->global || options->python ||
	              options->cxx;
	if (!options->statement && others)
		return error_set(err, 0,
		                 "--vs-stmt, --setup, --c++, --global and --python are for "
		                 "--stmt");
	if (options->statement && (options->file || options->baseline || options->baseline_run))
		return error_set(err, 0,
		                 "--file, --baseline and --baseline-run are for programs: "
		                 "--stmt has --vs-stmt");
	if (options->global && !options->cxx)
		return error_set(err, 0, "--global is for --c++");
	if (options->statement)
		return *argv ? error_set(err, 0, "--stmt counts statements: \"%s\" is too many",
		                         *argv)
		             : 0;
	if (options->file && *argv)
		return error_set(err, 0, "--file shows a count: \"%s\" is too many", *argv);
	if (options->file || *argv)
		return 0;
	return command_no_program(&command_count, err);
}

static int run(int argc, char **argv)
{
	struct count_options options = { .top = TOP_DEFAULT, .calls = CALLS_DEFAULT };
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
	.usage = { "count [OPTIONS] [--] PROGRAM [ARGUMENT ...]",
	           "count [OPTIONS] --stmt CODE [--vs-stmt CODE]" },
	.summary = "count instructions of a program or a statement, by function and line",
	.run = run,
};
