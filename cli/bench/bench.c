// SPDX-License-Identifier: MIT
// bottleneck bench: a command many times, unprofiled, alone or beside another one.
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/format.h"
#include "base/op.h"
#include "base/temporary.h"
#include "cli/bench/bench_statements.h"
#include "cli/bench/statement.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/option.h"
#include "cli/report/display.h"
#include "cli/report/facts.h"
#include "cli/report/repeats_json.h"
#include "cli/run/job.h"
#include "cli/run/repeat_run.h"
#include "cli/state.h"
#include "cli/text/text.h"
#include "cli/whole.h"
#include "cli/words.h"
#include "merge/profile/profile.h"
#include "merge/profile/repeats.h"
#include "merge/query/query_ops.h"
#include "merge/query/query_repeats.h"
#include "merge/record/machine.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// How long the calls of one op take within a run: the command is run under "bottleneck run", for
// its ops alone, and asked for the op. A range is its caller's, for one thread; closing it removes
// the profile.

struct bench_range {
	const char *glob;                /* of the op's name; borrowed, as TRACE */
	const struct option_list *trace; /* functions that are to be ops */
	char path[PATH_MAX];             /* the profile of the last run; "" if there is none */
};

#define SELF "/proc/self/exe"

// -1 if there is no place for a profile.
static int bench_range_open(struct bench_range *range, const char *glob,
                            const struct option_list *trace, struct error *err)
{
	const char *directory = getenv("TMPDIR");
	int length = snprintf(range->path, sizeof(range->path), "%s/bottleneck-bench-XXXXXX",
	                      directory && *directory ? directory : "/tmp");

	range->glob = glob;
	range->trace = trace;
	setenv(OP_EMPTY_ENV, "1", 1); // for the agent of the runs
	int fd = length < (int)sizeof(range->path) ? mkstemp(range->path) : -1;
	if (fd < 0) {
		range->path[0] = '\0';
		error_set(err, errno, "could not make a temporary file");
		return error_hint(err, "Name another directory in TMPDIR.");
	}
	close(fd);
	temporary_add(range->path);
	return 0;
}

static void bench_range_close(struct bench_range *range)
{
	if (range->path[0]) {
		unlink(range->path);
		temporary_forget(range->path);
	}
	range->path[0] = '\0';
}

// The command that runs ARGV so: fresh, ends with NULL, its words are borrowed. NULL on error.
static char **bench_range_command(const struct bench_range *range, char *const *argv,
                                  struct error *err)
{
	// One sample a second: the calls of ops are what counts, and they are exact without.
	static const char *const head[] = { SELF,  "run",         "--no-report",  "--no-off-cpu",
		                            "-F1", "--no-malloc", "--budget=none" };
	size_t heads = sizeof(head) / sizeof(head[0]), count = 0, words = 0;

	while (argv[words])
		words++;
	char **command = calloc(heads + 2 * range->trace->count + 3 + words + 1, sizeof(*command));
	if (!command) {
		error_set(err, ENOMEM, "could not make the command");
		return NULL;
	}
	for (size_t i = 0; i < heads; i++)
		command[count++] = (char *)head[i];
	for (size_t i = 0; i < range->trace->count; i++) {
		command[count++] = "--trace";
		command[count++] = (char *)range->trace->items[i];
	}
	command[count++] = "-o";
	command[count++] = (char *)range->path;
	command[count++] = "--";
	for (size_t i = 0; i < words; i++)
		command[count++] = argv[i];
	return command;
}

static int too_many(const char *glob, const struct op_row *a, const struct op_row *b,
                    struct error *err)
{
	error_set(err, 0, "\"%s\" means several ops, as \"%s\" and \"%s\"", glob, a->name, b->name);
	return error_hint(err, "Name one of them with --range.");
}

static int none(const char *glob, const struct op_rows *rows, struct error *err)
{
	error_set(err, 0, "the program has no op \"%s\"", glob);
	if (rows->count)
		return error_hint(err,
		                  "It has %zu others, as \"%.100s\"; bottleneck --ops shows "
		                  "them. Functions become ops with --trace.",
		                  rows->count, rows->rows[0].name);
	return error_hint(err, "It has none at all. Functions become ops with --trace.");
}

static const struct op_row *find_empty(const struct op_rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->rows[i].name, name) == 0 && rows->rows[i].median_ns)
			return &rows->rows[i];
	return NULL;
}

static bool is_empty(const struct op_row *row)
{
	return strcmp(row->name, OP_EMPTY) == 0 || strcmp(row->name, OP_EMPTIES) == 0 ||
	       strcmp(row->name, OP_EMPTY_PYTHON) == 0;
}

static bool is_called_in_python(const struct op_row *row)
{
	size_t length = row->file ? strlen(row->file) : 0;

	return length > 3 && strcmp(row->file + length - 3, ".py") == 0;
}

// What recording adds to the median of FOUND's calls, by the empty ranges of the same run: once for
// the op itself, and as a whole for each op within it.
static int take_cost(const struct profile *profile, const struct op_rows *rows,
                     const struct op_row *found, struct repeat *repeat, struct error *err)
{
	const struct op_row *empty = find_empty(rows, OP_EMPTY), *own = empty;
	const struct op_row *row = find_empty(rows, OP_EMPTIES);
	const struct op_row *python = find_empty(rows, OP_EMPTY_PYTHON);
	bool ours = strcmp(found->provider, op_provider_name(OP_API)) == 0;
	double within = query_ops_within(profile, found, err);

	if (within < 0)
		return -1;
	if (!empty || !row)
		return 0;
	repeat->cost = strcmp(found->provider, op_provider_name(OP_TORCH)) == 0 ||
	                               strcmp(found->provider, op_provider_name(OP_TRACE)) == 0 ||
	                               is_called_in_python(found)
	                       ? REPEAT_COST_PART
	                       : REPEAT_COST_WHOLE;
	// C code in the same program may have ranges, too: far shorter than one of Python's can be.
	if (ours && python && 2 * found->median_ns > python->median_ns) {
		own = python;
		repeat->cost = within > 0 ? REPEAT_COST_PART : REPEAT_COST_WHOLE;
	}
	uint64_t whole_ns = row->median_ns > empty->median_ns
	                            ? (row->median_ns - empty->median_ns) / OP_EMPTY_ROW
	                            : 0;
	repeat->cost_ns = own->median_ns + (uint64_t)(within * (double)whole_ns + 0.5);
	if (repeat->cost_ns > repeat->call_ns)
		repeat->cost_ns = repeat->call_ns;
	repeat->call_ns -= repeat->cost_ns;
	return 0;
}

// Fills in calls, calls_ns, call_ns and what recording has cost of the run that has just ended. -1
// if the glob means no op or several, for then there is no one time of a call.
static int bench_range_read(const struct bench_range *range, struct repeat *repeat,
                            struct error *err)
{
	const struct op_query query = { .by = OPS_BY_OP, .sort = OPS_SORT_TOTAL };
	cleanup(profile) struct profile *profile = profile_read(range->path, err);
	cleanup(op_rows) struct op_rows *rows = profile ? query_ops(profile, &query, err) : NULL;
	const struct op_row *found = NULL;

	if (!rows)
		return -1;
	for (size_t i = 0; i < rows->count; i++) {
		const struct op_row *row = &rows->rows[i];
		if (!row->calls || is_empty(row) || fnmatch(range->glob, row->name, 0) != 0)
			continue;
		if (found)
			return too_many(range->glob, found, row, err);
		found = row;
	}
	if (!found)
		return none(range->glob, rows, err);
	repeat->calls = found->calls;
	repeat->calls_ns = found->total_ns;
	repeat->call_ns = found->median_ns ? found->median_ns : found->average_ns;
	return take_cost(profile, rows, found, repeat, err);
}

#define SIDES_MAX    16
#define RUNS_LEAST   10 // of each command, however long they take
#define MIN_TIME_NS  (3 * NS_PER_SEC)
#define STATEMENT_NS NS_PER_SEC
#define REDRAW_NS    (100 * NS_PER_MS)

struct bench_options {
	uint32_t runs;        /* of each command; 0: as many as MIN_TIME takes */
	uint64_t min_time_ns; /* 0: MIN_TIME_NS, of statements STATEMENT_NS */
	uint32_t warmup;
	struct option_list versus;
	const char *range; /* NULL: whole runs */
	struct option_list trace;
	struct statements statements;
	bool show_output, ignore_failure, json;
	const char *output;
};

#define AT(field) offsetof(struct bench_options, field)

static const struct option_spec specs[] = {
	{ .letter = 'n',
	  .name = "runs",
	  .argument = "N",
	  .kind = OPTION_NUMBER,
	  .offset = AT(runs),
	  .min = 1,
	  .max = REPEATS_MAX / SIDES_MAX,
	  .help = "of each command, exactly" },
	{ .name = "min-time",
	  .argument = "SECONDS",
	  .kind = OPTION_SECONDS,
	  .offset = AT(min_time_ns),
	  .help = "that each command runs for in all, in ten runs or more (3; a statement: 1)" },
	{ .name = "warmup",
	  .argument = "N",
	  .kind = OPTION_NUMBER,
	  .offset = AT(warmup),
	  .min = 0,
	  .max = 10000,
	  .help = "runs of each command before, which do not count (0)" },
	{ .name = "vs",
	  .argument = "COMMAND",
	  .kind = OPTION_LIST,
	  .offset = AT(versus),
	  .help = "in turns with this one, quoted as one word" },
	{ .name = "stmt",
	  .argument = "CODE",
	  .kind = OPTION_LIST,
	  .offset = AT(statements.codes),
	  .help = "measure calls of this Python statement, not a program" },
	{ .name = "vs-stmt",
	  .argument = "CODE",
	  .kind = OPTION_LIST,
	  .offset = AT(statements.versus),
	  .help = "in turns with this statement" },
	{ .name = "setup",
	  .argument = "CODE",
	  .kind = OPTION_TEXT,
	  .offset = AT(statements.setup),
	  .help = "run once, untimed, before each statement" },
	{ .name = "sweep",
	  .argument = "NAME=LIST",
	  .kind = OPTION_LIST,
	  .offset = AT(statements.sweeps),
	  .help = "measure statements with each value of a variable, as n=64,256" },
	{ .name = "num-threads",
	  .argument = "LIST",
	  .kind = OPTION_TEXT,
	  .offset = AT(statements.threads),
	  .help = "threads of libraries, a column each (statements: 1)" },
	{ .name = "adaptive",
	  .argument = "PCT",
	  .kind = OPTION_PERCENT,
	  .offset = AT(statements.adaptive_percent),
	  .help = "measure statements until the IQR is below this percentage, for 10 s at most" },
	{ .name = "c++",
	  .kind = OPTION_SWITCH,
	  .offset = AT(statements.cxx),
	  .help = "statements and setup are C++" },
	{ .name = "global",
	  .argument = "CODE",
	  .kind = OPTION_TEXT,
	  .offset = AT(statements.global),
	  .help = "C++ before main(), such as #include lines" },
	{ .name = "python",
	  .argument = "PROGRAM",
	  .kind = OPTION_TEXT,
	  .offset = AT(statements.python),
	  .help = "interpreter of statements (python3)" },
	{ .name = "range",
	  .argument = "NAME",
	  .kind = OPTION_TEXT,
	  .offset = AT(range),
	  .help = "measure the calls of this op, not the whole run" },
	{ .name = "trace",
	  .argument = "FUNC",
	  .kind = OPTION_LIST,
	  .offset = AT(trace),
	  .help = "make each call of a function of this name an op, for --range" },
	{ .name = "show-output",
	  .kind = OPTION_SWITCH,
	  .offset = AT(show_output),
	  .help = "of the commands, which else goes to /dev/null" },
	{ .name = "ignore-failure",
	  .kind = OPTION_SWITCH,
	  .offset = AT(ignore_failure),
	  .help = "go on after a run that fails; it does not count" },
	{ .letter = 'o',
	  .name = "output",
	  .argument = "FILE",
	  .kind = OPTION_TEXT,
	  .offset = AT(output),
	  .help = "keep the times here, not as the last run" },
	{ .name = "json", .kind = OPTION_SWITCH, .offset = AT(json), .help = "print JSON" },
};

/* One of the commands that are compared. */
struct side {
	char *const *argv; /* as it was given */
	char **command;    /* as it is run: ARGV, or with bottleneck in front of it */
	uint32_t number;   /* in the profile */
	uint64_t sum_ns;   /* of its runs that count */
	uint32_t runs;     /* that count */
	uint32_t tries;
};

struct bench {
	const struct bench_options *options;
	char *const *commands[SIDES_MAX];
	size_t command_count;
	struct side sides[REPEAT_SIDES_MAX]; /* each command with each number of threads */
	size_t side_count;
	size_t group; /* index of the first side that is measured just now; the others follow */
	size_t group_count;
	wordexp_t versus[SIDES_MAX - 1];
	size_t versus_count; // of them
	struct bench_range range;
	struct job job;
	struct modules *modules;
	struct profile *profile;
	struct facts facts;
	struct run run;
	struct machine machine;   /* at the start */
	struct terminal terminal; /* of stderr, for what is said meanwhile */
	uint64_t told_ns;
	int failure; /* wait(2) status of the run that ended it; 0: none */
};

static void end(struct bench *b)
{
	for (size_t i = 0; i < b->side_count; i++)
		if (b->sides[i].command != (char **)b->sides[i].argv)
			free(b->sides[i].command);
	for (size_t i = 0; i < b->versus_count; i++)
		wordfree(&b->versus[i]);
	bench_range_close(&b->range);
	facts_fini(&b->facts);
	profile_free(b->profile);
	modules_free(b->modules);
}

static int add_side(struct bench *b, char *const *argv, uint32_t threads, struct error *err)
{
	const char *range = b->options->range;
	struct side *side = &b->sides[b->side_count];
	struct facts facts;
	struct run run;

	*side = (struct side){ .argv = argv, .command = (char **)argv };
	if (range)
		side->command = bench_range_command(&b->range, argv, err);
	if (!side->command)
		return -1;
	b->side_count++;
	if (facts_take(&facts, argv, &run) < 0)
		return error_set(err, ENOMEM, "could not start");
	side->number = profile_add_repeat_side(b->profile, facts.command, range, threads);
	facts_fini(&facts);
	return side->number ? 0 : error_set(err, ENOMEM, "could not start");
}

static int begin(struct bench *b, char *const *argv, struct error *err)
{
	const struct bench_options *options = b->options;

	b->modules = modules_new();
	b->profile = b->modules ? profile_new(b->modules, NULL, err) : NULL;
	if (!b->profile || facts_take(&b->facts, argv, &b->run) < 0)
		return error_set(err, ENOMEM, "could not start");
	if (options->range && bench_range_open(&b->range, options->range, &options->trace, err) < 0)
		return -1;
	b->machine = machine_now();
	return 0;
}

// The commands with so many threads, or as they are, come next.
static int begin_group(void *context, uint32_t threads, struct error *err)
{
	struct bench *b = context;

	if (threads)
		statement_set_threads(threads);
	b->group = b->side_count;
	for (size_t i = 0; i < b->command_count; i++)
		if (add_side(b, b->commands[i], threads, err) < 0)
			return -1;
	b->group_count = b->command_count;
	return 0;
}

static bool has_enough(const struct bench *b, const struct side *side)
{
	const struct bench_options *options = b->options;
	uint64_t min_time_ns = options->min_time_ns ? options->min_time_ns : MIN_TIME_NS;

	if (options->runs)
		return side->tries >= options->runs;
	return (side->sum_ns >= min_time_ns && side->runs >= RUNS_LEAST) ||
	       side->tries >= REPEATS_MAX / REPEAT_SIDES_MAX;
}

static bool is_enough(const struct bench *b)
{
	for (size_t i = 0; i < b->group_count; i++)
		if (!has_enough(b, &b->sides[b->group + i]))
			return false;
	return true;
}

// On a terminal, while runs go on: how many, and how long they take.
static void tell(struct bench *b, const struct side *side, uint64_t wall_ns)
{
	uint64_t now_ns = clock_now_ns();

	if (!b->terminal.is_tty || b->options->show_output || now_ns - b->told_ns < REDRAW_NS)
		return;
	fprintf(stderr, "\r\033[Krun %u: %s", side->tries + 1, format_duration(wall_ns).text);
	fflush(stderr);
	b->told_ns = now_ns;
}

static void untell(const struct bench *b)
{
	if (b->told_ns)
		fputs("\r\033[K", stderr);
}

static int failed(struct bench *b, const struct side *side, int status, struct error *err)
{
	const char *name = side->argv[0];

	b->failure = status;
	if (WIFSIGNALED(status))
		error_set(err, 0, "run %u of \"%s\" was killed by signal %d (%s)", side->tries,
		          name, WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		error_set(err, 0, "run %u of \"%s\" ended with status %d", side->tries, name,
		          WEXITSTATUS(status));
	return error_hint(err, b->options->show_output
	                               ? "--ignore-failure goes on after such runs."
	                               : "--show-output shows what it says; --ignore-failure goes "
	                                 "on after such runs.");
}

// -1 on error, 1 if the run does not count: whoever wants runs makes another.
static int run_side(struct bench *b, struct side *side, bool counts, struct error *err)
{
	const struct repeat_run wanted = { .argv = side->command,
		                           .show_output = b->options->show_output,
		                           .job = &b->job };
	struct repeat repeat = { .side = side->number,
		                 .begin_ns = clock_now_ns() - b->run.start_ns };
	int how = repeat_run(&wanted, &repeat, err);

	if (how < 0)
		return -1;
	side->tries++;
	if (how == REPEAT_DISTURBED && repeat.status == 0) {
		side->tries--;
		return 1;
	}
	tell(b, side, repeat.wall_ns);
	if (b->job.interrupts)
		return 1;
	if (repeat.status && !b->options->ignore_failure)
		return failed(b, side, repeat.status, err);
	if (repeat.status == 0 && b->options->range &&
	    bench_range_read(&b->range, &repeat, err) < 0)
		return -1;
	if (!counts)
		return 0;
	side->runs += repeat.status == 0;
	side->sum_ns += repeat.wall_ns;
	return profile_add_repeat(b->profile, &repeat)
	               ? 0
	               : error_set(err, ENOMEM, "could not keep a run");
}

// One run of each: what disturbs the machine for longer than that disturbs both. Who comes first
// changes from block to block.
static int run_block(struct bench *b, size_t block, bool counts, struct error *err)
{
	for (size_t i = 0; i < b->group_count; i++) {
		struct side *side = &b->sides[b->group + (block % 2 ? b->group_count - 1 - i : i)];
		int result;
		do
			result = run_side(b, side, counts, err);
		while (result == 1 && !b->job.interrupts);
		if (result < 0 || b->job.interrupts)
			return result < 0 ? -1 : 0;
	}
	return 0;
}

static int warm_up(struct bench *b, struct error *err)
{
	for (size_t block = 0; block < b->options->warmup && !b->job.interrupts; block++)
		if (run_block(b, block, false, err) < 0)
			return -1;
	for (size_t i = 0; i < b->group_count; i++)
		b->sides[b->group + i].tries = 0;
	return 0;
}

// A block of the commands in a turn of statements, which may have many more: short as theirs are.
static int run_turn(void *context, size_t turn, struct error *err)
{
	struct bench *b = context;

	if (turn == 0 && warm_up(b, err) < 0)
		return -1;
	if (is_enough(b))
		return 1;
	return run_block(b, turn, true, err);
}

static int run_statements(struct bench *b, struct error *err)
{
	const struct bench_options *options = b->options;
	const struct statements_plan plan = {
		.statements = &options->statements,
		.commands = { b, begin_group, b->command_count ? run_turn : NULL },
		.min_time_ns = options->min_time_ns ? options->min_time_ns : STATEMENT_NS,
		.blocks = options->runs,
		.warmup = options->warmup,
		.show_output = options->show_output,
		.start_ns = b->run.start_ns
	};

	return statements_measure(&plan, b->profile, &b->job, err);
}

static int run_group(struct bench *b, uint32_t threads, struct error *err)
{
	if (begin_group(b, threads, err) < 0 || warm_up(b, err) < 0)
		return -1;
	for (size_t block = 0; !is_enough(b) && !b->job.interrupts; block++)
		if (run_block(b, block, true, err) < 0)
			return -1;
	return 0;
}

static int run_all(struct bench *b, struct error *err)
{
	const struct statements *statements = &b->options->statements;
	uint32_t threads[STATEMENTS_THREADS_MAX] = { 0 };
	size_t count = 1;

	if (statements->codes.count)
		return run_statements(b, err);
	if (statements->threads &&
	    statements_read_threads(statements->threads, threads, &count, err) < 0)
		return -1;
	for (size_t i = 0; i < count && !b->job.interrupts; i++)
		if (run_group(b, threads[i], err) < 0)
			return -1;
	return 0;
}

static int save(const struct bench *b, char *path, size_t size, struct error *err)
{
	if (b->options->output)
		snprintf(path, size, "%s", b->options->output);
	else if (state_prepare(path, size, err) < 0)
		return -1;
	return profile_write(b->profile, path, err);
}

static int conclude(struct bench *b, const struct terminal *terminal, struct error *err)
{
	struct view view = view_default();
	struct text text = { .profile = b->profile, .view = &view, .terminal = *terminal };
	struct machine now = machine_now();
	struct whole page;
	char path[PATH_MAX];

	b->run.wall_ns = clock_now_ns() - b->run.start_ns;
	b->run.exit_status = b->failure;
	b->run.complete = true;
	machine_tell(&b->machine, &now, &b->run);
	if (profile_set_run(b->profile, &b->run, err) < 0)
		return -1;
	if (whole_open(&page, "the report", err) < 0)
		return -1;
	page.text = b->options->json ? NULL : terminal;
	text.out = page.out;
	int failed = b->options->json ? repeats_json(b->profile, page.out, err)
	                              : text_made(&text, section_repeats, err);
	if (whole_print(&page, failed, stdout, err) < 0)
		return -1;
	if (save(b, path, sizeof(path), err) == 0) {
		if (b->options->json)
			return 0;
		terminal_print(terminal, stdout, "  profile: %s (bottleneck report)", path);
		putchar('\n');
		return 0;
	}
	if (b->options->output)
		return -1;
	message_error("bench", err); // nobody has asked for a file
	return 0;
}

static int print_and_save(struct bench *b, const struct terminal *terminal, struct error *err)
{
	if (conclude(b, terminal, err) < 0)
		return -1;
	return fflush(stdout) == 0 ? 0 : error_set(err, errno, "could not write the report");
}

static int status_of(const struct bench *b, int result, const struct error *err)
{
	if (b->failure)
		return WIFSIGNALED(b->failure) ? 128 + WTERMSIG(b->failure)
		                               : WEXITSTATUS(b->failure);
	if (result == 0)
		return 0;
	return err->errnum == ENOENT   ? EXIT_NOT_FOUND
	       : err->errnum == EACCES ? EXIT_CANNOT_RUN
	                               : EXIT_OURS;
}

static bool has_results(const struct bench *b)
{
	size_t count;

	query_repeat_runs(b->profile, &count);
	return b->options->statements.codes.count ? count > 0
	                                          : b->side_count > 0 && b->sides[0].runs > 0;
}

static int measure(struct bench *b, char *const *argv, const struct display *display)
{
	struct terminal terminal = display_terminal(display, stdout);
	struct error err = { 0 }, trouble;

	int result = begin(b, argv, &err);
	if (result == 0 && job_open(&b->job, &err) < 0)
		result = -1;
	if (result < 0) {
		message_error("bench", &err);
		return EXIT_OURS;
	}
	result = run_all(b, &err);
	untell(b);
	unsigned interrupts = b->job.interrupts;
	job_close(&b->job);
	if (result < 0)
		message_error("bench", &err);
	// What was measured before the end is good.
	if (has_results(b) && print_and_save(b, &terminal, &trouble) < 0) {
		message_error("bench", &trouble);
		result = -1;
	}
	if (interrupts) {
		end(b);
		job_die(SIGINT);
	}
	return status_of(b, result, &err);
}

// Statements have options of their own, and programs have theirs. COMMANDS: how many there are.
static int check_statements(struct bench_options *options, size_t commands, struct error *err)
{
	struct statements *s = &options->statements;
	bool others = s->versus.count || s->setup || s->sweeps.count || s->global || s->python ||
	              s->cxx || s->adaptive_percent > 0;
	uint32_t threads[STATEMENTS_THREADS_MAX];
	size_t count;

	if (!s->codes.count && others)
		return error_set(err, 0,
		                 "--vs-stmt, --setup, --sweep, --adaptive, --c++, --global and "
		                 "--python are for --stmt");
	if (statements_read_threads(s->threads, threads, &count, err) < 0)
		return -1;
	if (!s->codes.count && commands * count > REPEAT_SIDES_MAX)
		return error_set(err, 0,
		                 "%zu commands and %zu numbers of threads are more than %u "
		                 "measurements",
		                 commands, count, REPEAT_SIDES_MAX);
	if (!s->codes.count)
		return 0;
	if (options->range)
		return error_set(err, 0, "--range is for programs: --stmt has none");
	if (options->ignore_failure && !commands)
		return error_set(err, 0, "--ignore-failure is for programs");
	if (s->global && !s->cxx)
		return error_set(err, 0, "--global is for --c++");
	if (s->adaptive_percent > 0 && (options->runs || options->min_time_ns))
		return error_set(err, 0,
		                 "--adaptive says how long: it does not go with --runs or "
		                 "--min-time");
	s->commands = commands;
	return statements_check(s, err);
}

static int parse(struct bench_options *options, struct display *display, int argc, char **argv,
                 struct error *err)
{
	const struct option_group groups[] = {
		{ "Bench", specs, sizeof(specs) / sizeof(specs[0]), options },
		display_options(display),
	};
	int first = option_parse(groups, 2, argc, argv, OPTION_OPERANDS_END, err);

	if (first < 0)
		return -1;
	if (display->help) {
		command_help(&command_bench, groups, 2);
		return first;
	}
	if (options->trace.count && !options->range)
		return error_set(err, 0, "--trace is for --range");
	if (check_statements(options, options->versus.count + (argv[first] != NULL), err) < 0)
		return -1;
	if (options->output && state_check_output(options->output, err) < 0)
		return -1;
	if (argv[first] || options->statements.codes.count)
		return first;
	return command_no_program(&command_bench, err);
}

static int split_versus(struct bench *b, struct error *err)
{
	const struct option_list *versus = &b->options->versus;

	if (versus->count > SIDES_MAX - 1)
		return error_set(err, 0, "--vs: %d commands are the most that are compared",
		                 SIDES_MAX);
	for (; b->versus_count < versus->count; b->versus_count++)
		if (words_split(versus->items[b->versus_count], &b->versus[b->versus_count], err) <
		    0)
			return -1;
	return 0;
}

// PROGRAM, where there is one, and those of --vs.
static void list_commands(struct bench *b, char *const *program)
{
	if (*program)
		b->commands[b->command_count++] = program;
	for (size_t i = 0; i < b->versus_count; i++)
		b->commands[b->command_count++] = b->versus[i].we_wordv;
}

static int run(int argc, char **argv)
{
	struct bench_options options = { 0 };
	struct display display = { .color = COLOR_AUTO };
	struct bench b = { .options = &options, .terminal = terminal_of(stderr, 0, COLOR_NEVER) };
	struct error err;
	int first = parse(&options, &display, argc, argv, &err);

	if (first >= 0 && display.help)
		return 0;
	if (first >= 0 && split_versus(&b, &err) < 0)
		first = -1;
	if (first < 0) {
		message_error("bench", &err);
		end(&b);
		return EXIT_OURS;
	}
	list_commands(&b, argv + first);
	const char *code = options.statements.codes.count ? options.statements.codes.items[0] : "";
	char *const statement[] = { (char *)code, NULL };
	int status = measure(&b, argv[first] ? argv + first : statement, &display);
	end(&b);
	return status;
}

const struct command command_bench = {
	.name = "bench",
	.usage = { "bench [OPTIONS] [--] PROGRAM [ARGUMENT ...]",
	           "bench [OPTIONS] --stmt CODE [--vs-stmt CODE ...] [-- PROGRAM ...]" },
	.summary = "measure commands or statements by many runs in alternation",
	.run = run,
};
