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
#define STATUS_MAX  2048       // a handler's stack may be small

// Plain system calls: libc's functions are cancellation points, and others may stand before them;
// the agent's own fstat() does, which asks the loader at first. A child of a raw clone may never.
static uint32_t inode_of(const char *path)
{
	struct stat status;

	// Inodes of namespaces have 32 bits.
	return syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) == 0 ? (uint32_t)status.st_ino
	                                                                : 0;
}

// "" if it cannot be read.
static void read_text(const char *path, char *text, size_t size)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	long count = fd < 0 ? 0 : syscall(SYS_read, fd, text, size - 1);

	if (fd >= 0)
		syscall(SYS_close, fd);
	text[count > 0 ? count : 0] = '\0';
}

static int64_t read_offset(void)
{
	char text[256];
	int64_t ns;

	read_text("/proc/self/timens_offsets", text, sizeof(text));
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

uint32_t namespaces_parse_filters(const char *text)
{
	const char *at = find_line(text, "Seccomp_filters:");
	uint64_t number;

	if (at && take_number(&at, NAMESPACES_FILTERS_UNKNOWN, &number) && *at == '\n')
		return (uint32_t)number;
	at = find_line(text, "Seccomp:");
	if (at && take_number(&at, NAMESPACES_FILTERS_UNKNOWN, &number) && *at == '\n' && !number)
		return 0;
	return NAMESPACES_FILTERS_UNKNOWN;
}

// Not inlined: its memory is on the stack only where it is needed.
__attribute__((noinline)) uint32_t namespaces_read_filters(void)
{
	char text[STATUS_MAX];
	int error = errno;

	read_text("/proc/self/status", text, sizeof(text));
	errno = error;
	return namespaces_parse_filters(text);
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
