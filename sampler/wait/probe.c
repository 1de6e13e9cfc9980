// SPDX-License-Identifier: MIT
#include "sampler/wait/probe.h"

#include "base/clock.h"
#include "base/error.h"
#include "sampler/wait/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define TEXT_BYTES 256 // 9 numbers of at most 19 characters

struct probe {
	int proc; /* descriptor of /proc */
	size_t stack_bytes;
	uint8_t stack[];
};

struct probe *probe_new(size_t stack_bytes, struct error *err)
{
	cleanup(probe) struct probe *p = malloc(sizeof(*p) + stack_bytes);
	if (!p) {
		error_set(err, errno, "could not start looking at blocked threads");
		return NULL;
	}
	p->stack_bytes = stack_bytes;
	p->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->proc < 0) {
		error_set(err, errno, "could not open \"/proc\"");
		return NULL;
	}
	return steal(p);
}

void probe_free(struct probe *p)
{
	if (!p)
		return;
	if (p->proc >= 0)
		close(p->proc);
	free(p);
}

static bool parse_number(const char **text, int base, uint64_t *value)
{
	char *end;

	if (**text == ' ')
		++*text;
	*value = strtoull(*text, &end, base);
	if (end == *text)
		return false;
	*text = end;
	return true;
}

/* "202 0x7f… (six arguments) sp pc", "-1 sp pc", "running" */
bool probe_parse(const char *text, struct probe_call *call)
{
	uint64_t number;

	memset(call, 0, sizeof(*call));
	call->number = -1;
	if (strncmp(text, "-1 ", 3) == 0) {
		text += 2;
	} else {
		if (!parse_number(&text, 10, &number) || number > INT32_MAX)
			return false;
		call->number = (int)number;
		for (int i = 0; i < 6; i++) {
			if (!parse_number(&text, 16, &call->arguments[i]))
				return false;
		}
	}
	return parse_number(&text, 16, &call->sp) && parse_number(&text, 16, &call->pc) &&
	       call->sp && call->pc;
}

static int open_task_file(const struct probe *p, int pid, int tid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%d/task/%d/%s", pid, tid, name);
	return openat(p->proc, path, O_RDONLY | O_CLOEXEC);
}

/* Reads what is there now; TEXT gets a NUL. */
static bool read_text(int fd, char *text)
{
	ssize_t size = pread(fd, text, TEXT_BYTES - 1, 0);

	text[size > 0 ? size : 0] = '\0';
	return size > 0;
}

bool probe_schedule(const struct probe *p, int pid, int tid, char text[PROBE_SCHEDULE])
{
	cleanup_close int fd = open_task_file(p, pid, tid, "schedstat");
	ssize_t size = fd < 0 ? -1 : pread(fd, text, PROBE_SCHEDULE - 1, 0);

	text[size > 0 ? size : 0] = '\0';
	// A kernel that does not count says zeros.
	return size > 0 && strcmp(text, "0 0 0\n") != 0;
}

static bool is_timer(const struct probe *p, const char *path)
{
	static const char timer[] = "anon_inode:[timerfd]";
	char target[sizeof(timer)];

	return readlinkat(p->proc, path, target, sizeof(target)) == sizeof(timer) - 1 &&
	       memcmp(target, timer, sizeof(timer) - 1) == 0;
}

static enum metric cause_by_descriptor(const struct probe *p, int pid, uint64_t descriptor)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "%d/fd/%d", pid, (int)descriptor);
	if (fstatat(p->proc, path, &st, 0) < 0)
		return METRIC_OFF_OTHER;
	if (!(st.st_mode & S_IFMT) && is_timer(p, path))
		return METRIC_OFF_SLEEP;
	return wait_of_mode(st.st_mode);
}

/*
 * The number of the system call alone is not enough: a thread that was stopped
 * in the middle of a read still shows the read. CHANNEL is the kernel function
 * that it sleeps in.
 */
static enum metric find_cause(const struct probe *p, int pid, const struct probe_call *call,
                              const char *channel)
{
	struct wait place = wait_of_function(channel, strcspn(channel, " \n"));
	// A stack below 4 GB: 32-bit code, whose system calls have other numbers.
	struct wait in = wait_of_call(call->sp >> 32 ? call->number : -1);

	if (place.rank == WAIT_OVERRIDES)
		return place.cause;
	if (call->number < 0)
		return METRIC_OFF_FAULT;
	if (in.detail == WAIT_BY_DESCRIPTOR)
		return place.rank == WAIT_PLACE ? place.cause
		                                : cause_by_descriptor(p, pid, call->arguments[0]);
	if (in.rank == WAIT_UNKNOWN)
		return place.cause;
	return wait_with_arguments(in, call->arguments[0], call->arguments[1]);
}

/* Reads up from SP, as far as the memory goes. */
static size_t read_stack(struct probe *p, int pid, uint64_t sp)
{
	struct iovec local = { p->stack, p->stack_bytes };
	// NOLINTNEXTLINE(performance-no-int-to-ptr): an address in the other process
	struct iovec remote = { (void *)(uintptr_t)sp, p->stack_bytes };
	ssize_t size = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	return size > 0 ? (size_t)size : 0;
}

static void fill_sample(struct event_sample *sample, const struct probe *p,
                        const struct probe_call *call, size_t stack_bytes)
{
	memset(sample, 0, sizeof(*sample));
	sample->kind = SAMPLE_PROBE;
	sample->has_user = stack_bytes > 0;
	sample->regs[DWARF_RSP] = call->sp;
	sample->regs[DWARF_RIP] = call->pc;
	sample->regs[DWARF_RDI] = call->arguments[0]; // where vfork() keeps its return address
	sample->regs[DWARF_RSI] = call->arguments[1];
	sample->regs[DWARF_RDX] = call->arguments[2];
	sample->stack = p->stack;
	sample->stack_bytes = (uint32_t)stack_bytes;
	sample->syscall = call->number;
}

enum probe_result probe_look(struct probe *p, int pid, int tid, bool verify,
                             struct probe_view *view)
{
	// What can be done before and after is not done in between: the shorter the look, the
	// shorter a wait it can catch.
	cleanup_close int call_fd = open_task_file(p, pid, tid, "syscall");
	cleanup_close int channel_fd = open_task_file(p, pid, tid, "wchan");
	char text[TEXT_BYTES], again[TEXT_BYTES], channel[TEXT_BYTES];
	struct probe_call call;
	size_t stack_bytes;

	view->from_ns = clock_now_ns();
	if (!read_text(call_fd, text))
		return PROBE_FAILED;
	view->until_ns = clock_now_ns();
	if (!probe_parse(text, &call))
		return PROBE_RUNNING;
	stack_bytes = read_stack(p, pid, call.sp);
	read_text(channel_fd, channel);
	if (verify && (!read_text(call_fd, again) || strcmp(text, again) != 0))
		return PROBE_RUNNING;
	view->until_ns = clock_now_ns();
	view->cause = find_cause(p, pid, &call, channel);
	fill_sample(&view->sample, p, &call, stack_bytes);
	return stack_bytes ? PROBE_STACK : PROBE_CAUSE;
}
