// SPDX-License-Identifier: MIT
// The overhead of profiling, and who took how much of it.
#include "cli/report/overhead.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/op.h"
#include "cli/report/section.h"
#include "merge/profile/profile.h"
#include "merge/profile/run_overhead.h"
#include "merge/query/query_called.h"
#include "merge/query/query_gpu.h"
#include "merge/query/query_ops.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WORDS 1024

struct words {
	char text[WORDS];
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct words *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int length = vsnprintf(w->text + w->used, sizeof(w->text) - w->used, format, args);
	va_end(args);
	if (length > 0)
		w->used += (size_t)length < sizeof(w->text) - w->used
		                   ? (size_t)length
		                   : sizeof(w->text) - w->used - 1;
}

uint64_t overhead_ns(const struct run *run)
{
	return run->collector_cpu_ns + run_inside_ns(run);
}

// "12 ms (±3 ms)": what samples have found, with its 95 % interval.
static void add_sampled(const struct profile *profile, struct words *w, uint64_t ns)
{
	const struct run *run = profile_run(profile);
	double samples = (double)ns * run->frequency_hz / (double)NS_PER_SEC;
	uint64_t margin = samples > 0 ? (uint64_t)(1.96 * (double)ns / sqrt(samples)) : 0;

	add(w, "%s (\u00b1%s)", format_duration(ns).text, format_duration(margin).text);
}

static uint32_t owner_of(const char *name)
{
	const struct provider *provider = provider_called(name);

	return provider ? provider->hooks_of : 0;
}

static void count_calls(const struct profile *profile, uint64_t calls[OP_PROVIDERS])
{
	const struct op_query by_op = { .by = OPS_BY_OP };
	cleanup(op_rows) struct op_rows *rows = query_ops(profile, &by_op, NULL);

	for (size_t i = 0; rows && i < rows->count; i++)
		calls[owner_of(rows->rows[i].provider)] +=
			rows->rows[i].calls - rows->rows[i].unseen + rows->rows[i].marks;
	// --count-calls has each call of a function counted, of which few are ops.
	const struct query all = { .by = BY_FUNCTION };
	cleanup(called_rows) struct called_rows *called =
		query_called(profile, &all, CALLED_BY_CALLS, NULL);
	if (called)
		calls[OP_PYTHON] += called->calls;
}

// "nvtx 301 ms (±12 ms) for 4,000,000 calls, blas 0 s for 12, others 2 ms (±1 ms)"
static void add_providers(const struct profile *profile, struct words *w)
{
	const struct run *run = profile_run(profile);
	uint64_t calls[OP_PROVIDERS] = { 0 }, others_ns = run->hooks_ns[0];
	const char *before = ": ", *unit = " calls";

	count_calls(profile, calls);
	for (uint32_t i = 1; i < OP_PROVIDERS; i++) {
		// It has looked for what it would see.
		if (!calls[i]) {
			others_ns += run->hooks_ns[i];
			continue;
		}
		add(w, "%s%s ", before, op_provider_name((enum op_provider)i));
		if (run->hooks_ns[i])
			add_sampled(profile, w, run->hooks_ns[i]);
		else
			add(w, "0 s");
		add(w, " for %s%s", format_count(calls[i]).text, unit);
		before = ", ";
		unit = "";
	}
	if (!others_ns || others_ns == run->hooks_ops_ns)
		return;
	add(w, "%sothers ", before);
	add_sampled(profile, w, others_ns);
}

// It knows what it does in calls of the program's, where samples see the program.
static void add_cupti(const struct profile *profile, struct words *w)
{
	const struct query all = { .by = BY_FUNCTION };
	cleanup(gpu_facts) struct gpu_facts *facts = query_gpu_facts(profile, &all, NULL);

	add(w, ", ");
	add_sampled(profile, w, profile_run(profile)->hooks_cupti_ns);
	add(w, " in CUPTI and its threads");
	if (facts && facts->overhead_ns)
		add(w, " (by its own account %s)", format_duration(facts->overhead_ns).text);
}

void overhead_say(struct section *s)
{
	const struct profile *profile = s->report->profile;
	const struct run *run = profile_run(profile);
	struct words w = { .used = 0 };

	if (!run->complete || overhead_ns(run) == run->collector_cpu_ns)
		return;
	add(&w, "the overhead is %s of bottleneck itself",
	    format_duration(run->collector_cpu_ns).text);
	if (run->handlers_ns)
		add(&w, ", %s in handlers of samples within the program",
		    format_duration(run->handlers_ns).text);
	if (run->hooks_memory_ns) {
		add(&w, ", ");
		add_sampled(profile, &w, run->hooks_memory_ns);
		add(&w, " in hooks of allocations");
	}
	if (run->hooks_ops_ns) {
		add(&w, ", ");
		add_sampled(profile, &w, run->hooks_ops_ns);
		add(&w, " in hooks of ops");
		add_providers(profile, &w);
	}
	if (run->hooks_waits_ns) {
		// A hook looks at the lock, for which it waits where the program would have.
		bool known = run->hooks_waits_most_ns > run->hooks_waits_ns;
		add(&w, known ? ", about " : ", up to ");
		add_sampled(profile, &w, run->hooks_waits_ns);
		add(&w, " in hooks of locks and other waits");
		if (known)
			add(&w, " (at most %s)", format_duration(run->hooks_waits_most_ns).text);
	}
	if (run->hooks_cupti_ns)
		add_cupti(profile, &w);
	if (run->setup_ns)
		add(&w, ", %s at starts of processes", format_duration(run->setup_ns).text);
	if (run->kernel_ns)
		add(&w, ", %s in the kernel for samples and threads",
		    format_duration(run->kernel_ns).text);
	if (run_inside_ns(run) - run->setup_ns - run->kernel_ns)
		add(&w, ". Hooks are not in the times of those who called them");
	section_say(s, "%s", w.text);
}
