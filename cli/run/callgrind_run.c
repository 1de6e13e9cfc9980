// SPDX-License-Identifier: MIT
#include "cli/run/callgrind_run.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/temporary.h"
#include "cli/command.h"
#include "cli/run/job.h"
#include "cli/run/repeat_run.h"
#include "merge/file/callgrind.h"
#include "merge/profile/counts.h"
#include "merge/profile/repeats.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <paths.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNTS "counts."
#define SAID   "said."

static int make_directory(char *path, size_t size, struct error *err)
{
	const char *base = getenv("TMPDIR");

	snprintf(path, size, "%s/bottleneck-count-XXXXXX", base && *base ? base : "/tmp");
	if (mkdtemp(path)) {
		temporary_add(path);
		return 0;
	}
	error_set(err, errno, "could not make the directory \"%s\"", path);
	return error_hint(err, "Name another place in TMPDIR.");
}

static void remove_directory(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		unlinkat(dirfd(directory), entry->d_name, 0); // not "." and "..": those stay
	if (directory)
		closedir(directory);
	rmdir(path);
	temporary_forget(path);
}

// Programs that the program starts would inherit the setting; it is for them, too.
static void make_alike(void)
{
	int now = personality(0xffffffff);

	if (now >= 0)
		personality((unsigned long)now | ADDR_NO_RANDOMIZE);
	setenv("PYTHONHASHSEED", "0", 0);
}

static bool is_program(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

// Valgrind would say it itself, with the name as it is.
static int find_program(const char *name, struct error *err)
{
	const char *paths = getenv("PATH");
	char path[PATH_MAX];

	if (strchr(name, '/') && is_program(name))
		return 0;
	if (strchr(name, '/'))
		return error_set(err, access(name, F_OK) < 0 ? errno : EACCES,
		                 "could not run \"%s\"", name);
	for (paths = paths ? paths : _PATH_DEFPATH; *paths; paths += *paths == ':') {
		int length = (int)strcspn(paths, ":");
		snprintf(path, sizeof(path), "%.*s%s%s", length, paths, length ? "/" : "", name);
		if (is_program(path))
			return 0;
		paths += length;
	}
	return error_set(err, ENOENT, "could not run \"%s\"", name);
}

static int run(char *const *argv, const char *directory, struct job *job, int *status,
               struct error *err)
{
	char counts[PATH_MAX + 64], said[PATH_MAX + 64];
	char *head[] = { "valgrind",
		         "--tool=callgrind",
		         "--dump-line=yes",
		         "--trace-children=yes",
		         counts,
		         said,
		         "--" };
	size_t heads = sizeof(head) / sizeof(head[0]), words = 0;
	struct repeat repeat = { 0 };

	while (argv[words])
		words++;
	cleanup_free char **command = calloc(heads + words + 1, sizeof(*command));
	if (!command)
		return error_set(err, ENOMEM, "could not make the command");
	snprintf(counts, sizeof(counts), "--callgrind-out-file=%s/" COUNTS "%%p", directory);
	snprintf(said, sizeof(said), "--log-file=%s/" SAID "%%p", directory);
	memcpy(command, head, sizeof(head));
	memcpy(command + heads, argv, words * sizeof(*argv));
	make_alike();
	const struct repeat_run wanted = { .argv = command, .own_streams = true, .job = job };
	if (repeat_run(&wanted, &repeat, err) < 0)
		return -1;
	*status = repeat.status;
	return 0;
}

static int read_file(const char *path, struct profile *profile, struct error *err)
{
	cleanup_fclose FILE *file = fopen(path, "re");
	cleanup_free char *text = NULL;
	size_t capacity = 0;

	if (!file)
		return error_set(err, errno, "could not read \"%s\"", path);
	errno = 0;
	ssize_t size = getdelim(&text, &capacity, '\0', file);
	if (size < 0)
		return errno ? error_set(err, errno, "could not read \"%s\"", path)
		             : 0; // empty: a process that was killed
	profile_writable_counts(profile)->processes++;
	return callgrind_read((struct bytes){ (const uint8_t *)text, (size_t)size },
	                      profile_writable_counts(profile), profile_writable_strings(profile),
	                      err);
}

// The last line of what Valgrind said, without its "==123== ".
static void find_complaint(const char *path, char *line, size_t size)
{
	char buffer[512];
	FILE *file = fopen(path, "re");

	while (file && fgets(buffer, sizeof(buffer), file)) {
		buffer[strcspn(buffer, "\n")] = '\0';
		const char *text = strstr(buffer, "== ");
		text = text ? text + 3 : buffer;
		if (*text)
			snprintf(line, size, "%.200s", text);
	}
	if (file)
		fclose(file);
}

static int read_directory(const char *path, struct profile *profile, struct error *err)
{
	char file[PATH_MAX + 300], complaint[512] = "";
	DIR *directory = opendir(path);
	struct dirent *entry;
	int failed = 0;

	if (!directory)
		return error_set(err, errno, "could not read \"%s\"", path);
	while (!failed && (entry = readdir(directory))) {
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		if (strncmp(entry->d_name, COUNTS, strlen(COUNTS)) == 0)
			failed = read_file(file, profile, err);
		else if (strncmp(entry->d_name, SAID, strlen(SAID)) == 0)
			find_complaint(file, complaint, sizeof(complaint));
	}
	closedir(directory);
	if (failed || profile_writable_counts(profile)->all)
		return failed;
	error_set(err, 0, "valgrind has counted nothing%s%s", *complaint ? ": " : "", complaint);
	return -1;
}

int callgrind_run(char *const *argv, struct job *job, struct profile *profile, int *status,
                  struct error *err)
{
	char directory[PATH_MAX];

	*status = -1;
	if (find_program("valgrind", err) < 0) {
		error_set(err, ENOENT, "could not run valgrind, which counts");
		return error_hint(err, "Install the package valgrind.");
	}
	if (find_program(argv[0], err) < 0) {
		*status = W_EXITCODE(err->errnum == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN, 0);
		return -1;
	}
	if (make_directory(directory, sizeof(directory), err) < 0)
		return -1;
	int failed = run(argv, directory, job, status, err);
	if (!failed)
		failed = read_directory(directory, profile, err);
	remove_directory(directory);
	return failed;
}
