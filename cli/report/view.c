// SPDX-License-Identifier: MIT
#include "cli/report/view.h"

#include "base/error.h"
#include "base/provider.h"
#include "base/schedule.h"
#include "cli/common_options.h"
#include "cli/exporters.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define PERCENT_BRIEF 3 // of a table, that a row of a brief report has at least

// In the order of enum view_sort.
static const char *const sorts[] = { "self", "total",     "line",    "calls",
	                             "mem",  "flops",     "avg",     "mem-total",
	                             "net",  "net-total", "gpu-net", "gpu-net-total",
	                             "gpu",  "gpu-total", "wall",    NULL };
static const char *const phases[] = { "all", "startup", "warmup", "steady",
	                              NULL }; // enum view_phase

// In the order of enum query_by and enum view_by.
static const char *const groupings[] = { "function", "line",   "module", "file",   "thread",
	                                 "process",  "op",     "shape",  "stack:", "domain",
	                                 "stream",   "kernel", NULL };

// In the order of enum view_as.
static const char *const forms[] = { "cprofile", "cprofile-callers", "cprofile-callees", NULL };

#define AT(field) offsetof(struct view, field)

static const struct option_spec parts[] = {
	{ .name = "thread",
	  .argument = "NAME",
	  .kind = OPTION_TEXT,
	  .offset = AT(thread),
	  .help = "only the threads of this name or number" },
	{ .name = "process",
	  .argument = "NAME",
	  .kind = OPTION_TEXT,
	  .offset = AT(process),
	  .help = "only the processes of this name or number" },
	{ .name = "from",
	  .argument = "SECONDS",
	  .kind = OPTION_SECONDS,
	  .offset = AT(from_ns),
	  .help = "only what happened after this time of the run" },
	{ .name = "from-steady",
	  .kind = OPTION_SWITCH,
	  .offset = AT(from_steady),
	  .help = "only what happened after the warm-up" },
	{ .name = "to",
	  .argument = "SECONDS",
	  .kind = OPTION_SECONDS,
	  .offset = AT(to_ns),
	  .help = "only what happened before this time of the run" },
	{ .name = "skip",
	  .argument = "SECONDS",
	  .kind = OPTION_SECONDS,
	  .offset = AT(from_ns),
	  .help = "the same as --from" },
	{ .name = "until",
	  .argument = "SECONDS",
	  .kind = OPTION_SECONDS,
	  .offset = AT(to_ns),
	  .help = "the same as --to" },
	{ .name = "skip-first",
	  .argument = "STEPS",
	  .kind = OPTION_NUMBER,
	  .offset = AT(skip_first),
	  .min = 1,
	  .max = 1000000000,
	  .help = "only what happened after so many steps" },
	{ .name = "phase",
	  .argument = "NAME",
	  .kind = OPTION_CHOICE,
	  .offset = AT(phase),
	  .choices = phases,
	  .help = "only startup, warmup or steady; all" },
	{ .name = "steps",
	  .argument = "GLOB",
	  .kind = OPTION_TEXT,
	  .offset = AT(steps),
	  .help = "the op whose calls are the steps of the run (auto-detected)" },
	{ .name = "on-cpu",
	  .kind = OPTION_SWITCH,
	  .offset = AT(on_cpu),
	  .help = "only time on a CPU" },
	{ .name = "off-cpu",
	  .kind = OPTION_SWITCH,
	  .offset = AT(off_cpu),
	  .help = "only time spent waiting" },
	{ .name = "hide",
	  .argument = "GLOB",
	  .kind = OPTION_TEXT,
	  .offset = AT(hide),
	  .help = "give their time to the callers" },
	{ .name = "interpreter",
	  .kind = OPTION_SWITCH,
	  .offset = AT(interpreter),
	  .help = "show Python's own code, too" },
	{ .name = "user-code",
	  .argument = "GLOB",
	  .kind = OPTION_TEXT,
	  .offset = AT(user_code),
	  .help = "give all time to these files or modules; auto: to your own code" },
};

static const struct option_spec specs[] = {
	{ .name = "sort",
	  .argument = "KEY",
	  .kind = OPTION_CHOICE,
	  .offset = AT(sort),
	  .choices = sorts,
	  .help = "one table, ranked by wall, self, total, line, mem, gpu, gpu-total; "
	          "of ops also calls, avg, flops, mem-total, net, net-total, gpu-net, gpu-net-total; "
	          "with --by function also calls" },
	{ .name = "by",
	  .argument = "WHAT",
	  .kind = OPTION_COUNTED,
	  .offset = AT(by),
	  .choices = groupings,
	  .min = 1,
	  .max = 100,
	  .help = "function, line, module, file, thread, process; "
	          "of ops op, shape, stack:N, domain; of GPUs stream, kernel" },
	{ .name = "ops", .kind = OPTION_SWITCH, .offset = AT(ops), .help = "the table of ops" },
	{ .name = "as",
	  .argument = "KIND",
	  .kind = OPTION_TEXT,
	  .offset = AT(as),
	  .help = "ops of this kind alone, as torch or blas, with the time of others within them; "
	          "or counted calls as cprofile, cprofile-callers, cprofile-callees" },
	{ .name = "of",
	  .argument = "GLOB",
	  .kind = OPTION_TEXT,
	  .offset = AT(of),
	  .help = "percentages of ops are of the time in these, as in a label" },
	{ .name = "waits",
	  .kind = OPTION_SWITCH,
	  .offset = AT(waits),
	  .help = "who waited for whom: waiter, resource, holder" },
	{ .name = "env",
	  .kind = OPTION_SWITCH,
	  .offset = AT(environment),
	  .help = "what the run ran on and with: versions, libraries, CPUs, variables" },
	{ .name = "call-tree",
	  .kind = OPTION_SWITCH,
	  .offset = AT(call_tree),
	  .help = "who calls whom, with shares" },
	COMMON_TOP(AT(top)),
	{ .name = "min-pct",
	  .argument = "X",
	  .kind = OPTION_PERCENT,
	  .offset = AT(min_percent),
	  .help = "leave out rows below X % (0.5; 2 in trees)" },
	COMMON_QUIET(AT(quiet)),
	{ .letter = 'v',
	  .name = "verbose",
	  .kind = OPTION_SWITCH,
	  .offset = AT(verbose),
	  .help = "the whole report, with how the numbers came about" },
	{ .name = "rule",
	  .argument = "ID=VALUE",
	  .kind = OPTION_LIST,
	  .offset = AT(rules),
	  .help = "another threshold of a finding, or off; see bottleneck explain" },
	{ .name = "rules",
	  .argument = "FILE",
	  .kind = OPTION_TEXT,
	  .offset = AT(rules_file),
	  .help = "the same, one on each line" },
	{ .name = "fail-on",
	  .argument = "WHAT",
	  .kind = OPTION_LIST,
	  .offset = AT(fail_on),
	  .help = "exit with 90 if this rule finds something, or any of info, warn, error" },
	{ .name = "strict",
	  .kind = OPTION_SWITCH,
	  .offset = AT(strict),
	  .help = "exit with 92 if what was measured cannot be trusted" },
	{ .name = "schedule",
	  .argument = "SPEC",
	  .kind = OPTION_TEXT,
	  .offset = AT(schedule),
	  .help = "a table for each cycle of steps, as wait=1,warmup=1,active=3,repeat=2,skip_first=0" },
	{ .name = "cycle",
	  .argument = "N",
	  .kind = OPTION_NUMBER,
	  .offset = AT(cycle),
	  .min = 1,
	  .max = 1000000000,
	  .help = "only this cycle of the schedule" },
	{ .name = "export",
	  .argument = "FMT[=FILE]",
	  .kind = OPTION_LIST,
	  .offset = AT(exports),
	  .help = EXPORTER_NAMES "(see bottleneck-export(7))" },
	{ .name = "max-events",
	  .argument = "N",
	  .kind = OPTION_NUMBER,
	  .offset = AT(max_events),
	  .max = UINT32_MAX,
	  .help = "of --export chrome and firefox, the first ones, or 0: all (400000)" },
	{ .name = "table",
	  .argument = "NAME",
	  .kind = OPTION_TEXT,
	  .offset = AT(table),
	  .help = "export this table alone, as csv or json" },
	{ .name = "source",
	  .kind = OPTION_SWITCH,
	  .offset = AT(source),
	  .help = "show source files that need not be those of the run, too" },
	{ .name = "umask",
	  .kind = OPTION_SWITCH,
	  .offset = AT(shared),
	  .help = "let others read new files, as the umask says, not you alone" },
	{ .name = "base",
	  .argument = "FILE",
	  .kind = OPTION_TEXT,
	  .offset = AT(base),
	  .help = "a profile of another run, to compare with in --export html, markdown and digest" },
};

struct view view_default(void)
{
	return (struct view){
		.sort = VIEW_SORT_NONE,
		.by = { VIEW_BY_NONE, 0 },
		.top = VIEW_TOP_DEFAULT,
		.min_percent = -1,
		.display = { .color = COLOR_AUTO },
		.max_events = VIEW_EVENTS_DEFAULT,
	};
}

void view_make_brief(struct view *view)
{
	view->brief = true;
	if (view->top == VIEW_TOP_DEFAULT)
		view->top = VIEW_TOP_BRIEF;
	if (view->min_percent < 0)
		view->min_percent = PERCENT_BRIEF;
}

struct option_group view_options(struct view *view)
{
	return (struct option_group){
		.title = "Report",
		.specs = specs,
		.count = sizeof(specs) / sizeof(specs[0]),
		.values = view,
	};
}

struct option_group view_part_options(struct view *view)
{
	return (struct option_group){
		.title = "Part of the run",
		.specs = parts,
		.count = sizeof(parts) / sizeof(parts[0]),
		.values = view,
	};
}

struct query view_query(const struct view *view, enum query_by by, enum query_sort sort)
{
	return (struct query){
		.by = by,
		.sort = sort,
		.on_cpu = view->on_cpu,
		.off_cpu = view->off_cpu,
		.thread = view->thread,
		.process = view->process,
		.hide = view->hide,
		.interpreter = view->interpreter,
		.user_code = view->user_code,
		.from_ns = view->from_ns,
		.to_ns = view->to_ns,
	};
}

static bool asks_for_ops(const struct view *view)
{
	bool by_op = view->by.index >= VIEW_BY_OP && view->by.index <= VIEW_BY_DOMAIN;

	return view->ops || by_op ||
	       (view->sort == VIEW_SORT_CALLS && view->by.index != BY_FUNCTION) ||
	       (view->sort >= VIEW_SORT_FLOPS && view->sort <= VIEW_SORT_GPU_NET_TOTAL);
}

static bool asks_for_gpu(const struct view *view)
{
	return view->sort == VIEW_SORT_GPU || view->sort == VIEW_SORT_GPU_TOTAL;
}

enum view_as view_as(const struct view *view)
{
	for (int i = 0; view->as && forms[i]; i++)
		if (strcmp(view->as, forms[i]) == 0)
			return (enum view_as)i;
	return VIEW_AS_NONE;
}

enum view_table view_table(const struct view *view)
{
	if (view_as(view) != VIEW_AS_NONE)
		return VIEW_TABLE_CALLED;
	if (view->waits)
		return VIEW_TABLE_WAITS;
	if (view->environment)
		return VIEW_TABLE_ENVIRONMENT;
	if (asks_for_ops(view))
		return VIEW_TABLE_OPS;
	if (view->by.index == VIEW_BY_STREAM)
		return VIEW_TABLE_STREAMS;
	if (view->by.index == VIEW_BY_KERNEL)
		return VIEW_TABLE_KERNELS;
	if (asks_for_gpu(view))
		return VIEW_TABLE_GPU;
	if (view->sort == VIEW_SORT_MEMORY)
		return VIEW_TABLE_MEMORY;
	if (view->sort == VIEW_SORT_LINE || view->by.index == BY_LINE)
		return VIEW_TABLE_LINES;
	if (view->by.index == BY_THREAD || view->by.index == BY_PROCESS)
		return VIEW_TABLE_OWNERS;
	return view->by.index >= 0 || view->sort >= 0 ? VIEW_TABLE_FUNCTIONS : VIEW_TABLE_NONE;
}

struct op_query view_op_query(const struct view *view)
{
	static const enum op_sort op_sorts[] = {
		[VIEW_SORT_SELF] = OPS_SORT_SELF,
		[VIEW_SORT_TOTAL] = OPS_SORT_TOTAL,
		[VIEW_SORT_CALLS] = OPS_SORT_CALLS,
		[VIEW_SORT_MEMORY] = OPS_SORT_MEMORY,
		[VIEW_SORT_FLOPS] = OPS_SORT_FLOPS,
		[VIEW_SORT_AVERAGE] = OPS_SORT_AVERAGE,
		[VIEW_SORT_MEMORY_TOTAL] = OPS_SORT_MEMORY_TOTAL,
		[VIEW_SORT_NET] = OPS_SORT_NET,
		[VIEW_SORT_NET_TOTAL] = OPS_SORT_NET_TOTAL,
		[VIEW_SORT_GPU_NET] = OPS_SORT_GPU_MEMORY,
		[VIEW_SORT_GPU_NET_TOTAL] = OPS_SORT_GPU_MEMORY_TOTAL,
		[VIEW_SORT_GPU] = OPS_SORT_GPU,
		[VIEW_SORT_GPU_TOTAL] = OPS_SORT_GPU,
		[VIEW_SORT_WALL] = OPS_SORT_SELF,
	};
	int by = view->by.index;

	const struct provider *kind = view->as ? provider_called(view->as) : NULL;

	return (struct op_query){
		.by = by == VIEW_BY_SHAPE    ? OPS_BY_SHAPE
		      : by == VIEW_BY_STACK  ? OPS_BY_STACK
		      : by == VIEW_BY_DOMAIN ? OPS_BY_DOMAIN
		      : by == BY_THREAD      ? OPS_BY_THREAD
		      : by == BY_MODULE      ? OPS_BY_MODULE
		      : by == BY_LINE        ? OPS_BY_LINE
		                             : OPS_BY_OP,
		.sort = view->sort >= 0 ? op_sorts[view->sort] : OPS_SORT_SELF,
		.stack_frames = view->by.number ? view->by.number : VIEW_FRAMES_DEFAULT,
		.thread = view->thread,
		.process = view->process,
		.from_ns = view->from_ns,
		.to_ns = view->to_ns,
		.as = kind ? kind->id : 0,
		.of = view->of,
	};
}

enum memory_by view_memory_by(const struct view *view)
{
	return view->by.index == BY_LINE     ? MEMORY_BY_LINE
	       : view->by.index == BY_MODULE ? MEMORY_BY_MODULE
	                                     : MEMORY_BY_FUNCTION;
}

double view_min_share(const struct view *view, bool tree)
{
	if (view->min_percent >= 0)
		return view->min_percent / 100;
	return tree ? 0.02 : 0.005;
}

bool view_is_window(const struct view *view)
{
	return (view->from_ns || view->to_ns) && !view->thread && !view->process &&
	       view->on_cpu == view->off_cpu;
}

bool view_is_filtered(const struct view *view)
{
	return view->thread || view->process || view->from_ns || view->to_ns ||
	       view->on_cpu != view->off_cpu;
}

static int check_ops(const struct view *view, struct error *err)
{
	int by = view->by.index;

	if (view->sort == VIEW_SORT_LINE)
		return error_set(err, 0, "--sort line ranks source lines, not ops");
	if (asks_for_gpu(view) && (by == BY_MODULE || by == BY_LINE))
		return error_set(err, 0,
		                 "--ops --by %s does not go with GPU time, which is known by op, "
		                 "and without --ops by %s",
		                 groupings[by], groupings[by]);
	if ((by >= 0 && by < VIEW_BY_OP && by != BY_THREAD && by != BY_MODULE && by != BY_LINE) ||
	    by == VIEW_BY_STREAM || by == VIEW_BY_KERNEL)
		return error_set(err, 0,
		                 "--by %s is not for ops: they go by op, shape, stack:N, domain, "
		                 "line, module or thread",
		                 groupings[by]);
	if (view->on_cpu != view->off_cpu)
		return error_set(err, 0, "--%s-cpu is for samples: the times of ops are wall time",
		                 view->on_cpu ? "on" : "off");
	return 0;
}

// Whether EXPORT, "FORMAT[=FILE]", is one that --base is for.
static bool compares(const char *export)
{
	static const char *const formats[] = { "html", "markdown", "digest" };
	size_t length = strcspn(export, "=");

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strlen(formats[i]) == length && strncmp(export, formats[i], length) == 0)
			return true;
	return false;
}

static int check_base(const struct view *view, struct error *err)
{
	bool any = false;

	for (size_t i = 0; i < view->exports.count; i++)
		any |= compares(view->exports.items[i]);
	if (!view->base)
		return 0;
	if (!any)
		return error_set(err, 0,
		                 "--base compares in an export: it needs --export html, markdown "
		                 "or digest");
	if (access(view->base, R_OK) < 0)
		return error_set(err, errno, "could not read \"%s\"", view->base);
	return 0;
}

static int check_memory(const struct view *view, struct error *err)
{
	if (view->by.index == BY_FILE || view->by.index == BY_THREAD ||
	    view->by.index == BY_PROCESS)
		return error_set(err, 0,
		                 "--sort mem does not go with --by %s, but with function, line, "
		                 "module and op",
		                 groupings[view->by.index]);
	if (view_is_filtered(view))
		return error_set(err, 0,
		                 "--sort mem is about the whole run, or about ops: allocations are "
		                 "not kept by time or thread");
	return 0;
}

// What ran is neither on a CPU nor waiting, and a stream has no time but that.
static int check_gpu(const struct view *view, struct error *err)
{
	if (view->on_cpu != view->off_cpu)
		return error_set(err, 0, "--%s-cpu is for samples, not for what ran on GPUs",
		                 view->on_cpu ? "on" : "off");
	if (view_table(view) != VIEW_TABLE_GPU && view->sort >= 0 && !asks_for_gpu(view))
		return error_set(err, 0, "--sort %s is not for %ss: they go by GPU time",
		                 sorts[view->sort], groupings[view->by.index]);
	if (view_table(view) == VIEW_TABLE_STREAMS && view_is_filtered(view))
		return error_set(err, 0,
		                 "--by stream is about the whole run: what ran is not kept by "
		                 "stream and time or thread");
	return 0;
}

static int check_called(const struct view *view, struct error *err)
{
	if (view_is_filtered(view) || view->from_steady || view->phase != PHASE_ALL ||
	    view->skip_first)
		return error_set(err, 0,
		                 "--as %s is about the whole run: calls are not kept by time or "
		                 "thread",
		                 view->as);
	if (view->ops || view->by.index >= 0)
		return error_set(err, 0, "--as %s is of functions: it goes without --ops and --by",
		                 view->as);
	if (view->sort >= 0 && view->sort != VIEW_SORT_SELF && view->sort != VIEW_SORT_TOTAL &&
	    view->sort != VIEW_SORT_CALLS)
		return error_set(err, 0, "--as %s is sorted by self, total or calls, not by %s",
		                 view->as, sorts[view->sort]);
	return 0;
}

static int check_schedule(const struct view *view, struct error *err)
{
	struct schedule schedule;

	if (!view->schedule)
		return 0;
	if (schedule_parse(&schedule, view->schedule, err) < 0)
		return error_wrap(err, "--schedule");
	if (view->from_ns || view->to_ns || view->skip_first || view->from_steady ||
	    view->phase != PHASE_ALL)
		return error_set(
			err, 0,
			"--schedule chooses the part of the run that is shown: it does not "
			"go with --from, --to, --phase, --from-steady or --skip-first");
	return 0;
}

int view_check(const struct view *view, struct error *err)
{
	if (check_schedule(view, err) < 0)
		return -1;
	if (view->to_ns && view->to_ns <= view->from_ns)
		return error_set(err, 0, "--to is not later than --from: nothing is left to show");
	if (view->phase != PHASE_ALL && view->from_steady)
		return error_set(err, 0, "--phase and --from-steady do not go together");
	if (check_base(view, err) < 0)
		return -1;
	if (view->as && view_as(view) == VIEW_AS_NONE && !provider_called(view->as))
		return error_set(
			err, 0,
			"--as %s: there is no such kind of ops, see bottleneck-ops(7); or cprofile, "
			"cprofile-callers, cprofile-callees",
			view->as);
	enum view_table table = view_table(view);
	if (table == VIEW_TABLE_CALLED)
		return check_called(view, err);
	if (table == VIEW_TABLE_OPS)
		return check_ops(view, err);
	if (table == VIEW_TABLE_MEMORY)
		return check_memory(view, err);
	if (table == VIEW_TABLE_GPU || table == VIEW_TABLE_STREAMS || table == VIEW_TABLE_KERNELS)
		return check_gpu(view, err);
	if (view->sort == VIEW_SORT_LINE && view->by.index >= 0 && view->by.index != BY_LINE)
		return error_set(err, 0,
		                 "--sort line ranks source lines: it does not go with --by %s",
		                 groupings[view->by.index]);
	return 0;
}
