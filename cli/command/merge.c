// SPDX-License-Identifier: MIT
// bottleneck merge: the profiles of many ranks, or of many runs, into one.
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/message.h"
#include "cli/report/display.h"
#include "cli/state.h"
#include "merge/join/merger.h"
#include "merge/profile/profile.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

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
	COMMON_TIMELINE_LIMIT(AT(timeline_limit)),
};

// One file that is named.
struct named {
	dev_t device;
	ino_t inode;
	char **path;
};

static int compare_named(const void *a, const void *b)
{
	const struct named *left = a, *right = b;

	if (left->device != right->device)
		return left->device < right->device ? -1 : 1;
	if (left->inode != right->inode)
		return left->inode < right->inode ? -1 : 1;
	return (left->path > right->path) - (left->path < right->path);
}

// Files that are there. NULL if there is no memory.
static struct named *list_files(char **paths, size_t *count)
{
	size_t all = 0;

	while (paths[all])
		all++;
	struct named *files = calloc(all + 1, sizeof(*files));
	*count = 0;
	for (size_t i = 0; files && i < all; i++) {
		struct stat st;
		if (stat(paths[i], &st) == 0)
			files[(*count)++] = (struct named){ st.st_dev, st.st_ino, &paths[i] };
	}
	if (files)
		qsort(files, *count, sizeof(*files), compare_named);
	return files;
}

// A file that is named twice would count twice. Paths that are left out become "".
static int refuse_twins(const struct merge_options *options, char **paths, struct error *err)
{
	size_t count;
	cleanup_free struct named *files = list_files(paths, &count);

	if (!files)
		return error_set(err, ENOMEM, "could not list the profiles");
	for (size_t i = 1; i < count; i++) {
		if (files[i].device != files[i - 1].device || files[i].inode != files[i - 1].inode)
			continue;
		error_set(err, 0, "\"%s\" is named twice", *files[i].path);
		error_hint(err, "Name each profile once: what is in it would be counted twice.");
		if (!options->keep_going)
			return -1;
		message_error("merge", err);
		files[i].path[0] = "";
	}
	return 0;
}

// What the plan needs of each file. Paths that are left out become "".
static int plan(const struct merge_options *options, char **paths, struct merge_plan *plan,
                struct error *err)
{
	for (char **path = paths; *path; path++) {
		if (!**path)
			continue;
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
	bool any = false;

	for (char **path = paths; *path; path++) {
		cleanup(profile) struct profile *part = **path ? profile_read(*path, err) : NULL;
		if (part && merger_add(merger, part, err) < 0)
			return error_wrap(err, "\"%s\"", *path);
		any |= part != NULL;
		if (part)
			continue;
		if (**path && !options->keep_going)
			return -1;
		if (**path)
			message_error("merge", err);
		merger_leave_out(merger);
	}
	return any ? 0 : error_set(err, 0, "there is nothing to merge");
}

// Who interrupts us finds all of it afterwards, or nothing: not the temporary file of half of it.
static int write_whole(const struct profile *profile, const char *path, struct error *err)
{
	const int held[] = { SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGXFSZ };
	sigset_t signals, old;

	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		sigaddset(&signals, held[i]);
	sigprocmask(SIG_BLOCK, &signals, &old);
	int failed = profile_write(profile, path, err);
	if (failed) // beyond a limit of file sizes it is that: the message says so
		signal(SIGXFSZ, SIG_IGN);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return failed;
}

static int merge(const struct merge_options *options, char **paths, struct error *err)
{
	struct merge_plan all = { .timeline = options->timeline_limit };

	if (state_check_output(options->output, err) < 0 || refuse_twins(options, paths, err) < 0 ||
	    plan(options, paths, &all, err) < 0)
		return -1;
	cleanup(merger) struct merger *merger = merger_new(&all, err);
	if (!merger || add_all(options, paths, merger, err) < 0)
		return -1;
	cleanup(profile) struct profile *profile = merger_finish(merger, err);
	return profile ? write_whole(profile, options->output, err) : -1;
}

#define GROUPS 2

static void make_groups(struct merge_options *options, struct display *display,
                        struct option_group *groups)
{
	groups[0] =
		(struct option_group){ "Merge", specs, sizeof(specs) / sizeof(specs[0]), options };
	groups[1] = display_options(display);
}

static int check(const struct merge_options *options, char **paths, struct error *err)
{
	if (!options->output)
		return error_set(err, 0, "-o FILE is missing: where to write the merged profile");
	return *paths ? 0 : error_set(err, 0, "no profiles are named");
}

static int run(int argc, char **argv)
{
	struct merge_options options = { .timeline_limit = PROFILE_TIMELINE };
	struct display display = { .color = COLOR_AUTO };
	struct option_group groups[GROUPS];
	struct error err;

	make_groups(&options, &display, groups);
	int first = option_parse(groups, GROUPS, argc, argv, OPTION_OPERANDS_MIX, &err);
	if (first >= 0 && display.help)
		return command_help(&command_merge, groups, GROUPS);
	if (first >= 0 && check(&options, argv + first, &err) == 0 &&
	    merge(&options, argv + first, &err) == 0)
		return 0;
	message_error("merge", &err);
	return EXIT_REPORT;
}

const struct command command_merge = {
	.name = "merge",
	.usage = { "merge [OPTIONS] -o FILE PROFILE ..." },
	.summary = "join the profiles of many ranks or runs into one",
	.run = run,
};
