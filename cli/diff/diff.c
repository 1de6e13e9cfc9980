// SPDX-License-Identifier: MIT
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/diff/diff_counts.h"
#include "cli/diff/diff_print.h"
#include "cli/message.h"
#include "cli/report/cut.h"
#include "cli/report/diff_report.h"
#include "cli/report/view.h"
#include "cli/saved.h"
#include "cli/whole.h"
#include "merge/profile/profile.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIDENCE_DEFAULT 95
#define CONFIDENCE_MIN     50
#define MIN_PERCENT        0.2
#define TOTAL_FACTOR       1.5 // by which total times of ops have to differ more than own times

struct diff_options {
	struct view view; // windows and filters
	int by, sort;
	bool total, json, debuginfod;
	double confidence; // in per cent
	const char *regress;
	struct diff_gate gate;
	// Operands: files.
	char **base, **next;
	size_t base_count, next_count;
};

#define AT(field) offsetof(struct diff_options, field)

// In the order of enum diff_by.
static const char *const groupings[] = { "run",    "wall",    "function", "line",  "module", "file",
	                                 "thread", "process", "op",       "shape", "kernel", NULL };
static const char *const sorts[] = { "change", "ratio", "base", "new", NULL };

static const struct option_spec rows[] = {
	{ .name = "by",
	  .argument = "WHAT",
	  .kind = OPTION_CHOICE,
	  .offset = AT(by),
	  .choices = groupings,
	  .help = "one table: run, wall, function, line, module, file, thread, process, op, "
	          "shape, kernel" },
	{ .name = "sort",
	  .argument = "KEY",
	  .kind = OPTION_CHOICE,
	  .offset = AT(sort),
	  .choices = sorts,
	  .help = "change, ratio, base or new: largest first" },
	{ .name = "total",
	  .kind = OPTION_SWITCH,
	  .offset = AT(total),
	  .help = "times with what is called, not self times" },
	COMMON_TOP(AT(view.top)),
	{ .name = "min-pct",
	  .argument = "X",
	  .kind = OPTION_PERCENT,
	  .offset = AT(view.min_percent),
	  .help = "leave out rows below X % on both sides (0.2)" },
	{ .name = "confidence",
	  .argument = "PCT",
	  .kind = OPTION_PERCENT,
	  .offset = AT(confidence),
	  .help = "of what is said to have changed, all rows together (95)" },
	{ .name = "regress",
	  .argument = "LIMIT",
	  .kind = OPTION_TEXT,
	  .offset = AT(regress),
	  .help = "PCT or PCT,SECONDS: exit with 91 if NEW is slower by both, 92 if nobody can "
	          "tell" },
};

static const struct option_spec others[] = {
	{ .name = "json", .kind = OPTION_SWITCH, .offset = AT(json), .help = "for programs" },
	COMMON_QUIET(AT(view.quiet)),
	COMMON_DEBUGINFOD(AT(debuginfod)),
};

#define GROUPS 4

static void make_groups(struct diff_options *options, struct option_group *groups)
{
	groups[0] = (struct option_group){ "Rows", rows, sizeof(rows) / sizeof(rows[0]), options };
	groups[1] = view_part_options(&options->view);
	groups[1].title = "Part of each run";
	groups[2] = (struct option_group){ "Other", others, sizeof(others) / sizeof(others[0]),
		                           options };
	groups[3] = display_options(&options->view.display);
	groups[3].title = NULL;
}

// "5" or "5,0.2": per cent, seconds.
static int parse_regress(struct diff_options *options, struct error *err)
{
	const char *text = options->regress;
	char *end;

	if (!text)
		return 0;
	options->gate.asked = true;
	options->gate.ratio = strtod(text, &end) / 100;
	bool good = end != text && options->gate.ratio >= 0 && isfinite(options->gate.ratio);
	if (good && *end == ',') {
		const char *rest = end + 1;
		options->gate.least_ns = strtod(rest, &end) * 1e9;
		good = end != rest && options->gate.least_ns > 0 &&
		       isfinite(options->gate.least_ns);
	}
	if (!good || *end)
		return error_set(err, 0,
		                 "--regress \"%s\": not a number of per cent, or two with a comma, "
		                 "per cent and seconds",
		                 text);
	return 0;
}

static int parse_operands(struct diff_options *options, char **words, int count, char **behind,
                          int behind_count, struct error *err)
{
	bool lists = behind_count >= 0;

	options->base = words;
	options->base_count = lists ? (size_t)count : (size_t)(count > 0);
	options->next = lists ? behind : words + 1;
	options->next_count = lists ? (size_t)behind_count : (size_t)(count > 1);
	if (!lists && count > 2)
		return error_set(
			err, 0,
			"two files, or repeated runs with -- between them, BASE ... -- NEW "
			"...: \"%s\" is too many",
			words[2]);
	if (!options->base_count || (lists && !options->next_count))
		return error_set(err, 0, "which profiles? bottleneck diff BASE [NEW]");
	return 0;
}

static int parse(struct diff_options *options, int argc, char **argv, struct error *err)
{
	struct option_group groups[GROUPS];
	int split = 1;

	*options = (struct diff_options){ .view = view_default(),
		                          .by = -1,
		                          .confidence = CONFIDENCE_DEFAULT };
	make_groups(options, groups);
	while (split < argc && strcmp(argv[split], "--") != 0)
		split++;
	int first = option_parse(groups, GROUPS, split, argv, OPTION_OPERANDS_MIX, err);
	if (first < 0 || parse_regress(options, err) < 0 || view_check(&options->view, err) < 0)
		return -1;
	if (options->confidence < CONFIDENCE_MIN || options->confidence > 99.99)
		return error_set(err, 0, "--confidence is from %d to 99.99", CONFIDENCE_MIN);
	if (options->view.display.help)
		return 0;
	return parse_operands(options, argv + first, split - first, argv + split + 1,
	                      argc - split - 1, err);
}

// The profiles of one side, and what of each counts.
struct side {
	struct profile **profiles;
	struct diff_part *parts;
	const char **paths;
	size_t count;
};

static void side_fini(struct side *side)
{
	for (size_t i = 0; i < side->count; i++)
		profile_free(side->profiles[i]);
	free(side->profiles);
	free(side->parts);
	free(side->paths);
}

static void side_at_scope_end(struct side *side)
{
	side_fini(side);
}

static int read_one(struct side *side, const char *path, const struct diff_options *options,
                    struct error *err)
{
	struct view view = options->view;
	struct profile *profile = saved_read(path, options->debuginfod, err);

	if (!profile)
		return -1;
	side->profiles[side->count] = profile;
	side->paths[side->count] = path ? path : "the last run";
	struct diff_part *part = &side->parts[side->count++];
	if (cut_check(&view, profile, err) < 0 || cut_resolve(&view, profile, err) < 0)
		return error_wrap(err, "\"%s\"", path ? path : "the last run");
	if (view.miss)
		return error_set(err, 0,
		                 "\"%s\": the part of the run that was asked for is not there",
		                 path ? path : "the last run");
	*part = (struct diff_part){ .profile = profile,
		                    .query = view_query(&view, BY_FUNCTION, SORT_SELF),
		                    .steps = view.steps };
	return 0;
}

static int read_side(struct side *side, char **paths, size_t count,
                     const struct diff_options *options, struct error *err)
{
	size_t room = count ? count : 1;

	side->profiles = calloc(room, sizeof(*side->profiles));
	side->parts = calloc(room, sizeof(*side->parts));
	side->paths = calloc(room, sizeof(*side->paths));
	if (!side->profiles || !side->parts || !side->paths)
		return error_set(err, ENOMEM, "could not read the profiles");
	if (!count)
		return read_one(side, NULL, options, err);
	for (size_t i = 0; i < count; i++)
		if (read_one(side, paths[i], options, err) < 0)
			return -1;
	return 0;
}

// The largest change that is one; 0: there is none.
static double largest_change(const struct diff *diff)
{
	double most = 0;

	for (size_t i = 0; i < diff->count; i++)
		if (diff->rows[i].verdict == DIFF_CHANGED)
			most = fmax(most, fabs(diff->rows[i].change_ns));
	return most;
}

// A label's own time is little: where ops differ with what they call, and hardly by themselves, the
// table has their total times.
static int choose_ops(struct diff_report *report, const struct diff_query *usual, struct error *err)
{
	struct diff_query query = *usual;

	query.by = DIFF_OP;
	query.total = true;
	if (usual->total || !report->tables[DIFF_OP]->count)
		return 0;
	struct diff *total = diff_new(report->base, report->next, &query, err);
	if (!total)
		return -1;
	report->ops_total =
		largest_change(total) > TOTAL_FACTOR * largest_change(report->tables[DIFF_OP]);
	if (!report->ops_total) {
		diff_free(total);
		return 0;
	}
	diff_free(report->tables[DIFF_OP]);
	report->tables[DIFF_OP] = total;
	return 0;
}

static int fill_tables(struct diff_report *report, const struct diff_options *options,
                       struct error *err)
{
	static const enum diff_by usual[] = { DIFF_RUN,  DIFF_OWNER, DIFF_FUNCTION,
		                              DIFF_LINE, DIFF_OP,    DIFF_KERNEL };
	struct diff_query query = {
		.total = options->total,
		.sort = (enum diff_sort)options->sort,
		.confidence = report->confidence,
		.min_share = options->view.min_percent >= 0 ? options->view.min_percent / 100
		                                            : MIN_PERCENT / 100,
	};

	int owners = diff_has_owners(report->base, report->next, err);
	if (owners < 0)
		return -1;
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		query.by = usual[i];
		bool wanted = report->chosen           ? query.by == DIFF_RUN
		              : query.by == DIFF_OWNER ? owners > 0
		                                       : true;
		if (wanted &&
		    !(report->tables[query.by] = diff_new(report->base, report->next, &query, err)))
			return -1;
	}
	if (!report->chosen && choose_ops(report, &query, err) < 0)
		return -1;
	if (!report->chosen || report->tables[options->by])
		return 0;
	query.by = (enum diff_by)options->by;
	report->tables[query.by] = diff_new(report->base, report->next, &query, err);
	return report->tables[query.by] ? 0 : -1;
}

// By what rows of counts go.
static int counts_by_of(int by, struct error *err)
{
	switch (by) {
	case -1:
	case DIFF_RUN:
	case DIFF_FUNCTION:
		return COUNTS_BY_FUNCTION;
	case DIFF_LINE:
		return COUNTS_BY_LINE;
	case DIFF_MODULE:
		return COUNTS_BY_MODULE;
	case DIFF_FILE:
		return COUNTS_BY_FILE;
	default:
		return error_set(err, 0, "--by %s does not apply to instruction counts",
		                 diff_by_name((enum diff_by)by));
	}
}

static int print_counts(struct diff_report *report, const struct diff_options *options,
                        const struct terminal *terminal, FILE *out, struct error *err)
{
	int by = counts_by_of(options->by, err);
	const struct diff_counts counts = {
		.base = report->base->parts[0].profile,
		.next = report->next->parts[0].profile,
		.base_path = report->base_paths[0],
		.next_path = report->next_paths[0],
		.by = (enum counts_by)by,
		.total = options->total,
		.quiet = report->quiet,
		.top = options->view.top,
		.gate = &report->gate,
	};

	if (by < 0)
		return -1;
	return diff_counts_print(&counts, options->json ? NULL : terminal, out, err);
}

static int print_times(struct diff_report *report, const struct diff_options *options,
                       const struct terminal *terminal, FILE *out, struct error *err)
{
	if (fill_tables(report, options, err) < 0)
		return -1;
	if (diff_report_count(report, err) < 0)
		return -1;
	diff_report_differ(report);
	diff_report_conclude(report);
	diff_report_judge(report);
	if (options->json)
		diff_report_json(report, out);
	else if (diff_report_print(report, terminal, out) < 0)
		return error_set(err, ENOMEM, "could not print the comparison");
	return 0;
}

// Whether both sides are counts of instructions; -1 if only one is, or there are several.
static int are_counts(const struct diff_report *report, struct error *err)
{
	size_t counts = 0, all = report->base->count + report->next->count;

	for (size_t i = 0; i < all; i++) {
		bool base = i < report->base->count;
		counts += profile_has_counts(
			base ? report->base->parts[i].profile
			     : report->next->parts[i - report->base->count].profile);
	}
	if (counts && counts < all)
		return error_set(err, 0,
		                 "instruction counts can only be compared with instruction counts");
	if (counts > 2)
		return error_set(err, 0,
		                 "instruction counts have no noise: give one file for each side");
	return counts != 0;
}

static int print(struct diff_report *report, const struct diff_options *options, struct error *err)
{
	struct terminal terminal = display_terminal(&options->view.display, stdout);
	int counts = are_counts(report, err);
	struct whole page;

	if (counts < 0 || whole_open(&page, "the comparison", err) < 0)
		return -1;
	page.text = options->json ? NULL : &terminal;
	int failed = counts ? print_counts(report, options, &terminal, page.out, err)
	                    : print_times(report, options, &terminal, page.out, err);
	return whole_print(&page, failed, stdout, err);
}

static void free_tables(struct diff_report *report)
{
	for (int by = 0; by < DIFF_TABLES; by++)
		diff_free(report->tables[by]);
}

static int compare(const struct diff_options *options, int *status, struct error *err)
{
	cleanup(side) struct side base = { 0 }, next = { 0 };

	if (read_side(&base, options->base, options->base_count, options, err) < 0 ||
	    read_side(&next, options->next, options->next_count, options, err) < 0)
		return -1;
	const struct diff_side base_side = { base.parts, base.count },
			       next_side = { next.parts, next.count };
	struct diff_report report = {
		.base = &base_side,
		.next = &next_side,
		.base_paths = base.paths,
		.next_paths = next.paths,
		.chosen = options->by >= 0,
		.total = options->total,
		.quiet = options->view.quiet,
		.top = options->view.top,
		.confidence = options->confidence / 100,
		.gate = options->gate,
	};
	int failed = print(&report, options, err);
	free_tables(&report);
	*status = report.gate.status;
	return failed;
}

static int run(int argc, char **argv)
{
	struct diff_options options;
	struct error err;
	int status = 0;

	if (parse(&options, argc, argv, &err) < 0) {
		message_error("diff", &err);
		return EXIT_REPORT;
	}
	if (options.view.display.help) {
		struct option_group groups[GROUPS];
		make_groups(&options, groups);
		return command_help(&command_diff, groups, GROUPS);
	}
	if (compare(&options, &status, &err) == 0)
		return status;
	message_error("diff", &err);
	return EXIT_REPORT;
}

const struct command command_diff = {
	.name = "diff",
	.usage = { "diff [OPTIONS] BASE [NEW]", "diff [OPTIONS] BASE ... -- NEW ..." },
	.summary = "compare two saved runs: what changed, and what is noise",
	.run = run,
};
