// SPDX-License-Identifier: MIT
#include "sampler/proc/proc_io.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The number on the line that NAME, which ends in ": ", begins.
static bool take_line(const char *text, const char *name, uint64_t *out)
{
	size_t length = strlen(name);

	while (strncmp(text, name, length) != 0) {
		text = strchr(text, '\n');
		if (!text)
			return false;
		text++;
	}
	if (text[length] < '0' || text[length] > '9')
		return false;
	*out = strtoull(text + length, NULL, 10);
	return true;
}

bool proc_io_parse(const char *text, struct proc_io *out)
{
	struct proc_io io;

	if (!take_line(text, "rchar: ", &io.read_bytes) ||
	    !take_line(text, "wchar: ", &io.write_bytes) ||
	    !take_line(text, "syscr: ", &io.read_calls) ||
	    !take_line(text, "syscw: ", &io.write_calls))
		return false;
	*out = io;
	return true;
}

bool proc_io_read(uint32_t pid, struct proc_io *out)
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "/proc/%u/io", pid);
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t count = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (count <= 0)
		return false;
	text[count] = '\0';
	return proc_io_parse(text, out);
}
