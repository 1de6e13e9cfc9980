// SPDX-License-Identifier: MIT
// bottleneck merge: the profiles of many ranks, or of many runs, into one.
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/display.h"
#include "cli/message.h"
#include "cli/state.h"
#include "merge/merger.h"
#include "merge/profile.h"

#include <stdio.h>

struct merge_options {
	const char *output;
	bool keep_going;
	uint32_t timeline_limit; /* slices; 0: none */
};

#define AT(field) offsetof(struct merge_options, field)

static const struct option_spec specs[] = {
	{ .letter = 'o',
	  .name = "output",
	  .argument = "FILE",
	  .kind = OPTION_TEXT,
	  .offset = AT(output),
	  .help = "write the merged profile here" },
	{ .letter = 'k',
	  .name = "keep-going",
	  .kind = OPTION_SWITCH,
	  .offset = AT(keep_going),
	  .help = "leave out files that cannot be read" },
	{ .name = "timeline-limit",
	  .argument = "N",
	  .kind = OPTION_NUMBER,
	  .offset = AT(timeline_limit),
	  .max = PROFILE_TIMELINE_MAX,
	  .help = "keep so many calls, waits and GPU works one by one, or 0 (250000)" },
};

// What the plan needs of each file. Files that are left out become NULL.
static int plan(const struct merge_options *options, char **paths, struct merge_plan *plan,
                struct error *err)
{
	for (char **path = paths; *path; path++) {
		cleanup(profile) struct profile *facts = profile_read_run(*path, err);
		if (facts) {
			merge_plan_add(plan, facts);
			continue;
		}
		if (!options->keep_going)
			return -1;
		message_error("merge", err);
		*path = "";
	}
	return plan->count ? 0 : error_set(err, 0, "there is nothing to merge");
}

static int add_all(const struct merge_options *options, char **paths, struct merger *merger,
                   struct error *err)
{
	for (char **path = paths; *path; path++) {
		if (!**path)
			continue;
		cleanup(profile) struct profile *part = profile_read(*path, err);
		if (part && merger_add(merger, part, err) < 0)
			return error_wrap(err, "\"%s\"", *path);
		if (!part && !options->keep_going)
			return -1;
		if (!part)
			message_error("merge", err);
	}
	return 0;
}

static int merge(const struct merge_options *options, char **paths, struct error *err)
{
	struct merge_plan all = { .timeline = options->timeline_limit };

	if (state_check_output(options->output, err) < 0 || plan(options, paths, &all, err) < 0)
		return -1;
	cleanup(merger) struct merger *merger = merger_new(&all, err);
	if (!merger || add_all(options, paths, merger, err) < 0)
		return -1;
	cleanup(profile) struct profile *profile = merger_finish(merger, err);
	return profile ? profile_write(profile, options->output, err) : -1;
}

static int parse(struct merge_options *options, struct display *display, int argc, char **argv,
                 struct error *err)
{
	const struct option_group groups[] = {
		{ "Merge", specs, sizeof(specs) / sizeof(specs[0]), options },
		display_options(display),
	};
	int first = option_parse(groups, 2, argc, argv, OPTION_OPERANDS_MIX, err);

	if (first < 0)
		return -1;
	if (display->help) {
		printf("usage: bottleneck merge [OPTIONS] -o FILE PROFILE ...\n");
		option_help(groups, 2, stdout);
		return first;
	}
	if (!options->output)
		return error_set(err, 0, "-o FILE is missing: where to write the merged profile");
	if (!argv[first])
		return error_set(err, 0, "no profiles are named");
	return first;
}

static int run(int argc, char **argv)
{
	struct merge_options options = { .timeline_limit = PROFILE_TIMELINE };
	struct display display = { .color = COLOR_AUTO };
	struct error err;
	int first = parse(&options, &display, argc, argv, &err);

	if (first >= 0 && display.help)
		return 0;
	if (first >= 0 && merge(&options, argv + first, &err) == 0)
		return 0;
	message_error("merge", &err);
	return EXIT_REPORT;
}

const struct command command_merge = {
	.name = "merge",
	.summary = "join the profiles of many ranks, or of many runs, into one",
	.run = run,
};
