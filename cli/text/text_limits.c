// SPDX-License-Identifier: MIT
// What the numbers above rest on, and what they cannot show.
#include "cli/text/text.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/rung.h"
#include "base/share.h"
#include "cli/format.h"
#include "merge/profile/profile.h"
#include "merge/query/query_clock.h"
#include "merge/query/query_warmup.h"
#include "symbolize/symbolizer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MODULES_MAX     5 /* lines about libraries without lines; -v: all */
#define OVERHEAD_NS_MIN (100 * NS_PER_MS)
#define PROCESSES_MANY  100
#define MODULE_SHARE    0.01             /* below this a library is not worth a line; -v: all */
#define MEMORY_SHARE    0.01             /* nor bytes whose end is not known */
#define UNSEEN_NS_MIN   NS_PER_SEC       /* shorter runs are asked for more work anyway */
#define MACHINE_NS_MIN  (NS_PER_SEC / 5) /* /proc/stat counts in hundredths of a second */
#define OTHERS_SHARE    0.2
#define STEAL_SHARE     0.01
#define CALLLESS_SHARE  0.01 /* nor kernel time without callers */

static void print_figures(const struct text *text, const struct run *run,
                          const struct totals *totals)
{
	const char *dot = text->terminal.dot;
	// Processes that outlive the first one are in the profile but not in its usage.
	uint64_t cpu_ns =
		run->target_cpu_ns > totals->on_cpu_ns ? run->target_cpu_ns : totals->on_cpu_ns;
	char overhead[64] = "", rate[32] = "", rss[64] = "";

	// Of a run of milliseconds the start and the end of sampling are most of it: not a rate.
	if (cpu_ns > OVERHEAD_NS_MIN && run->complete)
		snprintf(overhead, sizeof(overhead), "overhead %.1f %% (%s of CPU) %s ",
		         percent_of(text_overhead_ns(run), cpu_ns),
		         format_duration(text_overhead_ns(run)).text, dot);
	else if (run->complete)
		snprintf(overhead, sizeof(overhead), "overhead %s of CPU %s ",
		         format_duration(text_overhead_ns(run)).text, dot);
	if (run->peak_rss_bytes)
		snprintf(rss, sizeof(rss), " %s peak memory %s", dot,
		         format_bytes(run->peak_rss_bytes).text);
	if (run->frequency_hz)
		snprintf(rate, sizeof(rate), " at %u Hz", run->frequency_hz);
	text_say(text, "%s%s sample%s%s, %s lost %s %.1f %% of stacks cut%s", overhead,
	         format_count(run->samples).text, run->samples == 1 ? "" : "s", rate,
	         format_count(run->lost).text, dot, percent_of(run->truncated, run->samples), rss);
}

// Where perf events see no kernel, the agent tells for whom it works.
static void print_callless(const struct text *text, const struct totals *totals)
{
	double share = percent_of(totals->callless_ns, totals->on_cpu_ns);

	if (share < 100 * CALLLESS_SHARE && !text->view->verbose)
		return;
	if (totals->callless_ns)
		text_say(
			text,
			"%.1f %% of CPU time is kernel time whose callers were not seen: too short for "
			"a tick, or in programs that the agent cannot get into. Kernel stacks show "
			"them: kernel.perf_event_paranoid at 1 or less",
			share);
}

static void print_rung(const struct text *text, const struct run *run)
{
	static const char *const without[] = {
		[RUNG_PERF_KERNEL] = NULL,
		[RUNG_PERF_USER] = "no kernel functions: kernel time is shown as [kernel]",
		[RUNG_AGENT] = "no perf events: sampled by timers inside the program",
		[RUNG_PROC] = "running code is not sampled",
	};
	bool known = run->rung >= RUNG_PERF_KERNEL && run->rung <= RUNG_PROC;

	if (!known || !without[run->rung])
		return;
	text_say(text, "%s%s%s%s%s%s", without[run->rung],
	         run->rung_reason && *run->rung_reason ? " (" : "",
	         run->rung_reason ? run->rung_reason : "",
	         run->rung_reason && *run->rung_reason ? ")" : "",
	         run->rung_remedy && *run->rung_remedy ? ". " : "",
	         run->rung_remedy ? run->rung_remedy : "");
}

static void print_lost(const struct text *text, const struct run *run)
{
	if (run->lost * 100 > run->samples + run->lost)
		text_say(text,
		         "%.1f %% of the samples were lost: bottleneck was not given enough CPU; "
		         "lower the rate (-F) or leave it a free CPU",
		         percent_of(run->lost, run->samples + run->lost));
	if (run->unseen_processes)
		text_say(text, "%u process%s could not be sampled (%s%s): setuid, static or gone",
		         run->unseen_processes, run->unseen_processes == 1 ? "" : "es",
		         run->unseen_name ? run->unseen_name : "?",
		         run->unseen_processes > 1 ? " ..." : "");
}

static const char *lacking(int level)
{
	return level == DEBUG_SYMBOLS   ? "no lines for"
	       : level == DEBUG_DYNAMIC ? "only exported names for"
	                                : "no names for";
}

static int print_modules(const struct text *text, const struct totals *totals, struct error *err)
{
	cleanup(module_rows) struct module_rows *modules = query_modules(text->profile, err);
	uint64_t all = totals->on_cpu_ns + totals->off_cpu_ns;
	size_t shown = 0;

	if (!modules)
		return -1;
	for (size_t i = 0; i < modules->count; i++) {
		const struct module_row *row = &modules->rows[i];
		bool small = percent_of(row->self_ns, all) < 100 * MODULE_SHARE;
		// The kernel and other things in brackets never have lines.
		bool named = row->path[0] == '[' && row->level >= DEBUG_DYNAMIC;
		bool expected = row->level == DEBUG_LINES || (named && !*row->reason);
		if (expected || (!text->view->verbose && (small || shown == MODULES_MAX)))
			continue;
		shown++;
		if (named) {
			text_say(text, "%s (%.1f %%): %s", row->path, percent_of(row->self_ns, all),
			         row->reason);
			continue;
		}
		text_say(text, "%s %s (%.1f %%)%s%s%s%s", lacking(row->level), path_base(row->path),
		         percent_of(row->self_ns, all), *row->reason ? ", " : "", row->reason,
		         *row->remedy ? ": " : "", row->remedy);
	}
	return 0;
}

// What else the machine did meanwhile: more or less of it, and times are others.
static void print_machine(const struct text *text, const struct run *run,
                          const struct totals *totals)
{
	double all = (double)run->wall_ns * run->machine_cpus;
	uint64_t ours =
		run->collector_cpu_ns +
		(run->target_cpu_ns > totals->on_cpu_ns ? run->target_cpu_ns : totals->on_cpu_ns);
	uint64_t others = run->machine_busy_ns > ours ? run->machine_busy_ns - ours : 0;

	if (run->wall_ns < MACHINE_NS_MIN || !run->machine_cpus)
		return;
	if ((double)others >= OTHERS_SHARE * all)
		text_say(
			text,
			"other programs kept %.1f of %u CPUs busy meanwhile (%.0f %%): times vary with "
			"what they do",
			(double)others / (double)run->wall_ns, run->machine_cpus,
			100 * (double)others / all);
	if ((double)run->machine_steal_ns >= STEAL_SHARE * all)
		text_say(text, "other virtual machines took %.1f %% of the time of the CPUs",
		         100 * (double)run->machine_steal_ns / all);
}

static void print_detail(const struct text *text, const struct run *run,
                         const struct totals *totals)
{
	if (totals->folded_ns)
		text_say(text,
		         "%.1f %% of the time was given to callers to keep the call tree small",
		         percent_of(totals->folded_ns, totals->on_cpu_ns + totals->off_cpu_ns));
	if (totals->lost_events)
		text_say(text, "%s events (%s) found no place in the profile: memory was short",
		         format_count(totals->lost_events).text,
		         format_duration(totals->lost_ns).text);
	if (!run->off_cpu_exact && totals->off_cpu_ns)
		text_say(text, "waiting times are estimates: no scheduler records");
	if (!run->complete)
		text_say(text, "this is a checkpoint: the program had not ended yet");
	if (!text->view->verbose)
		return;
	text_say(text, "%s stacks completed from memory, %s with a guessed frame pointer",
	         format_count(run->joined).text, format_count(run->guessed).text);
	text_say(text, "time is kept in steps of %s", format_duration(totals->bin_ns).text);
	if (run->host && run->kernel && run->version)
		text_say(text, "host %s, Linux %s, bottleneck %s", run->host, run->kernel,
		         run->version);
}

// What the run itself had to tell, a line each.
static void print_notes(const struct text *text, const char *notes)
{
	while (notes && *notes) {
		size_t length = strcspn(notes, "\n");
		text_say(text, "%.*s", (int)length, notes);
		notes += length + (notes[length] == '\n');
	}
}

// Of allocations. What is little is not worth a line.
static void print_doubts(const struct text *text)
{
	struct memory_doubts doubts;

	query_memory_doubts(text->profile, &doubts);
	double untracked = percent_of(doubts.untracked_bytes, doubts.sampled_bytes);
	double lost = percent_of(doubts.lost, doubts.samples + doubts.lost);
	if (untracked >= 100 * MEMORY_SHARE || (text->view->verbose && doubts.untracked_bytes))
		text_say(
			text,
			"%.1f %% of allocated bytes could not be followed until they were freed, as too "
			"many were alive: memory \"at peak\" and \"at end\" is shared out by the rest; "
			"its sums are exact",
			untracked);
	if (lost >= 100 * MEMORY_SHARE || (text->view->verbose && doubts.lost))
		text_say(text,
		         "%.1f %% of the samples of allocations found no place in the profile",
		         lost);
}

static void print_calls(const struct text *text, const struct totals *totals)
{
	if (totals->uncounted)
		text_say(
			text,
			"calls of Python functions are a lower bound: %s of %s processes that counted "
			"ended before they told all",
			format_count(totals->uncounted).text, format_count(totals->counters).text);
}

// See OP_DEPTH_MAX in tracer/agent/op/op.h, and TRACE_SLOTS in trace_calls.h.
static void print_timeless(const struct text *text, const struct totals *totals)
{
	uint64_t calls = totals->timeless;

	if (calls)
		text_say(
			text,
			"%s call%s of ops %s counted without time, as too many were open: 2,048 of a "
			"thread are kept, and 32,768 of all traced functions; the time is in the op "
			"around",
			format_count(calls).text, calls == 1 ? "" : "s",
			calls == 1 ? "was" : "were");
}

// Of a long run. Silence would say that there is none.
static int print_warmup(const struct text *text, const struct run *run, struct error *err)
{
	if (run->wall_ns < UNSEEN_NS_MIN)
		return 0;
	cleanup(warmup_rows) struct warmup_rows *rows =
		query_warmup(text->profile, &(struct query){ 0 }, err);
	if (!rows)
		return -1;
	if (rows->unseen)
		text_say(text,
		         "whether the run includes warm-up cannot be told: no ops were seen, and "
		         "no loop whose turns could be compared; NVTX or ITT ranges, or --trace "
		         "FUNC, would show some");
	return 0;
}

// What is in the tables is in them all the same.
static void print_timeline(const struct text *text, const struct totals *totals)
{
	uint64_t kept = totals->slices, dropped = totals->slices_dropped;

	if (dropped)
		text_say(
			text,
			"timelines end at %s: the first %s calls, waits and works of GPUs are kept one by "
			"one, %s more in sums alone (--timeline-limit)",
			format_duration(totals->slices_until_ns).text, format_count(kept).text,
			format_count(dropped).text);
}

// Heat and a shared limit of power slow CPUs down.
static void print_clock(const struct text *text)
{
	struct clock_change change;

	if (query_clock_fall(text->profile, &change))
		text_say(
			text,
			"the CPUs' clock fell from %.2f to %.2f GHz after %s: times before and after "
			"do not compare",
			change.before_mhz / 1e3, change.after_mhz / 1e3,
			format_duration(change.at_ns).text);
}

int text_limits(const struct text *text, const struct totals *totals, struct error *err)
{
	const struct run *run = profile_run(text->profile);

	bool cut = text->view->from_ns || text->view->to_ns;

	text_heading(text, "limits", cut ? "of the whole run" : "");
	print_figures(text, run, totals);
	text_overhead(text);
	if (totals->processes >= PROCESSES_MANY)
		text_say(text,
		         "what each of the %s processes takes longer to start is not in that: see "
		         "bottleneck-ops(7)",
		         format_count(totals->processes).text);
	print_rung(text, run);
	if (run->rung == RUNG_PERF_USER)
		print_callless(text, totals);
	print_lost(text, run);
	if (print_modules(text, totals, err) < 0)
		return -1;
	print_detail(text, run, totals);
	if (print_warmup(text, run, err) < 0)
		return -1;
	print_clock(text);
	print_doubts(text);
	print_calls(text, totals);
	print_timeless(text, totals);
	print_timeline(text, totals);
	if (text_gpu_limits(text, err) < 0)
		return -1;
	print_machine(text, run, totals);
	print_notes(text, run->notes);
	return 0;
}
