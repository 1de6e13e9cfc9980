// SPDX-License-Identifier: MIT
#include "base/new_file.h"

#include "base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MAX 8
#define TRIES     100
#define SUFFIX    7 // ".XXXXXX"

static int fail(int error)
{
	errno = error;
	return -1;
}

// Opens the directory that PATH is in, below FROM, and tells the last part of PATH.
static int open_directory(int from, const char *path, char *name)
{
	const char *slash = strrchr(path, '/');
	const char *last = slash ? slash + 1 : path;
	char directory[PATH_MAX];

	if (!*last || strlen(last) > NAME_MAX - SUFFIX - 1 || strlen(path) >= sizeof(directory))
		return fail(*last ? ENAMETOOLONG : EISDIR);
	strcpy(name, last);
	if (!slash)
		return openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	memcpy(directory, path, (size_t)(last - path));
	directory[last - path] = '\0';
	return openat(from, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

// Follows the link that stands at the place. 1: there is none.
static int follow(struct new_file *f, struct stat *status)
{
	char target[PATH_MAX];

	if (fstatat(f->directory, f->name, status, AT_SYMLINK_NOFOLLOW) < 0) {
		status->st_mode = 0;
		return errno == ENOENT ? 1 : -1;
	}
	if (!S_ISLNK(status->st_mode))
		return 1;
	if (status->st_uid != geteuid() && status->st_uid != 0)
		return fail(ELOOP);
	ssize_t length = readlinkat(f->directory, f->name, target, sizeof(target) - 1);
	if (length < 0)
		return -1;
	target[length] = '\0';
	int next = open_directory(f->directory, target, f->name);
	if (next < 0)
		return -1;
	close(f->directory);
	f->directory = next;
	return 0;
}

// Links there lead to what a descriptor is, and not to its name: /dev/stdout ends in one.
static bool is_in_proc(int directory)
{
	struct statfs file_system;

	return fstatfs(directory, &file_system) == 0 && file_system.f_type == PROC_SUPER_MAGIC;
}

// STATUS has the mode 0 if there is nothing at the place.
static int find_place(struct new_file *f, const char *path, struct stat *status)
{
	int followed = 0;

	f->directory = open_directory(AT_FDCWD, path, f->name);
	if (f->directory < 0)
		return -1;
	for (int i = 0; i < LINKS_MAX && followed == 0; i++) {
		if (is_in_proc(f->directory))
			return fstatat(f->directory, f->name, status, 0);
		followed = follow(f, status);
	}
	if (followed == 0)
		return fail(ELOOP);
	return followed < 0 ? -1 : S_ISDIR(status->st_mode) ? fail(EISDIR) : 0;
}

static void make_name(struct new_file *f)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ012345";
	uint64_t number = 0;
	size_t length = strlen(f->name);

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0)
		number = (uint64_t)getpid() * 2654435761u + (uintptr_t)f;
	f->temporary[0] = '.';
	memcpy(f->temporary + 1, f->name, length);
	f->temporary[++length] = '.';
	for (int i = 1; i < SUFFIX; i++, number /= sizeof(letters) - 1)
		f->temporary[length + (size_t)i] = letters[number % (sizeof(letters) - 1)];
	f->temporary[length + SUFFIX] = '\0';
}

// The descriptor's own name leads to the directory wherever it is by then.
static void keep_in_mind(struct new_file *f)
{
	char link[48], directory[PATH_MAX];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->directory);
	ssize_t length = readlink(link, directory, sizeof(directory) - 1);
	if (length <= 0 || (size_t)length + 1 + strlen(f->temporary) >= sizeof(f->path))
		return;
	directory[length] = '\0';
	size_t used = strlen(strcpy(f->path, directory));
	f->path[used++] = '/';
	strcpy(f->path + used, f->temporary);
	temporary_add(f->path);
}

static int make(struct new_file *f, mode_t mode)
{
	for (int i = 0; i < TRIES && f->fd < 0; i++) {
		make_name(f);
		f->fd = openat(f->directory, f->temporary,
		               O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
		if (f->fd < 0 && errno != EEXIST)
			return -1;
	}
	if (f->fd < 0)
		return -1;
	keep_in_mind(f);
	return fchmod(f->fd, mode);
}

int new_file_open(struct new_file *f, const char *path, mode_t mode)
{
	struct stat status;

	*f = (struct new_file){ .fd = -1, .directory = -1 };
	int found = find_place(f, path, &status);
	// Never put a file in the place of /dev/null.
	if (found == 0 && status.st_mode && !S_ISREG(status.st_mode))
		found = fail(EINVAL);
	if (found == 0 && make(f, status.st_mode ? status.st_mode & 0777 : mode) == 0)
		return 0;
	new_file_discard(f);
	return -1;
}

int new_file_open_in_place(const char *path, mode_t mode)
{
	struct new_file f = { .fd = -1, .directory = -1 };
	struct stat status;
	int fd = -1;

	if (find_place(&f, path, &status) == 0) {
		int flags = is_in_proc(f.directory) ? 0 : O_NOFOLLOW | O_CREAT;
		if (S_ISBLK(status.st_mode))
			errno = EINVAL;
		else
			fd = openat(f.directory, f.name, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags,
			            mode);
	}
	int error = errno;
	if (f.directory >= 0)
		close(f.directory);
	errno = error;
	return fd;
}

int new_file_write(struct new_file *f, const void *bytes, size_t size)
{
	const char *from = bytes;

	while (size) {
		ssize_t n = write(f->fd, from, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (n == 0)
				errno = ENOSPC;
			new_file_discard(f);
			return -1;
		}
		from += n;
		size -= (size_t)n;
	}
	return 0;
}

static void end(struct new_file *f)
{
	int error = errno;

	if (f->path[0])
		temporary_forget(f->path);
	f->path[0] = '\0';
	if (f->fd >= 0)
		close(f->fd);
	if (f->directory >= 0)
		close(f->directory);
	f->fd = f->directory = -1;
	errno = error;
}

static int commit(struct new_file *f, bool sync)
{
	if ((sync && fsync(f->fd) < 0) ||
	    renameat(f->directory, f->temporary, f->directory, f->name) < 0) {
		new_file_discard(f);
		return -1;
	}
	if (sync)
		fsync(f->directory); // the rename, too, where the file system can do that
	end(f);
	return 0;
}

int new_file_commit(struct new_file *f)
{
	return commit(f, true);
}

int new_file_commit_unsynced(struct new_file *f)
{
	return commit(f, false);
}

void new_file_discard(struct new_file *f)
{
	int error = errno;

	if (f->fd >= 0)
		unlinkat(f->directory, f->temporary, 0);
	end(f);
	errno = error;
}
