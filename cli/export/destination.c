// SPDX-License-Identifier: MIT
#include "cli/export/destination.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static int cannot_write(const char *path, struct error *err)
{
	if (errno == ELOOP)
		return error_set(
			err, 0, "cannot write \"%s\": it is a symbolic link of another user", path);
	return error_set(err, errno, "could not write \"%s\"", path);
}

static bool is_regular(const char *path)
{
	struct stat status;

	return stat(path, &status) < 0 || S_ISREG(status.st_mode);
}

// The directory that PATH is in, in BUFFER.
static const char *directory_of(const char *path, char *buffer, size_t size)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return ".";
	snprintf(buffer, size, "%.*s", slash == path ? 1 : (int)(slash - path), path);
	return buffer;
}

int destination_check(const char *path, bool directory, struct error *err)
{
	char buffer[PATH_MAX];
	struct stat status;
	bool there = stat(path, &status) == 0;

	if (strlen(path) + 16 > PATH_MAX) {
		errno = ENAMETOOLONG;
		return cannot_write(path, err);
	}
	if (there && S_ISDIR(status.st_mode) != directory) {
		errno = directory ? ENOTDIR : EISDIR;
		return cannot_write(path, err);
	}
	// What is a regular file is replaced, which its directory has to allow.
	bool itself = there && (directory || !S_ISREG(status.st_mode));
	const char *asked = itself ? path : directory_of(path, buffer, sizeof(buffer));
	if (access(asked, W_OK | (itself && !directory ? 0 : X_OK)) < 0)
		return cannot_write(path, err);
	return 0;
}

static ssize_t write_gzip(void *cookie, const char *bytes, size_t size)
{
	gzFile file = cookie;
	unsigned part = size > INT_MAX ? INT_MAX : (unsigned)size;

	return part ? gzwrite(file, bytes, part) : 0;
}

static int close_gzip(void *cookie)
{
	return gzclose(cookie) == Z_OK ? 0 : -1;
}

// A stream that compresses into FD, which is its own from then on.
static FILE *open_gzip(int fd)
{
	gzFile file = gzdopen(fd, "wb");
	FILE *out = NULL;

	if (!file)
		return NULL;
	out = fopencookie(file, "w",
	                  (cookie_io_functions_t){ .write = write_gzip, .close = close_gzip });
	if (!out)
		gzclose(file);
	return out;
}

// The arguments of the program, which may be secrets, are in it.
static mode_t new_file_mode(bool shared)
{
	mode_t mask = umask(0); // it can only be read by setting it

	umask(mask);
	return shared ? 0666 & ~mask : 0600;
}

static int open_file(struct destination *d, struct error *err)
{
	if (!is_regular(d->path)) {
		d->fd = new_file_open_in_place(d->path, 0600);
		return d->fd < 0 ? cannot_write(d->path, err) : 0;
	}
	if (new_file_open(&d->file, d->path, new_file_mode(d->shared)) < 0)
		return cannot_write(d->path, err);
	d->is_new = true;
	d->fd = fcntl(d->file.fd, F_DUPFD_CLOEXEC, 0); // a stream closes its own
	return d->fd < 0 ? cannot_write(d->path, err) : 0;
}

int destination_open(struct destination *d, const char *path, bool gzip, bool shared,
                     struct error *err)
{
	size_t length = path ? strlen(path) : 0;

	*d = (struct destination){ .fd = -1,
		                   .path = path ? path : "standard output",
		                   .shared = shared };
	gzip |= length > 3 && strcmp(path + length - 3, ".gz") == 0;
	if (path ? open_file(d, err) < 0 : (d->fd = dup(STDOUT_FILENO)) < 0)
		return path ? -1 : cannot_write(d->path, err);
	d->out = gzip ? open_gzip(d->fd) : fdopen(d->fd, "w");
	return d->out ? 0 : cannot_write(d->path, err);
}

int destination_finish(struct destination *d, struct error *err)
{
	bool failed = fflush(d->out) != 0 || ferror(d->out);
	int cause = errno;

	// What is compressed is written to its end only here.
	if (fclose(d->out) != 0 && !failed) {
		failed = true;
		cause = errno;
	}
	d->out = NULL;
	d->fd = -1;
	errno = cause;
	if (failed)
		return cannot_write(d->path, err);
	if (!d->is_new)
		return 0;
	d->is_new = false;
	return new_file_commit_unsynced(&d->file) < 0 ? cannot_write(d->path, err) : 0;
}

void destination_close(struct destination *d)
{
	if (d->out)
		fclose(d->out);
	else if (d->fd >= 0)
		close(d->fd);
	if (d->is_new)
		new_file_discard(&d->file);
	*d = (struct destination){ .fd = -1 };
}
