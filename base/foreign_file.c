// SPDX-License-Identifier: MIT
#include "base/foreign_file.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>

static int check(const char *path, const struct foreign_rules *rules, const struct stat *st,
                 struct error *err)
{
	if (S_ISLNK(st->st_mode))
		return error_set(err, 0, "\"%s\" is a symbolic link", path);
	if (!S_ISREG(st->st_mode))
		return error_set(err, 0, "\"%s\" is not a regular file", path);
	if (!rules)
		return 0;
	if (rules->owned && st->st_uid != rules->user && st->st_uid != 0)
		return error_set(err, 0, "\"%s\" belongs to uid %u, not to uid %u", path,
		                 st->st_uid, rules->user);
	if (rules->no_links && st->st_nlink > 1)
		return error_set(err, 0, "\"%s\" is a hard link to another file", path);
	if (rules->max_bytes && (uint64_t)st->st_size > rules->max_bytes)
		return error_set(err, 0, "\"%s\" has %llu MB, and at most %llu MB are read", path,
		                 (unsigned long long)st->st_size >> 20,
		                 (unsigned long long)rules->max_bytes >> 20);
	if ((uint64_t)st->st_mtim.tv_sec * NS_PER_SEC + (uint64_t)st->st_mtim.tv_nsec <
	    rules->not_before_ns)
		return error_set(err, 0, "\"%s\" is older than its process", path);
	return 0;
}

// The file that PLACE is a handle of, not what its path leads to by now.
static int open_contents(int place)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	// A regular file neither blocks nor becomes a terminal; only for the case that this link is
	// not what we take it for.
	return open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

int foreign_open(const char *path, const struct foreign_rules *rules, struct stat *st,
                 struct error *err)
{
	int follow = rules && rules->no_links ? O_NOFOLLOW : 0;
	struct stat named, opened;

	cleanup_close int place = open(path, O_PATH | O_CLOEXEC | follow);
	if (place < 0 || fstat(place, &named) < 0)
		return error_set(err, errno, "could not open \"%s\"", path);
	if (check(path, rules, &named, err) < 0)
		return -1;
	cleanup_close int fd = open_contents(place);
	if (fd < 0 && errno == ENOENT) // without /proc: what we then get is compared below
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | follow);
	if (fd < 0 || fstat(fd, &opened) < 0)
		return error_set(err, errno, "could not open \"%s\"", path);
	if (opened.st_dev != named.st_dev || opened.st_ino != named.st_ino)
		return error_set(err, 0, "\"%s\" was replaced while it was opened", path);
	if (check(path, rules, &opened, err) < 0)
		return -1;
	if (st)
		*st = opened;
	return steal_fd(&fd);
}

int foreign_open_again(int fd, const char *path, const struct foreign_rules *rules, struct stat *st,
                       struct error *err)
{
	cleanup_close int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (again < 0 || fstat(again, st) < 0)
		return error_set(err, errno, "could not open \"%s\"", path);
	return check(path, rules, st, err) < 0 ? -1 : steal_fd(&again);
}
