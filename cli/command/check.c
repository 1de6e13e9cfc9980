// SPDX-License-Identifier: MIT
// What can be measured here, and the fix for each gap. Everything is tried, not read from a
// setting, wherever it can be tried.
#include "base/cleanup.h"
#include "base/error.h"
#include "base/format.h"
#include "base/perf_refused.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/option.h"
#include "cli/report/display.h"
#include "cli/report/facts.h"
#include "cli/state.h"
#include "cli/terminal.h"
#include "merge/record/agent_path.h"
#include "merge/record/capability.h"
#include "merge/record/limits.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum level {
	LEVEL_GOOD,
	LEVEL_INFO,
	LEVEL_LIMITED,
	LEVEL_BAD
};

struct finding {
	enum level level;
	char value[256];
	char fix[384]; /* "" if there is nothing to mend */
};

__attribute__((format(printf, 3, 4))) static void found(struct finding *f, enum level level,
                                                        const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->value, sizeof(f->value), format, args);
	va_end(args);
	f->level = level;
}

__attribute__((format(printf, 2, 3))) static void mend(struct finding *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->fix, sizeof(f->fix), format, args);
	va_end(args);
}

// The first line of a file in /proc or /sys; false if it cannot be read.
static bool read_setting(const char *path, char *buffer, size_t size)
{
	cleanup_fclose FILE *file = fopen(path, "re");

	if (!file || !fgets(buffer, (int)size, file))
		return false;
	buffer[strcspn(buffer, "\n")] = '\0';
	return true;
}

static void check_sampling(struct finding *f)
{
	struct capability can = capability_probe();
	struct error why = { 0 };
	char agent[PATH_MAX];

	if (!can.kernel_errno) {
		found(f, LEVEL_GOOD, "perf events, program and kernel");
		return;
	}
	perf_refused(&why, can.user_errno ? can.user_errno : can.kernel_errno, !can.user_errno,
	             perf_paranoid());
	if (!can.user_errno)
		found(f, LEVEL_LIMITED, "perf events, program only: %s", why.text);
	else if (agent_path_find(agent, sizeof(agent), NULL) == 0)
		found(f, LEVEL_LIMITED, "timers inside dynamically linked programs: %s", why.text);
	else
		found(f, LEVEL_BAD, "no perf events (%s) and no agent library", why.text);
	mend(f, "%s", why.hint);
}

static void check_paranoid(struct finding *f)
{
	char value[32];

	if (read_setting("/proc/sys/kernel/perf_event_paranoid", value, sizeof(value)))
		found(f, LEVEL_INFO, "%s (of -1, open, to 4, closed)", value);
	else
		found(f, LEVEL_INFO, "not there: no perf events in this kernel or sandbox");
}

static void check_kernel_names(struct finding *f)
{
	cleanup_fclose FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], restrict_value[32] = "?";
	uint64_t address = 0;

	for (int i = 0; i < 100 && !address && file && fgets(line, sizeof(line), file); i++)
		address = strtoull(line, NULL, 16);
	if (address) {
		found(f, LEVEL_GOOD, "/proc/kallsyms");
		return;
	}
	read_setting("/proc/sys/kernel/kptr_restrict", restrict_value, sizeof(restrict_value));
	// Where that does not hide them, the kernel still shows them to those alone who may sample
	// it.
	if (strcmp(restrict_value, "0") == 0) {
		found(f, LEVEL_LIMITED, "hidden (perf_event_paranoid %d)", perf_paranoid());
		mend(f, "Run `sysctl kernel.perf_event_paranoid=1` as root, or run as root.");
	} else {
		found(f, LEVEL_LIMITED, "hidden (kptr_restrict %s)", restrict_value);
		mend(f, "Run `sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1` as root, "
		        "or run as root.");
	}
}

// Reads from a child of ours, as the sampler reads from blocked threads.
static int try_reading_child(void)
{
	static int here = 42;
	int there = 0, reason = 0;
	int gate[2];

	if (pipe(gate) < 0)
		return errno;
	pid_t child = fork();
	if (child == 0) {
		char byte;
		close(gate[1]);
		_exit(read(gate[0], &byte, 1) < 0);
	}
	struct iovec local = { &there, sizeof(there) }, remote = { &here, sizeof(here) };
	if (child < 0 || process_vm_readv(child, &local, 1, &remote, 1, 0) != sizeof(there))
		reason = errno;
	close(gate[0]);
	close(gate[1]);
	if (child > 0)
		waitpid(child, NULL, 0);
	return reason;
}

static void check_waiting(struct finding *f)
{
	int reason = try_reading_child();
	char scope[16] = "";

	read_setting("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope));
	if (!reason) {
		found(f, LEVEL_GOOD, "stacks of blocked threads%s%s%s",
		      *scope ? " (ptrace_scope " : "", scope, *scope ? ")" : "");
		return;
	}
	found(f, LEVEL_LIMITED, "no stacks of blocked threads: process_vm_readv: %s",
	      strerror(reason));
	if (*scope >= '2')
		mend(f, "Run \"sysctl kernel.yama.ptrace_scope=1\" as root.");
	else
		mend(f, "Allow process_vm_readv in the seccomp profile, or add CAP_SYS_PTRACE.");
}

static void check_agent(struct finding *f)
{
	char path[PATH_MAX];
	struct error err;

	if (agent_path_find(path, sizeof(path), &err) == 0) {
		found(f, LEVEL_GOOD, "%s", path);
		return;
	}
	found(f, LEVEL_LIMITED, "%s", err.text);
	mend(f, "%s", err.hint);
}

static void check_debuginfod(struct finding *f)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (urls && *urls)
		found(f, LEVEL_INFO, "%s (asked only with --debuginfod)", urls);
	else
		found(f, LEVEL_INFO, "no servers in DEBUGINFOD_URLS");
}

static void check_memory(struct finding *f)
{
	char value[32] = "0";
	struct rlimit limit;

	read_setting("/proc/sys/kernel/perf_event_mlock_kb", value, sizeof(value));
	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
	    geteuid() == 0) {
		found(f, LEVEL_GOOD, "no limit");
		return;
	}
	uint64_t bytes = strtoull(value, NULL, 10) * 1024 * facts_cpus() + limit.rlim_cur;
	// Rings of 2 MB hold 50 ms of samples; smaller ones lose some under load.
	bool enough = bytes >= (uint64_t)2 * 1024 * 1024 * facts_cpus();
	found(f, enough ? LEVEL_GOOD : LEVEL_LIMITED, "%s for rings on %u CPUs",
	      format_bytes(bytes).text, facts_cpus());
	if (!enough)
		mend(f, "Raise it with \"ulimit -l\", or lower the rate (-F) if samples are lost.");
}

static void check_state(struct finding *f)
{
	char path[PATH_MAX];
	struct error err;
	struct statvfs fs;
	char text[ERROR_TEXT_SIZE];

	if (state_prepare(path, sizeof(path), &err) < 0) {
		found(f, LEVEL_LIMITED, "not kept: %s", error_message(&err, text, sizeof(text)));
		mend(f, "Set XDG_STATE_HOME to a directory of yours, or name a file with -o.");
		return;
	}
	char *slash = strrchr(path, '/');
	*slash = '\0';
	uint64_t bytes = statvfs(path, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : 0;
	*slash = '/';
	found(f, bytes < 16 << 20 ? LEVEL_LIMITED : LEVEL_GOOD, "%s, %s free", path,
	      format_bytes(bytes).text);
	if (bytes < 16 << 20)
		mend(f, "Make room on that disk, or name a file elsewhere with -o.");
}

static void check_seccomp(struct finding *f)
{
	char line[256];
	cleanup_fclose FILE *file = fopen("/proc/self/status", "re");
	int mode = 0;

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "Seccomp:", 8) == 0)
			mode = (int)strtol(line + 8, NULL, 10);
	found(f, LEVEL_INFO, "%s", mode ? "a filter is active (a container or a sandbox)" : "none");
}

static void check_cpus(struct finding *f)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t quota = limits_quota("", (uint32_t)getpid());

	if (quota)
		found(f, LEVEL_INFO, "%u of %ld allowed, quota of %.3g CPUs", facts_cpus(), online,
		      quota / 1e3);
	else
		found(f, LEVEL_INFO, "%u of %ld allowed", facts_cpus(), online);
}

static void check_cuda(struct finding *f)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

	found(f, LEVEL_INFO, "%s", driver ? "driver library found" : "no driver library");
	if (driver)
		dlclose(driver);
}

static const struct {
	const char *name;
	void (*check)(struct finding *f);
} checks[] = {
	{ "sampling", check_sampling },
	{ "perf_event_paranoid", check_paranoid },
	{ "kernel names", check_kernel_names },
	{ "waiting threads", check_waiting },
	{ "agent library", check_agent },
	{ "ring memory", check_memory },
	{ "last run", check_state },
	{ "debuginfod", check_debuginfod },
	{ "seccomp", check_seccomp },
	{ "CPUs", check_cpus },
	{ "CUDA", check_cuda },
};

#define CHECK_COUNT (sizeof(checks) / sizeof(checks[0]))

static void print_finding(const struct terminal *t, const char *name, const struct finding *f)
{
	static const struct {
		const char *word;
		enum style style;
	} levels[] = {
		[LEVEL_GOOD] = { "ok", STYLE_PLAIN },
		[LEVEL_INFO] = { "", STYLE_PLAIN },
		[LEVEL_LIMITED] = { "limited", STYLE_WARM },
		[LEVEL_BAD] = { "no", STYLE_HOT },
	};
	char head[64];

	snprintf(head, sizeof(head), "%-20s %s%-8s%s ", name,
	         terminal_style(t, levels[f->level].style), levels[f->level].word,
	         terminal_style(t, STYLE_PLAIN));
	fputs(head, stdout);
	terminal_wrap(t, stdout, f->value, 30, 30);
	if (f->fix[0]) {
		printf("%30s", "");
		terminal_wrap(t, stdout, f->fix, 30, 30);
	}
}

// The first check decides: without samples there is no profile.
static int print_all(const struct terminal *t)
{
	int status = 0;

	for (size_t i = 0; i < CHECK_COUNT; i++) {
		struct finding f = { .fix = "" };
		checks[i].check(&f);
		print_finding(t, checks[i].name, &f);
		if (f.level == LEVEL_BAD)
			status = EXIT_REPORT;
	}
	return status;
}

static int run(int argc, char **argv)
{
	struct display display = { .color = COLOR_AUTO };
	const struct option_group group = display_options(&display);
	struct error err;
	int first = option_parse(&group, 1, argc, argv, OPTION_OPERANDS_MIX, &err);

	if (first >= 0 && argv[first])
		first = error_set(&err, 0, "\"%s\" is one word too many", argv[first]);
	if (first < 0) {
		message_error("check", &err);
		return EXIT_REPORT;
	}
	if (display.help)
		return command_help(&command_check, &group, 1);
	struct terminal t = display_terminal(&display, stdout);
	return print_all(&t);
}

const struct command command_check = {
	.name = "check",
	.usage = { "check [OPTIONS]" },
	.summary = "show what can be measured on this machine, and how to enable more",
	.run = run,
};
