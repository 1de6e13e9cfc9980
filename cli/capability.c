// SPDX-License-Identifier: MIT
#include "cli/capability.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int try_open(bool kernel)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = 1000000,
		.sample_type = PERF_SAMPLE_IP,
		.disabled = 1,
		.exclude_kernel = !kernel,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

struct capability capability_probe(void)
{
	return (struct capability){ .kernel_errno = try_open(true), .user_errno = try_open(false) };
}

const char *capability_reason(int errnum)
{
	switch (errnum) {
	case 0:
		return "";
	case EACCES:
		return "kernel.perf_event_paranoid does not allow it";
	case EPERM:
		return "a seccomp filter or a hardened kernel refuses it";
	case ENOSYS:
		return "the kernel is built without perf events, or a sandbox hides them";
	default:
		return strerror(errnum);
	}
}

const char *capability_remedy(int errnum, bool kernel)
{
	if (!errnum)
		return "";
	if (errnum == EACCES && kernel)
		return "Run \"sysctl kernel.perf_event_paranoid=1\" as root, or give bottleneck "
		       "CAP_PERFMON.";
	if (errnum == EACCES)
		return "Run \"sysctl kernel.perf_event_paranoid=2\" as root, or give bottleneck "
		       "CAP_PERFMON.";
	if (errnum == EPERM)
		return "In a container, allow perf_event_open in its seccomp profile or add "
		       "CAP_PERFMON; else lower kernel.perf_event_paranoid.";
	return "Measure on another machine, or outside the sandbox.";
}
