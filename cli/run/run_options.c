// SPDX-License-Identifier: MIT
#include "cli/run/run_options.h"

#include "base/error.h"
#include "base/provider.h"
#include "base/rank.h"
#include "cli/common_options.h"
#include "merge/record/traced.h"

#include <string.h>

static const char *const unwinders[] = { "table", "libunwind", NULL }; // enum recording_unwinder
static const char *const rungs[] = { "kernel", "user", "agent", "proc", NULL }; // enum rung, less 1

static const char *const callsites[] = { "off", "sampled", "all", NULL }; // enum recording_launches

static const char *const no_limit[] = { "none", NULL };

enum exact {
	EXACT_NONE,
	EXACT_OPS,
	EXACT_MALLOC,
	EXACT_SAMPLES
};
static const char *const exact_what[] = { "none", "ops", "malloc", "samples", NULL }; // enum exact

_Static_assert(TRACED_PATTERNS >= OPTION_LIST_MAX, "patterns of --trace");

#define AT(field) offsetof(struct run_options, field)

static const struct option_spec capture[] = {
	{ .letter = 'p',
	  .name = "pid",
	  .argument = "PIDS",
	  .kind = OPTION_TEXT,
	  .offset = AT(pids),
	  .help = "attach to processes that run already, until --duration, Ctrl-C or their end" },
	{ .name = "agent",
	  .kind = OPTION_SWITCH,
	  .offset = AT(agent),
	  .help = "with -p: load the agent into them, for ops, allocations and locks; our code runs there" },
	COMMON_FREQUENCY(AT(frequency_hz)),
	{ .name = "stack-size",
	  .argument = "BYTES",
	  .kind = OPTION_NUMBER,
	  .offset = AT(stack_bytes),
	  .min = 1024,
	  .max = 65528,
	  .help = "stack bytes captured with each sample (32768)" },
	{ .name = "unwinder",
	  .argument = "NAME",
	  .kind = OPTION_CHOICE,
	  .offset = AT(unwinder),
	  .choices = unwinders,
	  .help = "table or libunwind (slower)" },
	{ .name = "rung",
	  .argument = "NAME",
	  .kind = OPTION_CHOICE,
	  .offset = AT(rung),
	  .choices = rungs,
	  .help = "no better access than kernel, user, agent or proc" },
	{ .name = "no-off-cpu",
	  .kind = OPTION_SWITCH,
	  .offset = AT(no_off_cpu),
	  .help = "disable off-CPU profiling" },
	{ .name = "delay",
	  .argument = "SECONDS",
	  .kind = OPTION_SECONDS,
	  .offset = AT(delay_ns),
	  .help = "record nothing before this time of the run" },
	{ .name = "duration",
	  .argument = "SECONDS",
	  .kind = OPTION_SECONDS,
	  .offset = AT(duration_ns),
	  .help = "record no longer than this" },
	{ .name = "range",
	  .argument = "GLOB",
	  .kind = OPTION_TEXT,
	  .offset = AT(range),
	  .help = "record only while an op of this name is open" },
	{ .name = "start-paused",
	  .kind = OPTION_SWITCH,
	  .offset = AT(start_paused),
	  .help = "record nothing before the program calls start() of bottleneck's API" },
	{ .name = "names",
	  .kind = OPTION_SWITCH,
	  .offset = AT(names),
	  .help = "have Node, Java and PHP name the functions that they compile" },
	COMMON_TIMELINE_LIMIT(AT(timeline_limit)),
	{ .name = "budget",
	  .argument = "PCT",
	  .kind = OPTION_PERCENT,
	  .offset = AT(budget_percent),
	  .choices = no_limit,
	  .help = "lower the sampling rate above this overhead, in percent, or none (3)" },
};

static const struct option_spec no_ops = { .name = "no-ops",
	                                   .kind = OPTION_SWITCH,
	                                   .offset = AT(no_ops),
	                                   .help = "record samples only: no ops, no allocations" };

static const struct option_spec exact = {
	.name = "exact",
	.argument = "WHAT",
	.kind = OPTION_LIST,
	.offset = AT(exact),
	.help = "ops: record every op of PyTorch and BLAS, whatever that costs; malloc: count every "
		"allocation; samples: keep the sampling rate (none)"
};

static const struct option_spec no_agent = {
	.name = "no-agent",
	.kind = OPTION_SWITCH,
	.offset = AT(no_agent),
	.help = "load nothing into the program: no ops, no allocations, no Python"
};

// What providers have beside the option that switches them off.
static const struct {
	enum op_provider of;
	struct option_spec spec;
} provider_options[] = {
	{ OP_CUDA,
	  { .name = "gpu-lines",
	    .kind = OPTION_SWITCH,
	    .offset = AT(gpu_lines),
	    .help = "sample GPU instructions and their stall reasons (requires elevated privileges)" } },
	{ OP_CUDA,
	  { .name = "gpu-graph-nodes",
	    .kind = OPTION_SWITCH,
	    .offset = AT(gpu_graph_nodes),
	    .help = "record each kernel of a CUDA graph instead of the whole launch (higher overhead)" } },
	{ OP_CUDA,
	  { .name = "gpu-callsites",
	    .argument = "HOW",
	    .kind = OPTION_CHOICE,
	    .offset = AT(gpu_callsites),
	    .choices = callsites,
	    .help = "stacks of CUDA calls: off, sampled or all (sampled)" } },
	{ OP_PYTHON,
	  { .name = "count-calls",
	    .kind = OPTION_SWITCH,
	    .offset = AT(count_calls),
	    .help = "count each call of Python and C functions: slow where they are small" } },
	{ OP_TRACE,
	  { .name = "trace",
	    .argument = "FUNC",
	    .kind = OPTION_LIST,
	    .offset = AT(trace),
	    .help = "make each call of a function of this name an op; globs, LIBRARY:FUNC, "
	            "FILE.py:FUNC" } },
};

#define COLLECTORS_MAX                                                                             \
	(OP_PROVIDERS_ALL + sizeof(provider_options) / sizeof(provider_options[0]) + 3)

static void add_provider(const struct provider *p, struct option_spec *specs, size_t *count)
{
	if (p->option)
		specs[(*count)++] = (struct option_spec){ .name = p->option,
			                                  .kind = OPTION_SWITCH,
			                                  .offset = AT(off) + p->id * sizeof(bool),
			                                  .help = p->help };
	for (size_t i = 0; i < sizeof(provider_options) / sizeof(provider_options[0]); i++)
		if (provider_options[i].of == p->id)
			specs[(*count)++] = provider_options[i].spec;
}

// How many there are.
static size_t make_collectors(struct option_spec *specs)
{
	size_t count = 0;

	specs[count++] = no_ops;
	specs[count++] = exact;
	for (size_t i = 0; i < provider_count; i++)
		add_provider(&providers[i], specs, &count);
	specs[count++] = no_agent;
	return count;
}

static const struct option_spec output[] = {
	{ .letter = 'o',
	  .name = "output",
	  .argument = "FILE",
	  .kind = OPTION_TEXT,
	  .offset = AT(output),
	  .help = "keep the profile here, not as the last run; %h %p %r %q{VAR} in it" },
	{ .letter = 'R',
	  .name = "report",
	  .argument = "FILE",
	  .kind = OPTION_TEXT,
	  .offset = AT(report_file),
	  .help = "write the whole report here, not to stderr" },
	{ .name = "ranks",
	  .argument = "LIST",
	  .kind = OPTION_TEXT,
	  .offset = AT(ranks),
	  .help = "profile these ranks only, as in 0,3,8-15: others just run" },
	{ .name = "no-report",
	  .kind = OPTION_SWITCH,
	  .offset = AT(no_report),
	  .help = "only keep the profile" },
	{ .name = "debuginfod",
	  .kind = OPTION_SWITCH,
	  .offset = AT(debuginfod),
	  .help = "fetch debug information from DEBUGINFOD_URLS" },
};

static const struct option_spec others[] = {
	{ .letter = 'V',
	  .name = "version",
	  .kind = OPTION_SWITCH,
	  .offset = AT(version),
	  .help = "print the version and exit" },
	{ .name = "help-all",
	  .kind = OPTION_SWITCH,
	  .offset = AT(help_all),
	  .help = "print all options and exit" },
};

#define GROUP_COUNT 7

static void make_groups(struct run_options *options, struct option_group *groups)
{
	static struct option_spec collectors[COLLECTORS_MAX]; // the same each time
	size_t collector_count = make_collectors(collectors);

	groups[0] = (struct option_group){ "Capture", capture, sizeof(capture) / sizeof(capture[0]),
		                           options };
	groups[1] = (struct option_group){ "Collectors", collectors, collector_count, options };
	groups[2] = (struct option_group){ "Output", output, sizeof(output) / sizeof(output[0]),
		                           options };
	groups[3] = view_options(&options->view);
	groups[4] = view_part_options(&options->view);
	groups[5] = (struct option_group){ "Other", others, sizeof(others) / sizeof(others[0]),
		                           options };
	groups[6] = display_options(&options->view.display);
	groups[6].title = NULL;
}

// Which bit of ITEM's first word, whose end *ITEM is then behind; -1: no such one.
static int exact_word(const char **item)
{
	size_t length = strcspn(*item, ",");
	const char *word = *item;

	*item += length + ((*item)[length] == ',');
	for (int i = 0; exact_what[i]; i++)
		if (strlen(exact_what[i]) == length && strncmp(word, exact_what[i], length) == 0)
			return i;
	return -1;
}

// OPTIONS->exact_bits of the lists that are given.
static int parse_exact(struct run_options *options, struct error *err)
{
	for (size_t i = 0; i < options->exact.count; i++)
		for (const char *rest = options->exact.items[i]; *rest;) {
			int what = exact_word(&rest);
			if (what < 0)
				return error_set(
					err, 0,
					"--exact: \"%.100s\" is none of none, ops, malloc, samples",
					options->exact.items[i]);
			options->exact_bits |= what == EXACT_NONE ? 0 : 1u << what;
		}
	return 0;
}

// They travel as lines, in one variable of the environment.
static int check_trace(const struct option_list *trace, struct error *err)
{
	size_t bytes = 0;

	for (size_t i = 0; i < trace->count; i++) {
		bytes += strlen(trace->items[i]) + 1;
		if (strchr(trace->items[i], '\n'))
			return error_set(err, 0,
			                 "--trace: no function has a line break in its name");
	}
	if (bytes > RECORDING_TRACE_BYTES)
		return error_set(err, 0, "--trace: its arguments are longer than %d bytes together",
		                 RECORDING_TRACE_BYTES);
	return 0;
}

// Whether the cycles of a schedule alone are recorded: the steps are known by the name of their op.
static bool records_schedule(const struct run_options *options)
{
	return options->view.schedule && options->view.steps;
}

// Nothing is put into what runs already, and it was started without us.
static int check_attach(const struct run_options *options, struct error *err)
{
	const struct {
		const char *name;
		bool given;
	} needs[] = {
		{ "trace", options->trace.count },
		{ "range", options->range },
		{ "start-paused", options->start_paused },
		{ "count-calls", options->count_calls },
		{ "gpu-lines", options->gpu_lines },
		{ "schedule", options->view.schedule },
		{ "delay", options->delay_ns },
	};

	if (options->argv[0])
		return error_set(err, 0,
		                 "-p attaches to what runs already: it cannot go with a "
		                 "program to start (\"%.100s\")",
		                 options->argv[0]);
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (needs[i].given)
			return error_set(err, 0,
			                 "--%s needs a program that bottleneck starts: it cannot "
			                 "go with -p",
			                 needs[i].name);
	return 0;
}

int run_options_parse(struct run_options *options, int argc, char **argv, struct error *err)
{
	const struct recording_options usual = recording_default();
	struct option_group groups[GROUP_COUNT];

	*options = (struct run_options){
		.stack_bytes = usual.stack_bytes,
		.budget_percent = usual.budget_percent,
		.timeline_limit = usual.timeline_limit,
		.gpu_callsites = usual.launches,
		.view = view_default(),
	};
	make_groups(options, groups);
	int first = option_parse(groups, GROUP_COUNT, argc, argv, OPTION_OPERANDS_END, err);
	if (first < 0 || view_check(&options->view, err) < 0)
		return -1;
	options->argv = argv + first;
	options->exact_rate = options->frequency_hz != 0;
	if (!options->exact_rate)
		options->frequency_hz = usual.frequency_hz;
	if (parse_exact(options, err) < 0)
		return -1;
	if (options->trace.count && options->no_agent)
		return error_set(err, 0, "--trace needs the agent: it cannot go with --no-agent");
	if (options->range && (options->no_agent || !run_options_ops(options)))
		return error_set(err, 0, "--range needs ops: it cannot go with --no-%s",
		                 options->no_agent ? "agent" : "ops");
	if (options->start_paused && (options->no_agent || !run_options_ops(options)))
		return error_set(err, 0, "--start-paused needs ops: it cannot go with --no-%s",
		                 options->no_agent ? "agent" : "ops");
	if (options->start_paused && options->off[OP_API])
		return error_set(err, 0,
		                 "--start-paused cannot go with --no-api: no start() is seen");
	if (options->start_paused && (options->range || options->view.schedule))
		return error_set(
			err, 0,
			"--start-paused and --%s both say what is recorded: they do not go "
			"together",
			options->range ? "range" : "schedule");
	if (options->view.schedule && options->range)
		return error_set(err, 0,
		                 "--range and --schedule both say what is recorded: they do not go "
		                 "together");
	if (records_schedule(options) && (options->no_agent || !run_options_ops(options)))
		return error_set(err, 0,
		                 "--schedule with --steps needs ops: it cannot go with --no-%s",
		                 options->no_agent ? "agent" : "ops");
	if (check_trace(&options->trace, err) < 0)
		return -1;
	if (options->ranks && rank_in_list(options->ranks, 0, err) < 0)
		return error_wrap(err, "--ranks");
	if (options->pids && check_attach(options, err) < 0)
		return -1;
	if (options->agent && !options->pids)
		return error_set(err, 0,
		                 "--agent goes with -p: a program that bottleneck starts "
		                 "has the agent by itself");
	if (options->view.display.help || options->help_all || options->version ||
	    options->argv[0] || options->pids)
		return 0;
	return error_set(err, 0, "no program is named (see --help)");
}

static bool is_on(const struct run_options *options, const struct provider *p)
{
	const struct provider *by = provider_switch(p);

	if (p->id == OP_TRACE)
		return options->trace.count;
	return by && !options->no_ops && !options->off[by->id];
}

uint32_t run_options_ops(const struct run_options *options)
{
	uint32_t ops = 0;

	for (size_t i = 0; i < provider_count; i++)
		if (providers[i].id < OP_PROVIDERS && is_on(options, &providers[i]))
			ops |= 1u << providers[i].id;
	return ops;
}

bool run_options_malloc(const struct run_options *options)
{
	return is_on(options, provider_get(OP_MALLOC));
}

struct recording_options run_options_recording(const struct run_options *options)
{
	bool gpu = !options->off[OP_CUDA];

	return (struct recording_options){
		.argv = options->argv,
		.frequency_hz = options->frequency_hz,
		.stack_bytes = options->stack_bytes,
		.unwinder = (enum recording_unwinder)options->unwinder,
		.best_rung = (enum rung)(options->rung + 1),
		.off_cpu = !options->no_off_cpu,
		.budget_percent = options->budget_percent,
		.timeline_limit = options->timeline_limit,
		.agent = options->pids ? options->agent : !options->no_agent,
		.ops = run_options_ops(options),
		.malloc = run_options_malloc(options),
		.waits = is_on(options, provider_get(OP_WAITS)),
		.exact_ops = options->exact_bits & 1u << EXACT_OPS,
		.exact_samples = options->exact_rate || options->exact_bits & 1u << EXACT_SAMPLES,
		.exact_malloc = options->exact_bits & 1u << EXACT_MALLOC,
		.count_calls = options->count_calls,
		.gpu_lines = gpu && options->gpu_lines,
		.gpu_graph_nodes = gpu && options->gpu_graph_nodes,
		.launches = (enum recording_launches)options->gpu_callsites,
		.trace = options->trace.items,
		.trace_count = options->trace.count,
		.delay_ns = options->delay_ns,
		.duration_ns = options->duration_ns,
		.range = options->range,
		.schedule = options->view.schedule,
		.steps = options->view.steps,
		.start_paused = options->start_paused,
		.jit_names = options->names,
		.debuginfod = options->debuginfod,
	};
}

void run_options_help(FILE *out)
{
	struct run_options options;
	struct option_group groups[GROUP_COUNT];

	make_groups(&options, groups);
	option_help(groups, GROUP_COUNT, out);
}

void run_options_help_short(FILE *out)
{
	static const struct {
		const char *name, *help;
	} common[] = {
		{ "pid", "attach to processes that run already, until Ctrl-C" },
		{ "output", "keep the profile in FILE, not as the last run" },
		{ "report", "write the whole report to FILE" },
		{ "verbose", "print the whole report instead of one screen" },
		{ "sort", "one table, by wall, self, total, line, mem, gpu ..." },
		{ "by", "one table, of functions, lines, threads, ops ..." },
		{ "ops", "the table of ops" },
		{ "waits", "who waited for whom: waiter, resource, holder" },
		{ "call-tree", "who calls whom, with shares" },
		{ "export", "html, markdown, sarif, digest, chrome, json ..." },
		{ "from-steady", "leave out the warm-up" },
		{ "range", "record only while an op or range of this name is open" },
		{ "trace", "record each call of these functions" },
		{ "count-calls", "count the calls of Python and C functions exactly" },
		{ "fail-on", "exit with 90 if this finding, or severity, comes up" },
		{ "frequency", "samples per second of CPU time of each thread (999)" },
		{ "no-agent", "load nothing into the program" },
		{ "help-all", "print all options" },
	};
	struct run_options options;
	struct option_group groups[GROUP_COUNT];

	make_groups(&options, groups);
	fprintf(out, "\nCommon options:\n");
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		option_help_one(groups, GROUP_COUNT, common[i].name, common[i].help, out);
}
