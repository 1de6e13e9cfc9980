// SPDX-License-Identifier: MIT
#include "tracer/reader/dead_runs.h"

#include "base/cleanup.h"
#include "tracer/protocol.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX    "bottleneck-"
#define SUFFIX    6     // letters that mkdtemp() puts there
#define LOOKS_MAX 20000 // entries of the parent: a huge one must not delay a run
#define AGE_MIN_S 10    // a run that is just starting has no lock yet

static bool lock(int fd)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_SETLK, &all) == 0;
}

int dead_runs_hold(const char *directory)
{
	cleanup_close int parent = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int fd = parent < 0 ? -1
	                    : openat(parent, PROTOCOL_ALIVE_FILE,
	                             O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || lock(fd))
		return fd;
	unlinkat(parent, PROTOCOL_ALIVE_FILE, 0); // without a lock it would tell of a dead run
	close(fd);
	return -1;
}

static bool is_name(const char *name)
{
	return strncmp(name, PREFIX, strlen(PREFIX)) == 0 &&
	       strlen(name) == strlen(PREFIX) + SUFFIX;
}

static bool is_ours(int fd, struct stat *status)
{
	return fstat(fd, status) == 0 && S_ISDIR(status->st_mode) && status->st_uid == geteuid() &&
	       !(status->st_mode & (S_IWOTH | S_ISVTX)) &&
	       time(NULL) - status->st_mtime >= AGE_MIN_S;
}

// The lock file of a run that does not hold its lock any more: locked. -1: there is none.
static int take_lock(int directory)
{
	struct stat status;
	int fd = openat(directory, PROTOCOL_ALIVE_FILE,
	                O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	    status.st_uid == geteuid() && lock(fd))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

// The one that processes of other users write to (session.c).
static void remove_inside(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	for (struct dirent *entry; list && (entry = readdir(list));)
		unlinkat(fd, entry->d_name, 0);
	if (list)
		closedir(list);
	else if (fd >= 0)
		close(fd);
	unlinkat(directory, name, AT_REMOVEDIR);
}

// The lock file goes last: until then a removal that was interrupted can be taken up again.
static void empty(int directory)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (!list) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(list));)
		if (strcmp(entry->d_name, PROTOCOL_ALIVE_FILE) != 0 &&
		    unlinkat(directory, entry->d_name, 0) < 0 && errno == EISDIR)
			remove_inside(directory, entry->d_name);
	closedir(list);
	unlinkat(directory, PROTOCOL_ALIVE_FILE, 0);
}

static void remove_if_dead(int parent, const char *name)
{
	cleanup_close int fd =
		openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || !is_ours(fd, &status))
		return;
	cleanup_close int held = take_lock(fd);
	if (held < 0)
		return;
	empty(fd);
	unlinkat(parent, name,
	         AT_REMOVEDIR); // of another that has come to be there: if it is empty
}

void dead_runs_remove(const char *parent)
{
	int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (!list) {
		if (fd >= 0)
			close(fd);
		return;
	}
	struct dirent *entry;
	for (int looks = 0; looks < LOOKS_MAX && (entry = readdir(list)); looks++)
		if (is_name(entry->d_name))
			remove_if_dead(fd, entry->d_name);
	closedir(list);
}
