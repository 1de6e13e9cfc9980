// SPDX-License-Identifier: MIT
#include "tracer/agent/task_list.h"

#include "tracer/agent/system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DIRECTORY "/proc/self/task"

bool task_list_count(uint32_t *count)
{
	struct stat status;

	// The directory's links are its threads and two more.
	// stat() is of glibc 2.33, and was no function before.
	if (system_stat(DIRECTORY, &status) < 0 || status.st_nlink < 2)
		return false;
	*count = (uint32_t)status.st_nlink - 2;
	return true;
}

static uint32_t parse_tid(const char *name)
{
	uint32_t tid = 0;

	for (; *name >= '0' && *name <= '9'; name++)
		tid = tid * 10 + (uint32_t)(*name - '0');
	return *name ? 0 : tid;
}

static uint32_t each(int directory, uint32_t visit(uint32_t tid))
{
	uint64_t buffer[256];
	uint32_t found = 0;
	long got;

	while ((got = syscall(SYS_getdents64, directory, buffer, sizeof(buffer))) > 0)
		for (long at = 0; at < got;) {
			struct dirent64 *entry = (struct dirent64 *)((char *)buffer + at);
			uint32_t tid = parse_tid(entry->d_name);
			at += entry->d_reclen;
			if (tid)
				found += visit(tid);
		}
	return found;
}

bool task_list_each(uint32_t visit(uint32_t tid), uint32_t *sum)
{
	int directory = system_open(DIRECTORY, O_RDONLY | O_DIRECTORY, 0);

	if (directory < 0)
		return false;
	*sum = each(directory, visit);
	system_close(directory);
	return true;
}

bool task_list_lacks(uint32_t pid, uint32_t tid)
{
	return syscall(SYS_tgkill, pid, tid, 0) < 0 && errno == ESRCH;
}
