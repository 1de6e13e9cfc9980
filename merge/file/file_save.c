// SPDX-License-Identifier: MIT
#include "base/cleanup.h"
#include "base/error.h"
#include "merge/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *hint_for(int errnum)
{
	switch (errnum) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return "Free some space, or name a file elsewhere with -o FILE.";
	case EACCES:
	case EPERM:
	case EROFS:
		return "Name a file in a directory that you may write to with -o FILE.";
	case ENOENT:
	case ENOTDIR:
		return "Make the directory first, or name another file with -o FILE.";
	default:
		return NULL;
	}
}

static int cannot_write(struct error *err, int errnum, const char *path)
{
	const char *hint = hint_for(errnum);

	error_set(err, errnum, "could not write \"%s\"", path);
	if (hint)
		error_hint(err, "%s", hint);
	return -1;
}

static int write_all(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t n = write(fd, bytes, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

// The rename itself must be on the disk, too. Not all file systems can do that; none needs it.
static void sync_directory(const char *path)
{
	cleanup_free char *copy = strdup(path);
	cleanup_close int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0)
		fsync(fd);
}

static int fill(int fd, mode_t mode, const void *bytes, size_t size)
{
	if (write_all(fd, bytes, size) < 0 || fchmod(fd, mode) < 0 || fsync(fd) < 0)
		return -1;
	return 0;
}

// ".name.XXXXXX" beside PATH: rename(2) works within one file system only.
static char *temporary_beside(const char *path)
{
	const char *slash = strrchr(path, '/');
	int directory = slash ? (int)(slash + 1 - path) : 0;
	char *name;

	if (asprintf(&name, "%.*s.%.200s.XXXXXX", directory, path, path + directory) < 0)
		return NULL;
	return name;
}

static int replace(const char *path, mode_t mode, const void *bytes, size_t size)
{
	cleanup_free char *temporary = temporary_beside(path);
	cleanup_close int fd = temporary ? mkostemp(temporary, O_CLOEXEC) : -1; // O_EXCL, 0600

	if (fd < 0)
		return -1;
	if (fill(fd, mode, bytes, size) == 0 && rename(temporary, path) == 0)
		return 0;
	int errnum = errno;
	unlink(temporary);
	errno = errnum;
	return -1;
}

int file_save(const char *path, const void *bytes, size_t size, struct error *err)
{
	// Where PATH is a link, what it leads to is replaced, not the link.
	cleanup_free char *resolved = realpath(path, NULL);
	const char *target = resolved ? resolved : path;
	struct stat st;
	mode_t mode = 0600;

	if (stat(target, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return cannot_write(err, EISDIR, path);
		if (!S_ISREG(st.st_mode)) // never put a file in the place of /dev/null
			return error_set(err, 0, "cannot write \"%s\": it is not a regular file",
			                 path);
		mode = st.st_mode & 0777;
	}
	if (replace(target, mode, bytes, size) < 0)
		return cannot_write(err, errno, path);
	sync_directory(target);
	return 0;
}
