// SPDX-License-Identifier: MIT
#include "sampler/proc/proc_stat.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#define FIELD_PARENT  4  // numbered as in proc(5)
#define FIELD_FAULTS  10 // minor ones, of children, major ones, of children
#define FIELD_THREADS 20
#define FIELD_START   22
#define FIELD_STACK   28
#define FIELD_CPU     39

// Reads at most SIZE - 1 bytes and ends them with NUL.
static bool read_text(const char *path, char *text, size_t size)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t count = fd >= 0 ? read(fd, text, size - 1) : -1;

	text[count > 0 ? count : 0] = '\0';
	return count > 0;
}

static uint64_t monotonic_of_ticks(uint64_t ticks)
{
	uint64_t since_boot = ticks * (NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	uint64_t now = clock_now_ns(); // first, or the difference can be below 0
	uint64_t suspended = clock_ns(CLOCK_BOOTTIME) - now;

	return since_boot > suspended ? since_boot - suspended : 0;
}

// AT is behind the field of the stack. -1 if the text ends before.
static int take_cpu(const char *at)
{
	char *end;

	for (int field = FIELD_STACK + 1; field <= FIELD_CPU; field++, at = end) {
		unsigned long long value = strtoull(at, &end, 10);
		if (end == at)
			return -1;
		if (field == FIELD_CPU)
			return value <= INT_MAX ? (int)value : -1;
	}
	return -1;
}

// The fields behind the name, which may itself hold blanks and parentheses.
static bool take_fields(const char *at, struct proc_stat *out)
{
	uint64_t value[FIELD_STACK + 1] = { 0 };

	out->state = *at++;
	for (int field = FIELD_PARENT; field <= FIELD_STACK; field++) {
		char *end;
		value[field] = strtoull(at, &end, 10); // negative ones are of no interest
		if (end == at)
			return false;
		at = end;
	}
	out->parent_pid = (uint32_t)value[FIELD_PARENT];
	out->faults = 0;
	for (int i = 0; i < 4; i++)
		out->faults += value[FIELD_FAULTS + i];
	out->threads = (uint32_t)value[FIELD_THREADS];
	out->start_ns = monotonic_of_ticks(value[FIELD_START]);
	out->image = value[FIELD_STACK];
	out->cpu = take_cpu(at);
	return true;
}

bool proc_stat_parse(const char *text, struct proc_stat *out)
{
	const char *open = strchr(text, '(');
	const char *close = strrchr(text, ')');

	if (!open || !close || close < open || close[1] != ' ' || !isalpha((unsigned char)close[2]))
		return false;
	snprintf(out->name, sizeof(out->name), "%.*s", (int)(close - open - 1), open + 1);
	return take_fields(close + 2, out);
}

bool proc_stat_read(uint32_t pid, struct proc_stat *out)
{
	char path[32], text[1024];

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	return read_text(path, text, sizeof(text)) && proc_stat_parse(text, out);
}

bool proc_stat_times_parse(const char *text, uint64_t *run_ns, uint64_t *wait_ns)
{
	char *end, *second;
	uint64_t run = strtoull(text, &end, 10);

	if (end == text)
		return false;
	uint64_t wait = strtoull(end, &second, 10);
	if (second == end)
		return false;
	*run_ns = run;
	*wait_ns = wait;
	return true;
}

bool proc_stat_times(uint32_t pid, uint32_t tid, uint64_t *run_ns, uint64_t *wait_ns)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", pid, tid);
	return read_text(path, text, sizeof(text)) && proc_stat_times_parse(text, run_ns, wait_ns);
}

bool proc_stat_own_times(uint64_t *run_ns, uint64_t *wait_ns)
{
	char text[128];

	return read_text("/proc/thread-self/schedstat", text, sizeof(text)) &&
	       proc_stat_times_parse(text, run_ns, wait_ns) && *run_ns;
}

bool proc_stat_name(uint32_t pid, uint32_t tid, char name[16])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid);
	if (!read_text(path, name, 16))
		return false;
	name[strcspn(name, "\n")] = '\0';
	return true;
}

void proc_stat_threads(uint32_t pid, void (*visit)(void *context, uint32_t tid), void *context)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	DIR *directory = opendir(path);
	if (!directory)
		return;
	for (struct dirent *entry; (entry = readdir(directory));)
		if (isdigit((unsigned char)entry->d_name[0]))
			visit(context, (uint32_t)strtoul(entry->d_name, NULL, 10));
	closedir(directory);
}

void proc_stat_children_parse(const char *text, void (*visit)(void *context, uint32_t pid),
                              void *context)
{
	char *end;

	for (const char *at = text;; at = end) {
		unsigned long child = strtoul(at, &end, 10);
		if (end == at || *end != ' ')
			return; // the last one may be cut
		visit(context, (uint32_t)child);
	}
}

uint64_t proc_stat_peak_rss(uint32_t pid)
{
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	const char *at = read_text(path, text, sizeof(text)) ? strstr(text, "\nVmHWM:") : NULL;
	return at ? strtoull(at + strlen("\nVmHWM:"), NULL, 10) * 1024 : 0;
}

char proc_stat_state(uint32_t pid, uint32_t tid)
{
	char path[64], text[1024];
	struct proc_stat stat;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", pid, tid);
	return read_text(path, text, sizeof(text)) && proc_stat_parse(text, &stat) ? stat.state : 0;
}

void proc_stat_children(uint32_t pid, uint32_t tid, void (*visit)(void *context, uint32_t pid),
                        void *context)
{
	char path[64], text[16384]; // some 2,000 children of one thread

	snprintf(path, sizeof(path), "/proc/%u/task/%u/children", pid, tid);
	if (read_text(path, text, sizeof(text)))
		proc_stat_children_parse(text, visit, context);
}
