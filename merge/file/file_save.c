// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "base/new_file.h"
#include "merge/file/file.h"

#include <errno.h>

static const char *hint_for(int errnum)
{
	switch (errnum) {
	case EFBIG:
		return "Raise the limit on the size of files (ulimit -f).";
	case ENOSPC:
	case EDQUOT:
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

	if (errnum == EINVAL)
		return error_set(err, 0, "cannot write \"%s\": it is not a regular file", path);
	if (errnum == ELOOP)
		return error_set(
			err, 0, "cannot write \"%s\": it is a symbolic link of another user", path);
	error_set(err, errnum, "could not write \"%s\"", path);
	if (hint)
		error_hint(err, "%s", hint);
	return -1;
}

int file_save(const char *path, const void *bytes, size_t size, struct error *err)
{
	struct new_file file;

	if (new_file_open(&file, path, 0600) == 0 && new_file_write(&file, bytes, size) == 0 &&
	    new_file_commit(&file) == 0)
		return 0;
	return cannot_write(err, errno, path);
}
