// SPDX-License-Identifier: MIT
// Rules on the measurement itself. They save nothing: they say how far to trust the others.
#include "base/clock.h"
#include "base/origin.h"
#include "base/rung.h"
#include "base/share.h"
#include "merge/profile/profile_parts.h"
#include "merge/profile/run_overhead.h"
#include "merge/rules/evidence.h"
#include "symbolize/symbolizer.h"

#include <stdio.h>
#include <string.h>

#define OVERHEAD_NS_MIN   UINT64_C(100000000) /* of CPU time: less is no rate */
#define SAMPLES_OF_THREAD 3 // that cost the kernel what the start of a thread does
#define LOWER_HZ          199
#define FULL_SHARE        0.9 /* of the CPUs: then whoever runs keeps somebody off */

static enum measured measure_empty(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	const struct run *run = e->run;

	(void)rule;
	finding->value = (double)run->samples + (e->totals.off_cpu_ns ? 1 : 0);
	if (run->recorded_nothing && *run->recorded_nothing) {
		finding_advise(finding, "%s", run->recorded_remedy ? run->recorded_remedy : "");
		return finding_say(finding, "nothing was recorded: %s", run->recorded_nothing);
	}
	if (run->rung_remedy && *run->rung_remedy)
		finding_advise(finding, "%s", run->rung_remedy);
	return finding_say(finding, "no sample was recorded");
}

static enum measured measure_short(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	(void)rule;
	finding->value = (double)e->run->wall_ns / (double)NS_PER_SEC;
	return finding_say(finding, "the run took %.3f s, and %llu sample%s", finding->value,
	                   (unsigned long long)e->run->samples, e->run->samples == 1 ? "" : "s");
}

/* A rate that costs less than that of RUN. */
static uint32_t lower_hz(const struct run *run)
{
	if (!run->frequency_hz || run->frequency_hz > LOWER_HZ)
		return LOWER_HZ;
	return run->frequency_hz > 1 ? run->frequency_hz / 2 : 1;
}

static enum measured measure_lost(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	(void)rule;
	if (!e->run->samples && !e->run->lost)
		return MEASURED_NOTHING;
	finding->value = percent_of(e->run->lost, e->run->samples + e->run->lost);
	finding_advise(finding, "Lower the sampling rate: -F %u.", lower_hz(e->run));
	return finding_say(finding, "%.1f %% of the samples were lost", finding->value);
}

// Whether what the collector ran for is likely to be missing to the program.
static bool cpus_were_full(const struct run *run, uint64_t target_ns)
{
	double all = (double)run->wall_ns * run_cpus(run);
	double whole = (double)run->wall_ns * run->machine_cpus;

	return (double)(target_ns + run->collector_cpu_ns) >= FULL_SHARE * all ||
	       (run->machine_cpus &&
	        (double)(run->machine_busy_ns + run->machine_steal_ns) >= FULL_SHARE * whole);
}

// Hooks are taken out of the rows of those who called them.
static const char *inflated(const struct evidence *e, uint64_t collector_ns)
{
	const struct run *run = e->run;
	uint64_t rest = collector_ns + run->handlers_ns;
	uint64_t threads = profile_threads(e->profile)->threads_seen;

	if (run->setup_ns >= rest && run->setup_ns >= run->kernel_ns)
		return "the rows of exec, dynamic linking and exit";
	if (run->kernel_ns >= rest)
		return threads * SAMPLES_OF_THREAD > run->samples
		               ? "the rows of code that starts threads"
		               : "all rows alike";
	return collector_ns >= run->handlers_ns ? "waits for a free CPU" : "all rows alike";
}

static enum measured measure_overhead(const struct evidence *e, const struct rule *rule,
                                      struct finding *finding)
{
	const struct run *run = e->run;
	uint64_t cost = run->handlers_ns + run->setup_ns + run->kernel_ns;
	uint64_t cpu =
		run->target_cpu_ns > e->totals.on_cpu_ns ? run->target_cpu_ns : e->totals.on_cpu_ns;

	(void)rule;
	if (!run->complete)
		return finding_lacks(finding, "the run has not ended in order");
	if (cpu < OVERHEAD_NS_MIN)
		return MEASURED_NOTHING;
	bool full = cpus_were_full(run, cpu);
	if (full)
		cost += run->collector_cpu_ns;
	finding->value = percent_of(cost, run_bare_ns(run, cpu));
	if (full && run->collector_cpu_ns > cost / 2)
		finding_advise(finding,
		               "Most is bottleneck's own work, which found no idle CPU; "
		               "reading a library's symbols is paid once. Leave it a CPU, run more "
		               "work, or lower the sampling rate: -F %u.",
		               lower_hz(run));
	else if (run->setup_ns > cost / 2)
		finding_advise(finding, "Most is at starts of processes: use --no-ops.");
	else
		finding_advise(finding, "Lower the sampling rate: -F %u.", lower_hz(run));
	return finding_say(finding,
	                   "profiling inflates %s: apart from hooks, it adds %.1f %% to the "
	                   "program's CPU time",
	                   inflated(e, full ? run->collector_cpu_ns : 0), finding->value);
}

static enum measured measure_symbols(const struct evidence *e, const struct rule *rule,
                                     struct finding *finding)
{
	const struct module_row *worst = NULL;
	uint64_t nameless = 0;

	(void)rule;
	for (size_t i = 0; i < e->modules->count; i++) {
		const struct module_row *row = &e->modules->rows[i];
		if (row->level != DEBUG_NONE || row->path[0] == '[')
			continue;
		nameless += row->part_ns;
		if (!worst || row->part_ns > worst->part_ns)
			worst = row;
	}
	if (!e->modules->all_ns)
		return MEASURED_NOTHING;
	finding->value = percent_of(nameless, e->modules->all_ns);
	if (worst && origin_is_interpreter(worst->path))
		finding_advise(finding, "It is an interpreter, whose symbols name nothing of the "
		                        "script: use a profiler of the script's language.");
	else if (worst && *worst->remedy)
		finding_advise(finding, "%.380s.", worst->remedy);
	return finding_say(finding, "%.0f %% of %s was spent in code without symbols%s%.200s",
	                   finding->value, e->modules->of, worst ? ", most in " : "",
	                   worst ? worst->path : "");
}

static enum measured measure_fallback(const struct evidence *e, const struct rule *rule,
                                      struct finding *finding)
{
	static const char *const without[] = {
		[RUNG_PERF_KERNEL] = "",
		[RUNG_PERF_USER] = "no functions of the kernel",
		[RUNG_AGENT] = "no perf events: samples by timers inside of programs",
		[RUNG_PROC] = "only what threads wait for, not where they run",
	};

	(void)rule;
	if (!e->run->rung || e->run->rung >= sizeof(without) / sizeof(without[0]))
		return finding_lacks(finding, "it is not known how it was sampled");
	finding->value = e->run->rung;
	if (e->run->rung_remedy && *e->run->rung_remedy)
		finding_advise(finding, "%.380s", e->run->rung_remedy);
	return finding_say(finding, "this system restricts what can be measured: %s",
	                   without[e->run->rung]);
}

// Of the time in which the machine's CPUs had work, whose ever: what a hypervisor gave to others.
static double stolen(const struct run *run)
{
	uint64_t wanted = run->machine_busy_ns + run->machine_steal_ns;

	return run->machine_cpus && wanted >= OVERHEAD_NS_MIN
	               ? percent_of(run->machine_steal_ns, wanted)
	               : 0;
}

static enum measured say_stolen(double percent, struct finding *finding)
{
	finding->value = percent;
	finding->saving_ns = 0; // nobody knows of whose time it was
	return finding_say(finding,
	                   "the hypervisor gave other guests %.0f %% of the CPU time that "
	                   "this machine had work for (steal, /proc/stat)",
	                   percent);
}

static enum measured measure_noise(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	double steal = stolen(e->run);
	char beside[80] = "";

	if ((!e->run->cpus || !e->run->off_cpu_exact) && steal <= rule->threshold)
		return finding_lacks(finding, "it was not recorded when threads wait for a CPU");
	finding->saving_ns = e->contention.critical.others_ns;
	finding->value = percent_of(finding->saving_ns, e->wall_ns);
	if (steal > rule->threshold && steal > finding->value)
		return say_stolen(steal, finding);
	if (steal >= 1)
		snprintf(beside, sizeof(beside),
		         "; the hypervisor gave other guests %.0f %% of the machine's", steal);
	return finding_say(
		finding,
		"other processes used the CPUs for %.0f %% of wall time, while the critical thread "
		"was ready to run%s",
		finding->value, beside);
}

const struct rule rules_quality[] = {
	{ .id = "MEAS-EMPTY",
	  .subject = RULES_QUALITY,
	  .severity = SEVERITY_ERROR,
	  .unit = UNIT_COUNT,
	  .threshold = 1,
	  .below = true,
	  .whole_run = true,
	  .title = "nothing was measured",
	  .formula = "samples, and one more if any wait was seen",
	  .why = "The run was too short for a sample, or the system does not permit sampling.",
	  .advice = "Run more work, raise the rate (-F 4999), and see bottleneck check.",
	  .source = "there is nothing to go by",
	  .measure = measure_empty },
	{ .id = "MEAS-SHORT",
	  .subject = RULES_QUALITY,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_SECONDS,
	  .threshold = 1,
	  .severe = 0.1,
	  .below = true,
	  .whole_run = true,
	  .title = "the run was short",
	  .formula = "wall time of the run",
	  .why = "The start is a large part of a short run, and few samples rank nothing well: "
	         "with 100 samples, a share of 10 % is uncertain by 6 points.",
	  .advice = "Run more work, or the same work several times.",
	  .source = "our choice; MAQAO ONE View asks for 10 s",
	  .measure = measure_short },
	{ .id = "MEAS-LOST",
	  .subject = RULES_QUALITY,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 1,
	  .severe = 10,
	  .whole_run = true,
	  .title = "samples were lost",
	  .formula = "lost samples, as a share of all",
	  .why = "Losses are uneven: the busiest code loses most.",
	  .advice = "Lower the sampling rate: -F 199.",
	  .source = "our choice",
	  .measure = measure_lost },
	{ .id = "MEAS-OVERHEAD",
	  .subject = RULES_QUALITY,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 5,
	  .severe = 20,
	  .whole_run = true,
	  .title = "profiling overhead",
	  .formula = "CPU time that profiling adds to rows of the program (sample handlers, "
	             "starts of processes, the kernel's work for samples and threads) and, where "
	             "the CPUs were busy (90 %), of bottleneck itself, divided by that of the "
	             "program without profiling; hooks are in no row but [bottleneck]",
	  .why = "Overhead inflates the rows it falls into, so that they may rank too high.",
	  .advice = "Lower the sampling rate: -F 199.",
	  .source = "Linaro Performance Reports for the first, our choice for the second",
	  .measure = measure_overhead },
	{ .id = "MEAS-SYMBOLS",
	  .subject = RULES_QUALITY,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .severe = 50,
	  .whole_run = true,
	  .title = "code without symbols",
	  .formula =
	          "time on CPUs in files that have no names of functions at all, as a share of wall "
	          "time (without waits for a CPU of 5 % and more) where that ranks code, else "
	          "of the CPU time",
	  .why = "Such time can be attributed to a file, but not to a function or a line.",
	  .advice = "Install its debug symbols, or build it with -g and do not strip it.",
	  .source = "our choice",
	  .measure = measure_symbols },
	{ .id = "MEAS-FALLBACK",
	  .subject = RULES_QUALITY,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_COUNT,
	  .threshold = 1,
	  .severe = 3,
	  .whole_run = true,
	  .title = "restricted measurement",
	  .formula =
	          "how samples were taken: 1 with the kernel's, 2 by perf events without those, 3 "
	          "by timers inside of programs, 4 from /proc",
	  .why = "What was not measured is missing in the tables.",
	  .advice = "See bottleneck check.",
	  .source = "what is missing at each step",
	  .measure = measure_fallback },
	{ .id = "MEAS-NOISE",
	  .subject = RULES_QUALITY,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 5,
	  .severe = 20,
	  .whole_run = true,
	  .narrows = true,
	  .within = { "STAT-UNSTABLE" },
	  .title = "other processes used the CPUs",
	  .formula = "time that the critical thread was ready to run but other processes used the "
	             "CPUs, as a share of wall time, without what a quota or the program's own "
	             "threads took; or, where that is more, time that a hypervisor gave to others, "
	             "as a share of that for which the machine's CPUs had work",
	  .why = "Wall times are longer than on an idle machine, and caches are shared.",
	  .advice = "Measure again on a machine without other work.",
	  .source = "our choice",
	  .measure = measure_noise },
};

const size_t rules_quality_count = sizeof(rules_quality) / sizeof(rules_quality[0]);
