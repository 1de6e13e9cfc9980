// SPDX-License-Identifier: MIT
#include "tracer/agent/precedence.h"

#include "tracer/agent/system.h"

#include <string.h>
#include <time.h>

#define STATUS_MAX 2048
#define PAUSE_NS   100000
#define TURNS_MAX  1000

static uint64_t ours; // atomic

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

// What follows "\nNAME:\t"; NULL if it is not there.
static const char *find_field(const char *text, const char *end, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = text; at < end; at++) {
		const char *line = at;
		at = memchr(line, '\n', (size_t)(end - line));
		if (!at)
			return NULL; // cut, or not the whole of it
		if ((size_t)(at - line) > length && memcmp(line, name, length) == 0)
			return line + length;
	}
	return NULL;
}

static bool find_number(const char *text, const char *end, const char *name, unsigned base,
                        uint64_t *out)
{
	const char *at = find_field(text, end, name);

	if (!at)
		return false;
	*out = 0;
	for (; (unsigned)digit_value(*at) < base; at++)
		*out = *out * base + (uint64_t)digit_value(*at);
	return true;
}

bool precedence_parse(const char *text, size_t length, struct precedence_status *out)
{
	const char *end = text + length, *state = find_field(text, end, "State:\t");
	struct precedence_status found = { 0 };

	if (!state || !find_number(text, end, "TracerPid:\t", 10, &found.tracer) ||
	    !find_number(text, end, "ShdPnd:\t", 16, &found.shared) ||
	    !find_number(text, end, "SigBlk:\t", 16, &found.blocked))
		return false;
	found.state = *state;
	*out = found;
	return true;
}

bool precedence_is_traced(void)
{
	struct precedence_status status;

	return precedence_read(&status) && status.tracer;
}

bool precedence_is_due(const struct precedence_status *status, uint64_t signals, uint64_t handled)
{
	uint64_t due = status->shared & signals;

	return status->state == 'R' && due && (due & ~status->blocked || status->blocked & handled);
}

// Not inlined: its memory is on the stack only where it is needed.
__attribute__((noinline)) bool precedence_read(struct precedence_status *out)
{
	char text[STATUS_MAX];

	// By no number: in a PID namespace, the /proc of another one counts otherwise.
	int fd = system_open("/proc/self/status", O_RDONLY, 0);
	if (fd < 0)
		return false;
	long length = system_read(fd, text, sizeof(text));
	system_close(fd);
	return length > 0 && precedence_parse(text, (size_t)length, out);
}

static uint64_t find_pending(void)
{
	uint64_t pending = 0;

	return syscall(SYS_rt_sigpending, &pending, sizeof(pending)) == 0 ? pending : 0;
}

void precedence_tell_ours(uint64_t signals)
{
	__atomic_fetch_or(&ours, signals, __ATOMIC_RELAXED);
}

void precedence_give(uint64_t blocked)
{
	const uint64_t handled = __atomic_load_n(&ours, __ATOMIC_RELAXED);
	const struct timespec pause = { 0, PAUSE_NS };
	struct precedence_status status;

	if ((pid_t)syscall(SYS_gettid) == getpid())
		return;
	for (int i = 0; i < TURNS_MAX; i++) {
		uint64_t mine = find_pending() & ~blocked;
		if (!mine || !precedence_read(&status) ||
		    !precedence_is_due(&status, mine, handled))
			return;
		syscall(SYS_nanosleep, &pause, NULL);
	}
}
