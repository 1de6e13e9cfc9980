// SPDX-License-Identifier: MIT
#include "base/namespaces.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECONDS_MAX 9000000000 // more nanoseconds do not fit

// Plain system calls: libc's functions are cancellation points, and others may stand before them;
// the agent's own fstat() does, which asks the loader at first. A child of a raw clone may never.
static uint32_t inode_of(const char *path)
{
	struct stat status;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return 0;
	// Inodes of namespaces have 32 bits.
	uint32_t inode = syscall(SYS_fstat, fd, &status) == 0 ? (uint32_t)status.st_ino : 0;
	syscall(SYS_close, fd);
	return inode;
}

static int64_t read_offset(void)
{
	char text[256];
	int64_t ns;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/timens_offsets",
	                      O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return 0;
	long count = syscall(SYS_read, fd, text, sizeof(text) - 1);
	syscall(SYS_close, fd);
	text[count > 0 ? count : 0] = '\0';
	if (!namespaces_parse_offset(text, &ns) || ns == 0)
		return 0;
	// The file has the offsets of its children's namespace, where it may not be itself.
	return inode_of("/proc/self/ns/time") == inode_of("/proc/self/ns/time_for_children") ? ns
	                                                                                     : 0;
}

void namespaces_read(struct namespaces *out)
{
	int error = errno;

	*out = (struct namespaces){ inode_of("/proc/self/ns/pid"), read_offset() };
	errno = error;
}

// Behind NAME at the beginning of a line. NULL if there is none.
static const char *find_line(const char *text, const char *name)
{
	size_t length = strlen(name);

	while (strncmp(text, name, length) != 0) {
		text = strchr(text, '\n');
		if (!text)
			return NULL;
		text++;
	}
	return text + length;
}

static const char *skip_blanks(const char *at)
{
	while (*at == ' ' || *at == '\t')
		at++;
	return at;
}

// The number behind blanks at *AT, below LIMIT. False if there is none.
static bool take_number(const char **at, uint64_t limit, uint64_t *out)
{
	const char *digit = skip_blanks(*at);
	uint64_t number = 0;

	if (*digit < '0' || *digit > '9')
		return false;
	for (; *digit >= '0' && *digit <= '9'; digit++) {
		number = number * 10 + (uint64_t)(*digit - '0');
		if (number >= limit)
			return false;
	}
	*at = digit;
	*out = number;
	return true;
}

bool namespaces_parse_pids(const char *text, struct namespace_pids *out)
{
	const uint64_t limit = UINT64_C(1) << 31;
	const char *parent_at = find_line(text, "PPid:");
	const char *at = find_line(text, "NSpid:");
	struct namespace_pids pids = { 0 };
	uint64_t number;

	if (!parent_at || !at || !take_number(&parent_at, limit, &number))
		return false;
	pids.parent = (uint32_t)number;
	for (; take_number(&at, limit, &number); pids.depth++) {
		if (!pids.depth)
			pids.outer = (uint32_t)number;
		pids.inner = (uint32_t)number;
	}
	// A line that is cut may be cut within a number.
	if (!pids.depth || *skip_blanks(at) != '\n')
		return false;
	*out = pids;
	return true;
}

bool namespaces_parse_offset(const char *text, int64_t *monotonic_ns)
{
	const char *at = find_line(text, "monotonic");
	uint64_t seconds, ns;

	if (!at)
		return false;
	at = skip_blanks(at);
	bool negative = *at == '-';
	at += negative;
	if (!take_number(&at, SECONDS_MAX, &seconds) || !take_number(&at, NS_PER_SEC, &ns))
		return false;
	int64_t whole = (int64_t)(seconds * NS_PER_SEC);
	*monotonic_ns = (negative ? -whole : whole) + (int64_t)ns;
	return true;
}
