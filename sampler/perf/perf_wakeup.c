// SPDX-License-Identifier: MIT
#include "sampler/perf/perf_wakeup.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FORMAT      "events/sched/sched_waking/format"
#define FORMAT_MAX  8192
#define OFFSET_MAX  4096
#define FLAG_HARD   0x08        // TRACE_FLAG_HARDIRQ
#define FLAG_SOFT   0x10        // TRACE_FLAG_SOFTIRQ
#define FLAG_NMI    0x40        // TRACE_FLAG_NMI
#define FIRST_SPACE 0xeffffffcu // PROC_PID_INIT_INO

// Headers before Linux 5.2 have none of these.
#ifndef SYS_fsopen
#define SYS_fsopen   430
#define SYS_fsconfig 431
#define SYS_fsmount  432
#endif
#define FS_CREATE       6 // FSCONFIG_CMD_CREATE
#define FS_CLOEXEC      1 // FSOPEN_CLOEXEC, FSMOUNT_CLOEXEC
#define MOUNT_READ_ONLY 1 // MOUNT_ATTR_RDONLY

// "	field:pid_t pid;	offset:24;	size:4;	signed:1;": where NAME is, if it has SIZE
// bytes.
static bool find_field(const char *text, const char *name, unsigned size, uint32_t *offset)
{
	size_t length = strlen(name);

	for (const char *line = strstr(text, "\tfield:"); line;
	     line = strstr(line + 1, "\tfield:")) {
		const char *end = strchr(line, ';');
		unsigned at, bytes;
		if (!end)
			return false;
		if ((size_t)(end - line) <= length || end[-1 - (ptrdiff_t)length] != ' ' ||
		    memcmp(end - length, name, length) != 0)
			continue;
		if (sscanf(end, "; offset:%9u; size:%9u;", &at, &bytes) != 2 || bytes != size ||
		    at > OFFSET_MAX)
			return false;
		*offset = at;
		return true;
	}
	return false;
}

bool perf_wakeup_parse(const char *text, size_t length, struct perf_wakeup_format *format)
{
	unsigned id;

	*format = (struct perf_wakeup_format){ 0 };
	if (!length || length > FORMAT_MAX || memchr(text, '\0', length))
		return false;
	cleanup_free char *copy = strndup(text, length);
	const char *line = copy ? strstr(copy, "ID:") : NULL;
	if (!line || sscanf(line, "ID: %9u", &id) != 1 || !id ||
	    !find_field(copy, "pid", 4, &format->pid_offset))
		return false;
	format->id = id;
	format->has_flags = find_field(copy, "common_flags", 1, &format->flags_offset);
	return true;
}

// The file system of the kernel's tracing by itself, in no directory: nobody else sees it. -1: we
// may not do that.
static int mount_apart(void)
{
	int context = (int)syscall(SYS_fsopen, "tracefs", FS_CLOEXEC);
	int mount = -1;

	if (context < 0)
		return -1;
	if (syscall(SYS_fsconfig, context, FS_CREATE, NULL, NULL, 0) == 0)
		mount = (int)syscall(SYS_fsmount, context, FS_CLOEXEC, MOUNT_READ_ONLY);
	close(context);
	return mount;
}

static bool parse_file(int directory, const char *path, struct perf_wakeup_format *format)
{
	char text[FORMAT_MAX];
	int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	return length > 0 && perf_wakeup_parse(text, (size_t)length, format);
}

// Records have the numbers of tasks as the first PID namespace has them; all other events have
// those of ours.
static bool is_first_namespace(void)
{
	struct stat space;

	return stat("/proc/self/ns/pid", &space) == 0 && space.st_ino == FIRST_SPACE;
}

bool perf_wakeup_find(struct perf_wakeup_format *format)
{
	if (!is_first_namespace())
		return false;
	if (parse_file(AT_FDCWD, "/sys/kernel/tracing/" FORMAT, format) ||
	    parse_file(AT_FDCWD, "/sys/kernel/debug/tracing/" FORMAT, format))
		return true;
	int apart = mount_apart();
	bool found = apart >= 0 && parse_file(apart, FORMAT, format);
	if (apart >= 0)
		close(apart);
	return found;
}

bool perf_wakeup_read(const struct perf_wakeup_format *format, const void *raw, size_t size,
                      struct event_waking *out)
{
	const uint8_t *bytes = raw;
	uint32_t tid;

	if (size < (size_t)format->pid_offset + sizeof(tid) ||
	    (format->has_flags && size <= format->flags_offset))
		return false;
	memcpy(&tid, bytes + format->pid_offset, sizeof(tid));
	uint8_t flags = format->has_flags ? bytes[format->flags_offset] : FLAG_HARD;
	out->tid = tid;
	out->by = flags & (FLAG_HARD | FLAG_NMI) ? WOKEN_BY_INTERRUPT
	          : flags & FLAG_SOFT            ? WOKEN_AFTER_INTERRUPT
	                                         : WOKEN_BY_THREAD;
	return true;
}
