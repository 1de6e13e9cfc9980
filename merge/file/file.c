// SPDX-License-Identifier: MIT
#include "merge/file/file.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/new_file.h"
#include "merge/profile/profile.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

uint64_t file_sample_ns(const struct run *run)
{
	return run->frequency_hz ? NS_PER_SEC / run->frequency_hz : 0;
}

uint32_t file_checksum(uint32_t checksum, int type, const void *bytes, size_t size)
{
	unsigned char head[5] = { (unsigned char)type, (unsigned char)size,
		                  (unsigned char)(size >> 8), (unsigned char)(size >> 16),
		                  (unsigned char)(size >> 24) };

	checksum = (uint32_t)crc32(checksum, head, sizeof(head));
	return size ? (uint32_t)crc32(checksum, bytes, (uInt)size) : checksum;
}

static uint32_t checksum_word(uint32_t checksum, int type, uint64_t word)
{
	unsigned char bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(word >> 8 * i);
	return file_checksum(checksum, type, bytes, sizeof(bytes));
}

uint32_t file_checksum_int(uint32_t checksum, int64_t value)
{
	return checksum_word(checksum, SQLITE_INTEGER, (uint64_t)value);
}

uint32_t file_checksum_real(uint32_t checksum, double value)
{
	uint64_t word;

	memcpy(&word, &value, sizeof(word));
	return checksum_word(checksum, SQLITE_FLOAT, word);
}

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

int file_save(const char *path, const void *bytes, size_t size, bool sync, struct error *err)
{
	struct new_file file;

	if (new_file_open(&file, path, 0600) == 0 && new_file_write(&file, bytes, size) == 0 &&
	    (sync ? new_file_commit(&file) : new_file_commit_unsynced(&file)) == 0)
		return 0;
	return cannot_write(err, errno, path);
}
