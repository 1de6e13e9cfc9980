// SPDX-License-Identifier: MIT
#include "cli/state.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAST_RUN "bottleneck/last.bneck"
#define KALLSYMS "bottleneck/kallsyms"
#define NAMES    "bottleneck/names"
#define PRICES   "bottleneck/prices"

// Whose PATH is, or would be: of what there is of it.
static uid_t owner_of(const char *path)
{
	cleanup_free char *copy = strdup(path);
	struct stat status;

	while (copy && stat(copy, &status) < 0) {
		char *slash = strrchr(copy, '/');
		if (!slash || slash == copy)
			return 0;
		*slash = '\0';
	}
	return copy ? status.st_uid : geteuid();
}

// Root that was handed another user's environment (sudo -E) would make things there that are the
// other's to move, and that he cannot remove; and it would follow his links.
static bool is_foreign(const char *path)
{
	return geteuid() == 0 && owner_of(path) != 0;
}

static int put(const char *directory, const char *below, const char *file, char *buffer,
               size_t size, struct error *err)
{
	int length = snprintf(buffer, size, "%s%s/%s", directory, below, file);

	if (length < 0 || (size_t)length >= size)
		return error_set(err, ENAMETOOLONG, "could not keep the last run");
	return 0;
}

bool state_is_moved(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	return state && *state == '/' ? is_foreign(state)
	                              : home && *home == '/' && is_foreign(home);
}

static int path_of(const char *file, char *buffer, size_t size, struct error *err)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state_is_moved()) {
		const struct passwd *self = getpwuid(geteuid());
		if (self && self->pw_dir[0] == '/' && !is_foreign(self->pw_dir))
			return put(self->pw_dir, "/.local/state", file, buffer, size, err);
		error_set(err, 0, "the home directory belongs to another user");
		return error_hint(err, "Name a file with -o FILE, or set XDG_STATE_HOME to a "
		                       "directory of yours.");
	}
	// The specification has relative paths ignored.
	if (state && *state == '/')
		return put(state, "", file, buffer, size, err);
	if (home && *home == '/')
		return put(home, "/.local/state", file, buffer, size, err);
	return error_set(err, 0, "XDG_STATE_HOME and HOME are not set");
}

int state_path(char *buffer, size_t size, struct error *err)
{
	return path_of(LAST_RUN, buffer, size, err);
}

// Makes every missing directory above PATH, for the user alone. Mostly all are there.
static int make_parents(char *path, struct error *err)
{
	char *last = strrchr(path, '/');
	struct stat status;

	*last = '\0';
	bool exists = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
	*last = '/';
	if (exists)
		return 0;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		int failed = mkdir(path, 0700) < 0 && errno != EEXIST;
		int reason = errno;
		if (failed)
			error_set(err, reason, "could not make the directory \"%s\"", path);
		*slash = '/';
		if (failed)
			return -1;
	}
	return 0;
}

int state_prepare(char *buffer, size_t size, struct error *err)
{
	if (state_path(buffer, size, err) < 0 || make_parents(buffer, err) < 0)
		return -1;
	return state_check_output(buffer, err);
}

int state_kallsyms(char *buffer, size_t size, struct error *err)
{
	return path_of(KALLSYMS, buffer, size, err) < 0 ? -1 : make_parents(buffer, err);
}

int state_prices(char *buffer, size_t size, struct error *err)
{
	return path_of(PRICES, buffer, size, err) < 0 ? -1 : make_parents(buffer, err);
}

int state_names(char *buffer, size_t size, struct error *err)
{
	return path_of(NAMES, buffer, size, err) < 0 ? -1 : make_parents(buffer, err);
}

int state_check_output(const char *path, struct error *err)
{
	struct stat st;
	const char *slash = strrchr(path, '/');
	cleanup_free char *directory =
		slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

	if (!directory)
		return error_set(err, ENOMEM, "could not write \"%s\"", path);
	bool exists = stat(path, &st) == 0;
	if (exists && S_ISDIR(st.st_mode))
		return error_set(err, EISDIR, "could not write \"%s\"", path);
	if (exists && !S_ISREG(st.st_mode))
		return error_set(err, 0, "cannot write \"%s\": it is not a regular file", path);
	if (slash && !slash[1])
		return error_set(err, EISDIR, "could not write \"%s\"", path);
	if (access(directory, W_OK | X_OK) < 0)
		return error_set(err, errno, "could not write \"%s\"", path);
	return 0;
}
