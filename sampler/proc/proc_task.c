// SPDX-License-Identifier: MIT
#include "sampler/proc/proc_task.h"

#include "base/clock.h"
#include "base/path.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PF_EXITING     0x4 /* include/linux/sched.h */
#define COMM_BYTES_MAX 15

#define FIELD_STATE    3 // numbered as in proc(5)
#define FIELD_FLAGS    9
#define FIELD_START    22

// Reads at most SIZE - 1 bytes and ends them with NUL.
static size_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t count = fd >= 0 ? read(fd, text, size - 1) : -1;

	if (fd >= 0)
		close(fd);
	text[count > 0 ? count : 0] = '\0';
	return count > 0 ? (size_t)count : 0;
}

// The fields behind the name, by their numbers in proc(5). False if there are not that many.
static bool parse_fields(const char *at, struct proc_task *task)
{
	uint64_t value[FIELD_START + 1] = { 0 };

	if (at[0] != ' ' || !at[1])
		return false;
	task->state = at[1];
	at += 2;
	for (int field = FIELD_STATE + 1; field <= FIELD_START; field++) {
		char *end;
		value[field] = strtoull(at, &end, 10); // negative ones are of no interest
		if (end == at)
			return false;
		at = end;
	}
	task->exiting = value[FIELD_FLAGS] & PF_EXITING;
	task->start_ticks = value[FIELD_START];
	return true;
}

bool proc_task_parse(const char *text, struct proc_task *task)
{
	// pid (name) state ppid ...: the name may hold anything, so its end is the last ')'.
	const char *open = strchr(text, '(');
	const char *close = strrchr(text, ')');

	if (!open || !close || close < open || !parse_fields(close + 1, task))
		return false;
	size_t length = (size_t)(close - open - 1);
	if (length >= sizeof(task->name))
		length = sizeof(task->name) - 1;
	memcpy(task->name, open + 1, length);
	task->name[length] = '\0';
	return true;
}

// PID may have been given to another process since.
static bool began_after(const struct proc_task *task, uint64_t time_ns)
{
	uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t now_ns = clock_now_ns(); // first, so that the difference is not negative
	uint64_t suspended_ns = clock_ns(CLOCK_BOOTTIME) - now_ns;

	return task->start_ticks * tick_ns > time_ns + suspended_ns;
}

bool proc_task_lives(uint32_t pid, uint64_t time_ns, struct proc_task *task)
{
	char path[32], text[1024];

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	return read_file(path, text, sizeof(text)) && proc_task_parse(text, task) &&
	       !task->exiting && !strchr("ZXx", task->state) && !began_after(task, time_ns);
}

void proc_task_name(uint32_t pid, uint32_t tid, char *name, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid);
	read_file(path, name, size);
	name[strcspn(name, "\n")] = '\0';
}

static bool take_longer(const char *path, const char *comm, char *command, size_t size)
{
	const char *name = path_base(path);

	if (strncmp(name, comm, COMM_BYTES_MAX) != 0)
		return false;
	snprintf(command, size, "%s", name);
	return true;
}

// The executable, then the words of its command line: a script is behind its interpreter.
static bool find_longer(uint32_t pid, const char *comm, char *command, size_t size)
{
	char path[32], text[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	ssize_t length = readlink(path, text, sizeof(text) - 1);
	text[length > 0 ? length : 0] = '\0';
	if (take_longer(text, comm, command, size))
		return true;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	size_t count = read_file(path, text, sizeof(text));
	for (const char *word = text; word < text + count; word += strlen(word) + 1)
		if (take_longer(word, comm, command, size))
			return true;
	return false;
}

void proc_task_command(uint32_t pid, const char *comm, char *command, size_t size)
{
	if (strlen(comm) < COMM_BYTES_MAX || !find_longer(pid, comm, command, size))
		snprintf(command, size, "%s", comm);
}
