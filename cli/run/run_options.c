// SPDX-License-Identifier: MIT
#include "cli/run/run_options.h"

#include "base/error.h"
#include "base/op.h"
#include "cli/rank.h"
#include "merge/profile/profile.h"
#include "sampler/sampler.h"
#include "tracer/protocol.h"

#include <string.h>

static const char *const unwinders[] = { "table", "libunwind", NULL }; // enum unwinder_kind
static const char *const rungs[] = { "kernel", "user", "agent", "proc", NULL }; // enum rung, less 1

static const char *const callsites[] = { "off", "sampled", "all", NULL }; // protocol_launches

static const char *const no_limit[] = { "none", NULL };

#define AT(field) offsetof(struct run_options, field)

static const struct option_spec capture[] = {
	{ .letter = 'F',
	  .name = "frequency",
	  .argument = "HZ",
	  .kind = OPTION_NUMBER,
	  .offset = AT(frequency_hz),
	  .min = 1,
	  .max = 50000,
	  .help = "samples per second of CPU time of each thread (999)" },
	{ .name = "stack-size",
	  .argument = "BYTES",
	  .kind = OPTION_NUMBER,
	  .offset = AT(stack_bytes),
	  .min = 1024,
	  .max = 65528,
	  .help = "of the stack to copy with each sample (32768)" },
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
	  .help = "do not look at what threads wait for" },
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
	{ .name = "timeline-limit",
	  .argument = "N",
	  .kind = OPTION_NUMBER,
	  .offset = AT(timeline_limit),
	  .max = PROFILE_TIMELINE_MAX,
	  .help = "keep so many calls, waits and GPU works one by one, or 0 (250000)" },
	{ .name = "budget",
	  .argument = "PCT",
	  .kind = OPTION_PERCENT,
	  .offset = AT(budget_percent),
	  .choices = no_limit,
	  .help = "lower the rate when looking on costs more, or none (5)" },
};

static const struct option_spec collectors[] = {
	{ .name = "no-ops",
	  .kind = OPTION_SWITCH,
	  .offset = AT(no_ops),
	  .help = "only samples: no ops, no allocations" },
	{ .name = "no-nvtx",
	  .kind = OPTION_SWITCH,
	  .offset = AT(no_nvtx),
	  .help = "do not look at NVTX ranges" },
	{ .name = "no-itt",
	  .kind = OPTION_SWITCH,
	  .offset = AT(no_itt),
	  .help = "do not look at ITT tasks" },
	{ .name = "no-blas",
	  .kind = OPTION_SWITCH,
	  .offset = AT(no_blas),
	  .help = "do not look at calls of BLAS, LAPACK and FFTW" },
	{ .name = "no-mpi",
	  .kind = OPTION_SWITCH,
	  .offset = AT(no_mpi),
	  .help = "do not look at calls of MPI" },
	{ .name = "no-torch",
	  .kind = OPTION_SWITCH,
	  .offset = AT(no_torch),
	  .help = "do not look at the ops of PyTorch" },
	{ .name = "no-gpu",
	  .kind = OPTION_SWITCH,
	  .offset = AT(no_gpu),
	  .help = "do not look at GPUs and calls of CUDA" },
	{ .name = "gpu-lines",
	  .kind = OPTION_SWITCH,
	  .offset = AT(gpu_lines),
	  .help = "sample the instructions of kernels, and what they wait for: needs rights" },
	{ .name = "gpu-graph-nodes",
	  .kind = OPTION_SWITCH,
	  .offset = AT(gpu_graph_nodes),
	  .help = "tell each kernel of a CUDA graph, not its launch as a whole: costs more" },
	{ .name = "gpu-callsites",
	  .argument = "HOW",
	  .kind = OPTION_CHOICE,
	  .offset = AT(gpu_callsites),
	  .choices = callsites,
	  .help = "stacks of CUDA calls: off, sampled or all (sampled)" },
	{ .name = "no-gc",
	  .kind = OPTION_SWITCH,
	  .offset = AT(no_gc),
	  .help = "do not look at Python's garbage collections" },
	{ .name = "count-calls",
	  .kind = OPTION_SWITCH,
	  .offset = AT(count_calls),
	  .help = "count each call of a Python function: slow where they are small" },
	{ .name = "trace",
	  .argument = "FUNC",
	  .kind = OPTION_LIST,
	  .offset = AT(trace),
	  .help = "make each call of a function of this name an op; globs, LIBRARY:FUNC, "
	          "FILE.py:FUNC" },
	{ .name = "no-malloc",
	  .kind = OPTION_SWITCH,
	  .offset = AT(no_malloc),
	  .help = "do not look at allocations" },
	{ .name = "no-agent",
	  .kind = OPTION_SWITCH,
	  .offset = AT(no_agent),
	  .help = "load nothing into the program: no ops, no allocations, no Python" },
};

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
	  .help = "write the report here, not to stderr" },
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
};

#define GROUP_COUNT 7

static void make_groups(struct run_options *options, struct option_group *groups)
{
	groups[0] = (struct option_group){ "Capture", capture, sizeof(capture) / sizeof(capture[0]),
		                           options };
	groups[1] = (struct option_group){ "Collectors", collectors,
		                           sizeof(collectors) / sizeof(collectors[0]), options };
	groups[2] = (struct option_group){ "Output", output, sizeof(output) / sizeof(output[0]),
		                           options };
	groups[3] = view_options(&options->view);
	groups[4] = view_part_options(&options->view);
	groups[5] = (struct option_group){ "Other", others, sizeof(others) / sizeof(others[0]),
		                           options };
	groups[6] = display_options(&options->view.display);
	groups[6].title = NULL;
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
	if (bytes > PROTOCOL_TRACE_BYTES)
		return error_set(err, 0, "--trace: its arguments are longer than %d bytes together",
		                 PROTOCOL_TRACE_BYTES);
	return 0;
}

int run_options_parse(struct run_options *options, int argc, char **argv, struct error *err)
{
	struct option_group groups[GROUP_COUNT];

	*options = (struct run_options){
		.frequency_hz = SAMPLER_FREQUENCY_DEFAULT,
		.stack_bytes = SAMPLER_STACK_BYTES_DEFAULT,
		.budget_percent = SAMPLER_BUDGET_DEFAULT,
		.timeline_limit = PROFILE_TIMELINE,
		.gpu_callsites = PROTOCOL_LAUNCHES_SAMPLED,
		.view = view_default(),
	};
	make_groups(options, groups);
	int first = option_parse(groups, GROUP_COUNT, argc, argv, OPTION_OPERANDS_END, err);
	if (first < 0 || view_check(&options->view, err) < 0)
		return -1;
	options->argv = argv + first;
	if (options->trace.count && options->no_agent)
		return error_set(err, 0, "--trace needs the agent: it cannot go with --no-agent");
	if (options->range && (options->no_agent || !run_options_ops(options)))
		return error_set(err, 0, "--range needs ops: it cannot go with --no-%s",
		                 options->no_agent ? "agent" : "ops");
	if (check_trace(&options->trace, err) < 0)
		return -1;
	if (options->ranks && rank_in_list(options->ranks, 0, err) < 0)
		return error_wrap(err, "--ranks");
	if (options->view.display.help || options->version || options->argv[0])
		return 0;
	return error_set(err, 0, "no program is named (see --help)");
}

uint32_t run_options_ops(const struct run_options *options)
{
	const uint32_t blas = 1u << OP_BLAS | 1u << OP_LAPACK | 1u << OP_FFTW;

	uint32_t trace = options->trace.count ? 1u << OP_TRACE : 0;

	if (options->no_ops)
		return trace;
	return trace | (options->no_nvtx ? 0 : 1u << OP_NVTX) |
	       (options->no_itt ? 0 : 1u << OP_ITT) | (options->no_blas ? 0 : blas) |
	       (options->no_mpi ? 0 : 1u << OP_MPI) | (options->no_torch ? 0 : 1u << OP_TORCH) |
	       (options->no_gpu ? 0 : 1u << OP_CUDA) | (options->no_gc ? 0 : 1u << OP_PYTHON);
}

uint32_t run_options_gpu(const struct run_options *options)
{
	if (options->no_gpu)
		return 0;
	return (options->gpu_lines ? PROTOCOL_GPU_LINES : 0) |
	       (options->gpu_graph_nodes ? PROTOCOL_GPU_NODES : 0);
}

bool run_options_malloc(const struct run_options *options)
{
	return !options->no_ops && !options->no_malloc;
}

void run_options_help(FILE *out)
{
	struct run_options options;
	struct option_group groups[GROUP_COUNT];

	make_groups(&options, groups);
	option_help(groups, GROUP_COUNT, out);
}
