// SPDX-License-Identifier: MIT
#include "base/perf_refused.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

int perf_paranoid(void)
{
	cleanup_fclose FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	char text[32], *end;

	if (!file || !fgets(text, sizeof(text), file))
		return INT_MIN;
	long value = strtol(text, &end, 10);
	return end > text ? (int)value : INT_MIN;
}

int perf_refused(struct error *err, int errnum, bool kernel, int paranoid)
{
	const char *what = kernel ? "samples of the kernel" : "perf_event_open";
	int enough = kernel ? 1 : 2;

	if (errnum == EACCES && paranoid > enough) {
		error_set(err, errnum, "%s: not allowed while kernel.perf_event_paranoid is %d",
		          what, paranoid);
		return error_hint(err,
		                  "Run `sysctl kernel.perf_event_paranoid=%d` as root, or "
		                  "give the binary CAP_PERFMON: `setcap cap_perfmon+ep`.",
		                  enough);
	}
	if (errnum == EACCES || errnum == EPERM) {
		error_set(err, errnum, "%s: refused by a seccomp filter or a security module",
		          what);
		return error_hint(err,
		                  "In a container, allow perf_event_open in its seccomp profile "
		                  "(docker run --cap-add PERFMON).");
	}
	if (errnum == ENOSYS) {
		error_set(err, errnum, "%s: this kernel or sandbox has none", what);
		return error_hint(
			err, "Use a kernel with CONFIG_PERF_EVENTS, or run outside the sandbox.");
	}
	error_set(err, errnum, "%s: the kernel refused the event", what);
	if (errnum == EMFILE)
		error_hint(err, "Raise the limit of open files: `ulimit -n 4096`.");
	return -1;
}
