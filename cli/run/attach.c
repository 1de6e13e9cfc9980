// SPDX-License-Identifier: MIT
#include "cli/run/attach.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/report/facts.h"
#include "cli/run/collect.h"
#include "merge/profile/profile.h"
#include "merge/record/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COMMAND_MAX   ((size_t)64 << 10)
#define POLL_LIMIT_MS 1000

static bool has_ended(int pidfd)
{
	return poll(&(struct pollfd){ .fd = pidfd, .events = POLLIN }, 1, 0) > 0;
}

static int add(struct attach *a, pid_t pid, struct error *err)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->pids[i] == pid)
			return 0;
	if (a->count == ATTACH_MAX)
		return error_set(err, 0, "-p: more than %d processes", ATTACH_MAX);
	if (pid == getpid())
		return error_set(err, 0, "-p %d: that is bottleneck itself", (int)pid);
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0 && errno != ESRCH && kill(pid, 0) == 0)
		return error_set(err, 0, "-p %d: that is a thread. Name its process", (int)pid);
	if (fd < 0)
		return error_set(err, errno, "-p %d", (int)pid);
	if (has_ended(fd)) {
		close(fd);
		return error_set(err, 0,
		                 "-p %d: it has ended, but its parent has not waited for it",
		                 (int)pid);
	}
	size_t used = strlen(a->list);
	snprintf(a->list + used, sizeof(a->list) - used, "%s%d", used ? "," : "", (int)pid);
	a->pids[a->count] = pid;
	a->pidfds[a->count++] = fd;
	return 0;
}

static int take_list(struct attach *a, const char *list, struct error *err)
{
	const char *at = list;
	char *end;

	do {
		errno = 0;
		long pid = strtol(at, &end, 10);
		if (end == at || errno || pid <= 0 || pid > INT_MAX || (*end && *end != ','))
			return error_set(err, 0,
			                 "-p %s: a list of process IDs is expected, as in "
			                 "-p 1234,5678",
			                 list);
		if (add(a, (pid_t)pid, err) < 0)
			return -1;
		at = end + 1;
	} while (*end);
	return 0;
}

// The words of /proc/PID/cmdline; of a process that has none, as one of the kernel's, its name.
static int take_command(struct attach *a, struct error *err)
{
	char path[64];
	size_t size = 0, words = 0;

	a->command = calloc(1, COMMAND_MAX + 2);
	if (!a->command)
		return error_set(err, ENOMEM, "could not start");
	for (int i = 0; i < 2 && !size; i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)a->pids[0],
		         i ? "comm" : "cmdline");
		cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t count;
		while (fd >= 0 && size < COMMAND_MAX &&
		       (count = read(fd, a->command + size, COMMAND_MAX - size)) > 0)
			size += (size_t)count;
		if (i && size && a->command[size - 1] == '\n')
			a->command[--size] = '\0';
	}
	// Servers that write their title have blanks, and no words, at its end.
	while (size && (a->command[size - 1] == '\0' || a->command[size - 1] == ' '))
		a->command[--size] = '\0';
	for (size_t i = 0; i <= size; i++)
		words += a->command[i] == '\0';
	a->argv = calloc(words + 1, sizeof(*a->argv));
	if (!a->argv)
		return error_set(err, ENOMEM, "could not start");
	char *word = a->command;
	for (size_t i = 0; i < words; i++, word += strlen(word) + 1)
		a->argv[i] = word;
	return 0;
}

int attach_open(struct attach *a, const char *list, struct error *err)
{
	static const int wanted[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };

	memset(a, 0, sizeof(*a));
	a->signals = -1;
	if (take_list(a, list, err) < 0 || take_command(a, err) < 0)
		return -1;
	sigemptyset(&a->handled);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		sigaddset(&a->handled, wanted[i]);
	a->signals = signalfd(-1, &a->handled, SFD_CLOEXEC | SFD_NONBLOCK);
	if (a->signals < 0)
		return error_set(err, errno, "could not open a descriptor for signals");
	sigprocmask(SIG_BLOCK, &a->handled, &a->old_mask);
	return 0;
}

void attach_let_go(struct attach *a)
{
	struct signalfd_siginfo info;

	for (size_t i = 0; i < a->count; i++) {
		close_at_scope_end(&a->pidfds[i]);
		a->pidfds[i] = -1;
	}
	if (a->command && a->signals >= 0) {
		while (read(a->signals, &info, sizeof(info)) == sizeof(info))
			; // what ended the recording is not to end the report, too
		close(a->signals);
		a->signals = -1;
		sigprocmask(SIG_SETMASK, &a->old_mask, NULL);
	}
}

void attach_close(struct attach *a)
{
	attach_let_go(a);
	free(a->argv);
	free(a->command);
	memset(a, 0, sizeof(*a));
}

int attach_facts(struct attach *a, struct facts *facts, struct run *run)
{
	char path[64];
	cpu_set_t cpus;

	if (facts_take(facts, a->argv, run) < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)a->pids[0]);
	ssize_t count = readlink(path, facts->directory, sizeof(facts->directory) - 1);
	facts->directory[count > 0 ? count : 0] = '\0';
	if (sched_getaffinity(a->pids[0], sizeof(cpus), &cpus) == 0)
		run->cpus = (uint32_t)CPU_COUNT(&cpus);
	run->attached_pid = (uint32_t)a->pids[0];
	run->attached_pids = a->list;
	run->has_rank = false; // ours, if any
	return 0;
}

void attach_refused(const struct attach *a, struct error *err)
{
	for (size_t i = 0; i < a->count && geteuid() != 0; i++) {
		char path[64];
		struct stat theirs;
		snprintf(path, sizeof(path), "/proc/%d", (int)a->pids[i]);
		if (stat(path, &theirs) < 0 || theirs.st_uid == geteuid())
			continue;
		const struct passwd *user = getpwuid(theirs.st_uid);
		error_set(err, EACCES, "could not attach to process %d, which is %s's",
		          (int)a->pids[i], user ? user->pw_name : "another user");
		error_hint(err, "Run bottleneck as that user, or as root.");
		return;
	}
}

struct turn {
	struct collecting base; // first
	struct attach *attach;
	uint64_t until_ns; // 0: no limit
};

static bool all_have_ended(struct attach *a, const struct pollfd *fds)
{
	bool ended = true;

	for (size_t i = 0; i < a->count; i++) {
		if (fds[i].revents) {
			close_at_scope_end(&a->pidfds[i]);
			a->pidfds[i] = -1;
		}
		ended &= a->pidfds[i] < 0;
	}
	return ended;
}

static int timeout_ms(const struct turn *t)
{
	uint64_t now = clock_now_ns();
	uint64_t left_ns = t->until_ns > now ? t->until_ns - now : 0;
	int limit = POLL_LIMIT_MS;

	if (t->until_ns && left_ns / NS_PER_MS < POLL_LIMIT_MS)
		limit = (int)(left_ns / NS_PER_MS) + 1;
	return recording_timeout_ms(t->base.recording, limit);
}

static int step(struct collecting *base)
{
	struct turn *t = (struct turn *)base;
	struct recording *r = base->recording;
	struct pollfd fds[ATTACH_MAX + 2];
	size_t count = t->attach->count;

	for (size_t i = 0; i < count; i++)
		fds[i] = (struct pollfd){ .fd = t->attach->pidfds[i], .events = POLLIN };
	fds[count] = (struct pollfd){ .fd = t->attach->signals, .events = POLLIN };
	fds[count + 1] = (struct pollfd){ .fd = recording_fd(r), .events = POLLIN };
	if (poll(fds, count + 2, timeout_ms(t)) < 0 && errno != EINTR)
		return error_set(base->err, errno, "could not wait for process %d",
		                 (int)t->attach->pids[0]);
	recording_drain(r);
	bool over = fds[count].revents || (t->until_ns && clock_now_ns() >= t->until_ns);
	if (all_have_ended(t->attach, fds) || over) {
		recording_look(r);
		recording_end(r, -1, NULL);
		return 1;
	}
	recording_step(r);
	return 0;
}

int attach_collect(struct attach *a, struct recording *r, uint64_t duration_ns, struct error *err)
{
	struct turn turn = {
		.base = { .recording = r, .step = step, .err = err },
		.attach = a,
		.until_ns = duration_ns ? clock_now_ns() + duration_ns : 0,
	};

	return collect(&turn.base);
}
