// SPDX-License-Identifier: MIT
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/export/exports.h"
#include "cli/message.h"
#include "cli/pager.h"
#include "cli/report/counts.h"
#include "cli/report/cut.h"
#include "cli/report/gate.h"
#include "cli/report/repeats_json.h"
#include "cli/report/report_json.h"
#include "cli/saved.h"
#include "cli/text/text.h"
#include "cli/whole.h"
#include "merge/profile/profile.h"
#include "merge/query/query_repeats.h"

#include <stdio.h>
#include <string.h>

struct report_options {
	struct view view;
	bool json;
	bool debuginfod;
	const char *path;
};

#define AT(field) offsetof(struct report_options, field)

static const struct option_spec others[] = {
	{ .name = "json",
	  .kind = OPTION_SWITCH,
	  .offset = AT(json),
	  .help = "the findings for programs, see bottleneck-findings(7)" },
	COMMON_DEBUGINFOD(AT(debuginfod)),
};

#define GROUPS 4

static void make_groups(struct report_options *options, struct option_group *groups)
{
	groups[0] = view_options(&options->view);
	groups[1] = view_part_options(&options->view);
	groups[2] = (struct option_group){ "Other", others, sizeof(others) / sizeof(others[0]),
		                           options };
	groups[3] = display_options(&options->view.display);
	groups[3].title = NULL;
}

static int parse(struct report_options *options, int argc, char **argv, struct error *err)
{
	struct option_group groups[GROUPS];

	*options = (struct report_options){ .view = view_default() };
	make_groups(options, groups);
	int first = option_parse(groups, GROUPS, argc, argv, OPTION_OPERANDS_MIX, err);
	if (first < 0 || view_check(&options->view, err) < 0 ||
	    exports_check(&options->view, true, err) < 0)
		return -1;
	if (options->json && options->view.exports.count)
		return error_set(err, 0, "--json is a report, and --export is in place of one");
	options->path = argv[first];
	if (argv[first] && argv[first + 1])
		return error_set(err, 0, "one file at a time: \"%s\" is too many", argv[first + 1]);
	return 0;
}

static int print_counts(const struct text *text, bool json, struct error *err)
{
	const uint32_t top = text->view->top;
	const struct counts_shown shown = { .top = top ? top : VIEW_TOP_DEFAULT };
	cleanup(report) struct report r = text_report(text);

	if (json)
		return counts_json(text->profile, &shown.query, NULL, text->out, err);
	const struct section *s = section_count_report(&r, &shown, err);
	return s ? text_section(text, s, err) : -1;
}

// What the profile is of decides what is told, and in which form.
static int print_form(const struct text *text, bool json, struct error *err)
{
	const struct profile *p = text->profile;

	if (profile_has_counts(p))
		return print_counts(text, json, err);
	if (!json)
		return text_print(text, err);
	if (profile_has_repeats(p))
		return repeats_json(p, text->out, err);
	return report_json(p, text->view, text->limits, NULL, text->out, err);
}

// Texts that are longer than the screen go through the user's pager.
static int print_paged(struct whole *page, int failed, struct error *err)
{
	FILE *pager = page->text && !failed ? pager_open() : NULL;
	struct error left;

	if (!pager)
		return whole_print(page, failed, stdout, err);
	whole_print(page, 0, pager, &left); // fails where the user has left before the end
	pager_close(pager);
	return 0;
}

static int print_page(const struct profile *profile, const struct view *view, bool json,
                      const struct rule_limits *limits, struct error *err)
{
	struct whole page;

	if (whole_open(&page, "the report", err) < 0)
		return -1;
	struct text text = {
		.out = page.out,
		.profile = profile,
		.view = view,
		.terminal = display_terminal(&view->display, stdout),
		.limits = limits,
	};
	page.text = json ? NULL : &text.terminal;
	return print_paged(&page, print_form(&text, json, err), err);
}

// The exit status in *STATUS.
static int print(const struct report_options *options, int *status, struct error *err)
{
	struct view view = options->view;
	cleanup(rule_limits) struct rule_limits *limits = gate_limits(&view, err);
	if (!limits)
		return -1;
	cleanup(profile) struct profile *profile =
		saved_read(options->path, options->debuginfod, err);

	if (!profile)
		return -1;
	if (cut_check(&view, profile, err) < 0 || cut_resolve(&view, profile, err) < 0)
		return -1;
	if (view.exports.count ? exports_write(profile, &view, limits, err) < 0
	                       : print_page(profile, &view, options->json, limits, err) < 0)
		return -1;
	*status = gate_status(profile, &view, limits, err);
	return *status < 0 ? -1 : 0;
}

static int run(int argc, char **argv)
{
	struct report_options options;
	struct error err;
	int status = 0;

	if (parse(&options, argc, argv, &err) < 0) {
		message_error("report", &err);
		return EXIT_REPORT;
	}
	if (options.view.display.help) {
		struct option_group groups[GROUPS];
		make_groups(&options, groups);
		return command_help(&command_report, groups, GROUPS);
	}
	if (print(&options, &status, &err) == 0)
		return status;
	message_error("report", &err);
	return EXIT_REPORT;
}

const struct command command_report = {
	.name = "report",
	.usage = { "report [OPTIONS] [FILE]" },
	.summary = "print a saved run: other tables, another order, or one part",
	.run = run,
};
