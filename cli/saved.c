// SPDX-License-Identifier: MIT
#include "cli/saved.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/progress.h"
#include "cli/state.h"
#include "cli/terminal.h"
#include "merge/profile/profile.h"
#include "merge/record/recording.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static struct profile *read_last(struct error *err)
{
	char path[PATH_MAX];

	if (state_path(path, sizeof(path), err) < 0)
		return NULL;
	if (access(path, F_OK) < 0) {
		error_set(err, errno, "no run is kept in \"%s\"", path);
		error_hint(err, "Run a program first: bottleneck PROGRAM [ARGUMENT ...]");
		return NULL;
	}
	return profile_read(path, err);
}

// A checkpoint of a run that did not end in order has addresses only.
static int name_addresses(struct profile *profile, bool debuginfod, struct error *err)
{
	struct terminal terminal = terminal_of(stderr, 0, COLOR_NEVER);
	struct progress progress;

	if (profile_is_symbolized(profile))
		return 0;
	progress_start(&progress, &terminal);
	int failed = recording_name_checkpoint(profile, debuginfod, progress_tell, &progress, err);
	progress_end(&progress);
	return failed;
}

struct profile *saved_read(const char *path, bool debuginfod, struct error *err)
{
	cleanup(profile) struct profile *profile = path ? profile_read(path, err) : read_last(err);

	if (!profile || name_addresses(profile, debuginfod, err) < 0)
		return NULL;
	return steal(profile);
}
