// SPDX-License-Identifier: MIT
// What was not the same when BASE and NEW were measured, beside the program itself.
#include "base/format.h"
#include "cli/report/diff_report.h"
#include "merge/profile/profile.h"
#include "merge/rules/noise.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define LOAD_APART 0.2 // of the machine, by others: less is no difference

__attribute__((format(printf, 2, 3))) static void put(char *buffer, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(buffer, sizeof(((struct diff_difference *)0)->base), format, args);
	va_end(args);
}

// The next one, to be filled; a last one that is overwritten where there are too many.
static struct diff_difference *add(struct diff_report *report, const char *what, bool grave)
{
	size_t at = report->difference_count < DIFF_DIFFERENCES - 1 ? report->difference_count++
	                                                            : DIFF_DIFFERENCES - 1;

	report->differences[at] = (struct diff_difference){ .what = what, .grave = grave };
	return &report->differences[at];
}

static void differ_text(struct diff_report *report, const char *what, const char *base,
                        const char *next, bool grave)
{
	if (strcmp(base ? base : "", next ? next : "") == 0)
		return;
	struct diff_difference *d = add(report, what, grave);
	put(d->base, "%s", base ? base : "unknown");
	put(d->next, "%s", next ? next : "unknown");
}

static void differ_number(struct diff_report *report, const char *what, uint64_t base,
                          uint64_t next, bool grave)
{
	if (base == next)
		return;
	struct diff_difference *d = add(report, what, grave);
	put(d->base, "%s", format_count(base).text);
	put(d->next, "%s", format_count(next).text);
}

static void put_exit(char *buffer, const struct run *run)
{
	int status = run->exit_status;

	if (status == -1)
		put(buffer, "%s", run->complete ? "unknown" : "unfinished");
	else if (WIFSIGNALED(status) && sigabbrev_np(WTERMSIG(status)))
		put(buffer, "killed by SIG%s", sigabbrev_np(WTERMSIG(status)));
	else if (WIFSIGNALED(status))
		put(buffer, "killed by signal %d", WTERMSIG(status));
	else
		put(buffer, "exit %d", WEXITSTATUS(status));
}

static void put_part(char *buffer, const struct diff_part *part)
{
	const struct run *run = profile_run(part->profile);

	if (run->recorded_schedule)
		put(buffer, "schedule: %s", run->recorded_schedule);
	else if (run->recorded_gates)
		put(buffer, "as the program called start() and stop()");
	else if (run->recorded_range)
		put(buffer, "while open: %s", run->recorded_range);
	else if (run->recorded_to_ns)
		put(buffer, "%.3f to %.3f s", (double)run->recorded_from_ns / 1e9,
		    (double)run->recorded_to_ns / 1e9);
	else
		put(buffer, "all");
}

static const char *rung_words(uint32_t rung)
{
	static const char *const words[] = { "unknown", "perf events with the kernel",
		                             "perf events of user space", "timers in the program",
		                             "none: waits only" };

	return rung < sizeof(words) / sizeof(words[0]) ? words[rung] : words[0];
}

static double load_of(const struct run *run)
{
	double capacity = (double)run->machine_cpus * (double)run->wall_ns;
	double others = (double)run->machine_busy_ns - (double)run->target_cpu_ns -
	                (double)run->collector_cpu_ns;

	return capacity > 0 && others > 0 ? others / capacity : 0;
}

static void differ_load(struct diff_report *report, const struct run *base, const struct run *next)
{
	double was = load_of(base), is = load_of(next);

	if (was - is < LOAD_APART && is - was < LOAD_APART)
		return;
	struct diff_difference *d = add(report, "CPUs that others used", false);
	put(d->base, "%.0f %%", 100 * was);
	put(d->next, "%.0f %%", 100 * is);
}

static void put_quota(char text[160], const struct run *run)
{
	snprintf(text, 160, "none");
	if (run->quota_millicpus)
		snprintf(text, 160, "%.3g CPU%s", run->quota_millicpus / 1e3,
		         run->quota_millicpus > 1000 ? "s" : "");
}

static void differ_parts(struct diff_report *report, const struct diff_part *base,
                         const struct diff_part *next)
{
	const struct run *was = profile_run(base->profile), *is = profile_run(next->profile);
	char a[160], b[160];

	put_exit(a, was);
	put_exit(b, is);
	differ_text(report, "end", a, b, true);
	put_part(a, base);
	put_part(b, next);
	differ_text(report, "part that was recorded", a, b, true);
	differ_text(report, "samples by", rung_words(was->rung), rung_words(is->rung), true);
	differ_number(report, "samples a second", was->frequency_hz, is->frequency_hz, false);
	differ_text(report, "waits known", was->off_cpu_exact ? "exactly" : "by probes",
	            is->off_cpu_exact ? "exactly" : "by probes", true);
	differ_text(report, "host", was->host, is->host, false);
	differ_text(report, "kernel", was->kernel, is->kernel, false);
	differ_number(report, "CPUs it may use", was->cpus, is->cpus, true);
	put_quota(a, was);
	put_quota(b, is);
	differ_text(report, "CPU quota (cgroup)", a, b, true);
	differ_text(report, "version of bottleneck", was->version, is->version, false);
	differ_load(report, was, is);
}

void diff_report_differ(struct diff_report *report)
{
	struct totals was, is;

	differ_parts(report, &report->base->parts[0], &report->next->parts[0]);
	query_totals(report->base->parts[0].profile, &was);
	query_totals(report->next->parts[0].profile, &is);
	differ_number(report, "processes", was.processes, is.processes, false);
	differ_number(report, "threads", was.threads, is.threads, false);
}
