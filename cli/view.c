// SPDX-License-Identifier: MIT
#include "cli/view.h"

#include "base/error.h"

static const char *const sorts[] = { "self", "total", "line", NULL };
static const char *const colors[] = { "auto", "always", "never", NULL };

// In the order of enum query_by.
static const char *const groupings[] = { "function", "line",    "module", "file",
	                                 "thread",   "process", NULL };

#define AT(field) offsetof(struct view, field)

static const struct option_spec specs[] = {
	{ .name = "sort",
	  .argument = "KEY",
	  .kind = OPTION_CHOICE,
	  .offset = AT(sort),
	  .choices = sorts,
	  .help = "one table, ranked by self, total or line" },
	{ .name = "by",
	  .argument = "WHAT",
	  .kind = OPTION_CHOICE,
	  .offset = AT(by),
	  .choices = groupings,
	  .help = "function, line, module, file, thread, process" },
	{ .name = "call-tree",
	  .kind = OPTION_SWITCH,
	  .offset = AT(call_tree),
	  .help = "who calls whom, with shares" },
	{ .letter = 'n',
	  .name = "top",
	  .argument = "N",
	  .kind = OPTION_NUMBER,
	  .offset = AT(top),
	  .min = 1,
	  .max = 1000000,
	  .help = "rows of each table (15)" },
	{ .name = "min-pct",
	  .argument = "X",
	  .kind = OPTION_PERCENT,
	  .offset = AT(min_percent),
	  .help = "leave out rows below X % (0.5; 2 in trees)" },
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
	{ .name = "to",
	  .argument = "SECONDS",
	  .kind = OPTION_SECONDS,
	  .offset = AT(to_ns),
	  .help = "only what happened before this time of the run" },
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
	{ .name = "user-code",
	  .argument = "GLOB",
	  .kind = OPTION_TEXT,
	  .offset = AT(user_code),
	  .help = "give all time to these files or modules" },
	{ .name = "width",
	  .argument = "COLUMNS",
	  .kind = OPTION_NUMBER,
	  .offset = AT(width),
	  .min = TERMINAL_WIDTH_MIN,
	  .max = TERMINAL_WIDTH_MAX,
	  .help = "of the report (the terminal's, else 100)" },
	{ .name = "color",
	  .argument = "WHEN",
	  .kind = OPTION_CHOICE,
	  .offset = AT(color),
	  .choices = colors,
	  .help = "auto, always or never" },
	{ .letter = 'q',
	  .name = "quiet",
	  .kind = OPTION_SWITCH,
	  .offset = AT(quiet),
	  .help = "the answer only: no tables" },
	{ .letter = 'v',
	  .name = "verbose",
	  .kind = OPTION_SWITCH,
	  .offset = AT(verbose),
	  .help = "more about how the numbers came about" },
};

struct view view_default(void)
{
	return (struct view){
		.sort = VIEW_SORT_NONE,
		.by = -1,
		.top = VIEW_TOP_DEFAULT,
		.min_percent = -1,
		.color = COLOR_AUTO,
	};
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
		.user_code = view->user_code,
		.from_ns = view->from_ns,
		.to_ns = view->to_ns,
	};
}

double view_min_share(const struct view *view, bool tree)
{
	if (view->min_percent >= 0)
		return view->min_percent / 100;
	return tree ? 0.02 : 0.005;
}

bool view_is_filtered(const struct view *view)
{
	return view->thread || view->process || view->from_ns || view->to_ns ||
	       view->on_cpu != view->off_cpu;
}

int view_check(const struct view *view, struct error *err)
{
	if (view->to_ns && view->to_ns <= view->from_ns)
		return error_set(err, 0, "--to is not later than --from: nothing is left to show");
	if (view->sort == VIEW_SORT_LINE && view->by >= 0 && view->by != BY_LINE)
		return error_set(err, 0,
		                 "--sort line ranks source lines: it does not go with --by %s",
		                 groupings[view->by]);
	return 0;
}
