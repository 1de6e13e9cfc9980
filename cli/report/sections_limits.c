// SPDX-License-Identifier: MIT
// What the numbers above rest on, and what they cannot show.
#include "cli/report/sections.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/debug_status.h"
#include "base/error.h"
#include "base/format.h"
#include "base/op.h"
#include "base/origin.h"
#include "base/path.h"
#include "base/rung.h"
#include "base/share.h"
#include "cli/report/overhead.h"
#include "cli/report/view.h"
#include "merge/profile/profile.h"
#include "merge/profile/run_overhead.h"
#include "merge/query/query_clock.h"
#include "merge/query/query_gpu.h"
#include "merge/query/query_ops.h"
#include "merge/query/query_warmup.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define MODULES_MAX     5 /* lines about libraries without lines; -v: all */
#define MODULES_BRIEF   3 /* libraries in the one line of a report of one screen */
#define LIMITS_BRIEF    3 /* and how many limits that has, unless who prints it knows better */
#define OVERHEAD_NS_MIN (100 * NS_PER_MS)
#define MODULE_SHARE    0.01             /* below this a library is not worth a line; -v: all */
#define BRIEF_SHARE     0.05             /* the same, of a report of one screen */
#define MEMORY_SHARE    0.01             /* nor bytes whose end is not known */
#define UNSEEN_NS_MIN   NS_PER_SEC       /* shorter runs are asked for more work anyway */
#define MACHINE_NS_MIN  (NS_PER_SEC / 5) /* /proc/stat counts in hundredths of a second */
#define OTHERS_SHARE    0.2
#define STEAL_SHARE     0.01
#define KERNEL_SHARE    0.05 /* of the CPU time: less of the kernel is no matter */
#define CALLLESS_SHARE  0.01 /* nor kernel time without callers */

// How much of the machine's time other programs had; 0: little, or unknown.
static uint64_t others_ns(const struct run *run, const struct totals *totals)
{
	double all = (double)run->wall_ns * run->machine_cpus;
	uint64_t ours =
		run->collector_cpu_ns +
		(run->target_cpu_ns > totals->on_cpu_ns ? run->target_cpu_ns : totals->on_cpu_ns);
	uint64_t others = run->machine_busy_ns > ours ? run->machine_busy_ns - ours : 0;

	return run->wall_ns >= MACHINE_NS_MIN && run->machine_cpus &&
	                       (double)others >= OTHERS_SHARE * all
	               ? others
	               : 0;
}

static void say_figures(struct section *s, const struct run *run, const struct totals *totals)
{
	const char *dot = "\u00b7";
	// Processes that outlive the first one are in the profile but not in its usage.
	uint64_t cpu_ns =
		run->target_cpu_ns > totals->on_cpu_ns ? run->target_cpu_ns : totals->on_cpu_ns;
	char overhead[64] = "", rate[32] = "", rss[96] = "", cut[48] = "", lost[48] = "",
	     busy[80] = "";
	bool brief = s->report->view->brief, several = totals->processes > 1;

	// Of a run of milliseconds the start and the end of sampling are most of it: not a rate.
	if (cpu_ns > OVERHEAD_NS_MIN && run->complete && brief)
		snprintf(overhead, sizeof(overhead), "overhead %.1f %% %s ",
		         percent_of(overhead_ns(run), run_bare_ns(run, cpu_ns)), dot);
	else if (cpu_ns > OVERHEAD_NS_MIN && run->complete)
		snprintf(overhead, sizeof(overhead), "overhead %.1f %% (%s of CPU) %s ",
		         percent_of(overhead_ns(run), run_bare_ns(run, cpu_ns)),
		         format_duration(overhead_ns(run)).text, dot);
	else if (run->complete)
		snprintf(overhead, sizeof(overhead), "overhead %s of CPU %s ",
		         format_duration(overhead_ns(run)).text, dot);
	if (run->peak_rss_bytes)
		snprintf(rss, sizeof(rss), " %s %s RSS %s%s", dot,
		         several && brief ? "largest" : "peak",
		         several && !brief ? "of the largest process " : "",
		         format_bytes(run->peak_rss_bytes).text);
	if (run->frequency_hz)
		snprintf(rate, sizeof(rate), " at %u Hz", run->frequency_hz);
	if (!brief || run->lost)
		snprintf(lost, sizeof(lost), ", %s lost", format_count(run->lost).text);
	double cut_percent = percent_of(run->truncated, run->samples);
	if (!brief || cut_percent >= 1)
		snprintf(cut, sizeof(cut), " %s %.1f %% of stacks truncated", dot, cut_percent);
	uint64_t others = brief ? others_ns(run, totals) : 0;
	if (others)
		snprintf(busy, sizeof(busy), " %s other processes used %.1f of %u CPUs", dot,
		         (double)others / (double)run->wall_ns, run->machine_cpus);
	section_say(s, "%s%s sample%s%s%s%s%s%s", overhead, format_count(run->samples).text,
	            run->samples == 1 ? "" : "s", rate, lost, cut, rss, busy);
}

// Where perf events see no kernel, the agent tells for whom it works.
static void say_callless(struct section *s, const struct totals *totals)
{
	double share = percent_of(totals->callless_ns, totals->on_cpu_ns);

	if (share < 100 * CALLLESS_SHARE && !s->report->view->verbose)
		return;
	if (totals->callless_ns)
		section_say(
			s,
			"%.1f %% of CPU time is kernel time whose callers were not seen: too short for "
			"a tick, or in programs that the agent cannot get into. Kernel stacks show "
			"them: kernel.perf_event_paranoid at 1 or less",
			share);
}

// Where the kernel hardly ran, which of its functions did is no matter.
static bool kernel_matters(const struct report *r)
{
	struct account account;
	struct error failed;

	return !r->view->brief || query_account(r->profile, &account, &failed) < 0 ||
	       share_of(account.kernel_ns, account.ns[METRIC_ON_CPU]) >= KERNEL_SHARE;
}

static void say_rung(struct section *s, const struct run *run)
{
	static const char *const without[] = {
		[RUNG_PERF_KERNEL] = NULL,
		[RUNG_PERF_USER] = "no kernel functions: kernel time is shown as [kernel]",
		[RUNG_AGENT] = "no perf events: sampled by timers inside the program",
		[RUNG_PROC] = "running code is not sampled",
	};
	bool known = run->rung >= RUNG_PERF_KERNEL && run->rung <= RUNG_PROC;

	if (!known || !without[run->rung] ||
	    (run->rung == RUNG_PERF_USER && !kernel_matters(s->report)))
		return;
	if (s->report->view->brief) {
		section_say(s, "%s; bottleneck check says why", without[run->rung]);
		return;
	}
	section_say(s, "%s%s%s%s%s%s", without[run->rung],
	            run->rung_reason && *run->rung_reason ? " (" : "",
	            run->rung_reason ? run->rung_reason : "",
	            run->rung_reason && *run->rung_reason ? ")" : "",
	            run->rung_remedy && *run->rung_remedy ? ". " : "",
	            run->rung_remedy ? run->rung_remedy : "");
}

static void say_lost(struct section *s, const struct run *run)
{
	if (run->lost * 100 > run->samples + run->lost)
		section_say(
			s,
			"%.1f %% of the samples were lost: bottleneck was not given enough CPU; "
			"lower the rate (-F) or leave it a free CPU",
			percent_of(run->lost, run->samples + run->lost));
	if (run->unseen_processes)
		section_say(s, "%u process%s could not be sampled (%s%s): setuid, static or gone",
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

// The kernel and other things in brackets never have lines.
static bool is_named(const struct module_row *row)
{
	return row->path[0] == '[' && row->level >= DEBUG_DYNAMIC;
}

static bool lacks_lines(const struct module_row *row)
{
	return row->level != DEBUG_LINES && !(is_named(row) && !*row->reason);
}

// "63.5 % of wall time", as the answer has it; behind the FIRST one, "4.2 %".
static void say_share(const struct module_rows *modules, const struct module_row *row, bool first,
                      char *buffer, size_t size)
{
	snprintf(buffer, size, "%s %%%s%s", format_percent(row->part_ns, modules->all_ns).text,
	         first ? " of " : "", first ? modules->of : "");
}

// Nothing is to be done about it, or the answer says what.
static bool is_said(const struct report *r, const struct module_row *row)
{
	return strcmp(row->remedy, DEBUG_REMEDY_SCRIPT) == 0 ||
	       (*row->remedy && r->advised && strstr(r->advised, row->remedy));
}

// "[jit 4711]" says no more than "[jit]".
static const char *module_words(const struct module_row *row)
{
	return origin_is_jit(row->path) ? "code that a JIT compiler made" : path_base(row->path);
}

// "no lines for perl, libm.so.6: …": those that lack the same as the first. How much of the time is
// in them is in the tables.
static int say_modules_briefly(struct section *s, struct error *err)
{
	cleanup(module_rows) struct module_rows *modules = query_modules(s->report->profile, err);
	const struct module_row *first = NULL;
	const char *words = "";
	size_t count = 0;

	if (!modules)
		return -1;
	for (size_t i = 0; i < modules->count && count < MODULES_BRIEF; i++) {
		const struct module_row *row = &modules->rows[i];
		if (!lacks_lines(row) || is_named(row) || is_said(s->report, row) ||
		    share_of(row->part_ns, modules->all_ns) < BRIEF_SHARE)
			continue;
		if (first &&
		    (row->level != first->level || strcmp(row->remedy, first->remedy) != 0))
			continue;
		first = first ? first : row;
		words = report_say(s->report, "%s%s%s", words, count++ ? ", " : "",
		                   module_words(row));
	}
	if (first)
		section_say(s, "%s %s%s%s", lacking(first->level), words,
		            *first->remedy ? ": " : "", first->remedy);
	return 0;
}

static int say_modules(struct section *s, struct error *err)
{
	cleanup(module_rows) struct module_rows *modules = query_modules(s->report->profile, err);
	size_t shown = 0;
	char share[80];

	if (!modules)
		return -1;
	for (size_t i = 0; i < modules->count; i++) {
		const struct module_row *row = &modules->rows[i];
		bool small = share_of(row->part_ns, modules->all_ns) < MODULE_SHARE;
		if (!lacks_lines(row) ||
		    (!s->report->view->verbose && (small || shown == MODULES_MAX)))
			continue;
		say_share(modules, row, !shown++, share, sizeof(share));
		if (is_named(row)) {
			section_say(s, "%s (%s): %s", row->path, share, row->reason);
			continue;
		}
		section_say(s, "%s %s (%s)%s%s%s%s", lacking(row->level), path_base(row->path),
		            share, *row->reason ? ", " : "", row->reason, *row->remedy ? ": " : "",
		            row->remedy);
	}
	return 0;
}

// What else the machine did meanwhile: more or less of it, and times are others. One screen has
// other programs beside the figures.
static void say_machine(struct section *s, const struct run *run, const struct totals *totals)
{
	double all = (double)run->wall_ns * run->machine_cpus;
	uint64_t others = others_ns(run, totals);

	if (run->wall_ns < MACHINE_NS_MIN || !run->machine_cpus)
		return;
	if (others && !s->report->view->brief)
		section_say(
			s,
			"other programs kept %.1f of %u CPUs busy meanwhile (%.0f %%): times vary with "
			"what they do",
			(double)others / (double)run->wall_ns, run->machine_cpus,
			100 * (double)others / all);
	if ((double)run->machine_steal_ns >= STEAL_SHARE * all)
		section_say(s, "other virtual machines took %.1f %% of the time of the CPUs",
		            100 * (double)run->machine_steal_ns / all);
}

static void say_detail(struct section *s, const struct run *run, const struct totals *totals)
{
	if (totals->folded_ns)
		section_say(s,
		            "%.1f %% of the time was given to callers to keep the call tree small",
		            percent_of(totals->folded_ns, totals->on_cpu_ns + totals->off_cpu_ns));
	if (totals->lost_events)
		section_say(s, "%s events (%s) were dropped: memory was short",
		            format_count(totals->lost_events).text,
		            format_duration(totals->lost_ns).text);
	if (!run->off_cpu_exact && totals->off_cpu_ns)
		section_say(s, "waiting times are estimates%s: no scheduler records",
		            run->rung == RUNG_AGENT ? ", but for waits that hooks record" : "");
	if (!run->complete)
		section_say(s, "this is a checkpoint: the program had not ended yet");
	if (!s->report->view->verbose)
		return;
	section_say(s, "%s stacks completed from memory, %s with a guessed frame pointer",
	            format_count(run->joined).text, format_count(run->guessed).text);
	section_say(s, "time is kept in steps of %s", format_duration(totals->bin_ns).text);
	if (run->host && run->kernel && run->version)
		section_say(s, "host %s, Linux %s, bottleneck %s", run->host, run->kernel,
		            run->version);
}

// What the run itself had to tell, a line each.
static void say_notes(struct section *s, const char *notes)
{
	while (notes && *notes) {
		size_t length = strcspn(notes, "\n");
		section_say(s, "%.*s", (int)length, notes);
		notes += length + (notes[length] == '\n');
	}
}

// Of allocations. What is little is not worth a line.
static void say_doubts(struct section *s)
{
	struct memory_doubts doubts;

	query_memory_doubts(s->report->profile, &doubts);
	double untracked = percent_of(doubts.untracked_bytes, doubts.sampled_bytes);
	double lost = percent_of(doubts.lost, doubts.samples + doubts.lost);
	if (untracked >= 100 * MEMORY_SHARE || (s->report->view->verbose && doubts.untracked_bytes))
		section_say(
			s,
			"%.1f %% of allocated bytes could not be followed until they were freed, as too "
			"many were alive: memory \"at peak\" and \"at end\" is shared out by the rest; "
			"its sums are exact",
			untracked);
	if (lost >= 100 * MEMORY_SHARE || (s->report->view->verbose && doubts.lost))
		section_say(
			s,
			"%.1f %% of the samples of allocations were dropped: the profile was full",
			lost);
}

static void say_calls(struct section *s, const struct totals *totals)
{
	if (totals->uncounted)
		section_say(
			s,
			"calls of Python functions are a lower bound: %s of %s processes that counted "
			"ended before they reported all",
			format_count(totals->uncounted).text, format_count(totals->counters).text);
}

// See OP_DEPTH_MAX in tracer/agent/op/op.h, and TRACE_SLOTS in trace_calls.h.
static void say_timeless(struct section *s, const struct totals *totals)
{
	uint64_t calls = totals->timeless;

	if (calls)
		section_say(
			s,
			"%s call%s of ops %s counted without time, as too many were open: 2,048 of a "
			"thread are kept, and 32,768 of all traced functions; the time is in the op "
			"around",
			format_count(calls).text, calls == 1 ? "" : "s",
			calls == 1 ? "was" : "were");
}

// Of a long run. Silence would say that there is none.
static int say_warmup(struct section *s, const struct run *run, struct error *err)
{
	if (run->wall_ns < UNSEEN_NS_MIN)
		return 0;
	cleanup(warmup_rows) struct warmup_rows *rows =
		query_warmup(s->report->profile, &(struct query){ 0 }, err);
	if (!rows)
		return -1;
	if (rows->unseen)
		section_say(
			s,
			"no warm-up verdict: the run has no ops and no repeating loop to compare; "
			"NVTX or ITT ranges, or --trace FUNC, add ops");
	return 0;
}

// What is in the tables is in them all the same.
static void say_timeline(struct section *s, const struct totals *totals)
{
	uint64_t kept = totals->slices, dropped = totals->slices_dropped;

	if (dropped)
		section_say(
			s,
			"timelines end at %s: the first %s calls, waits and works of GPUs are kept one by "
			"one, %s more in sums alone (--timeline-limit)",
			format_duration(totals->slices_until_ns).text, format_count(kept).text,
			format_count(dropped).text);
}

// Heat and a shared limit of power slow CPUs down.
static void say_clock(struct section *s)
{
	struct clock_change change;

	if (query_clock_fall(s->report->profile, &change))
		section_say(
			s,
			"the CPUs' clock fell from %.2f to %.2f GHz after %s: times before and after "
			"do not compare",
			change.before_mhz / 1e3, change.after_mhz / 1e3,
			format_duration(change.at_ns).text);
}

// The number, and what follows if it is one, or more.
static const struct {
	const char *before, *one, *more;
} losses[GPU_LOSSES] = {
	[GPU_LOST_DROPPED] = { "", " GPU record is missing: CUPTI had no buffer for it",
	                       " GPU records are missing: CUPTI had no buffers for them" },
	[GPU_LOST_NO_ROOM] = { "", " GPU record is missing: they came too fast",
	                       " GPU records are missing: they came too fast" },
	[GPU_LOST_UNKNOWN] = { "", " GPU record is of a kind that was not asked for",
	                       " GPU records are of kinds that were not asked for" },
	[GPU_LOST_DAMAGED] = { "",
	                       " buffer of GPU records was damaged: what came behind is missing",
	                       " buffers of GPU records were damaged: what came behind is missing" },
	[GPU_LOST_UNTIMED] = { "", " GPU activity has no times: CUPTI did not know them",
	                       " GPU activities have no times: CUPTI did not know them" },
	[GPU_LOST_REFUSED] = { "",
	                       " kind of GPU records is missing: this CUPTI does not provide it",
	                       " kinds of GPU records are missing: this CUPTI does not provide them" },
	[GPU_LOST_NAME] = { "", " kernel has lost its name: there are too many",
	                    " kernels have lost their names: there are too many" },
	[GPU_LOST_BUFFER] = { "CUPTI did not get ", " buffer that it wanted",
	                      " buffers that it wanted" },
	[GPU_LOST_CUBIN] = { "", " module of kernels has no lines here: it could not be kept",
	                     " modules of kernels have no lines here: they could not be kept" },
	[GPU_LOST_SAMPLED] = { "",
	                       " time the GPU's samples of instructions were lost: too many came",
	                       " times the GPU's samples of instructions were lost: too many came" },
};

static void say_gpu_doubts(struct section *s, const struct gpu_facts *facts)
{
	if (facts->gap_count)
		section_say(
			s,
			"for %s (%s time%s) another client of CUPTI had the records of the GPU: what ran "
			"then is not in the tables",
			format_duration(facts->gap_ns).text, format_count(facts->gap_count).text,
			facts->gap_count == 1 ? "" : "s");
	if (facts->untied)
		section_say(s, "of %s GPU activities it is not known which call caused them",
		            format_count(facts->untied).text);
	if (facts->late)
		section_say(
			s,
			"%s GPU activities were reported more than 5 s late, in time counted as idle",
			format_count(facts->late).text);
	if (facts->folded)
		section_say(s, "%s kernels had more launch shapes than are kept apart",
		            format_count(facts->folded).text);
	if (facts->lost)
		section_say(s, "%s GPU activities were dropped: the profile was full",
		            format_count(facts->lost).text);
}

// Without a word to CUPTI.
static void say_killed(struct section *s, const struct gpu_facts *facts)
{
	const struct run *run = profile_run(s->report->profile);

	if (facts->device_count && run->complete && WIFSIGNALED(run->exit_status))
		section_say(s, "the program was killed: what its GPUs did in the last 0.1 s or so "
		               "is missing");
}

// A note says why, unless nothing has moved.
static int say_managed(struct section *s, struct error *err)
{
	const struct op_query query = { .by = OPS_BY_OP };
	cleanup(op_rows) struct op_rows *ops = query_ops(s->report->profile, &query, err);
	uint64_t calls = 0;

	if (!ops)
		return -1;
	for (size_t i = 0; i < ops->count; i++)
		if (strcmp(ops->rows[i].provider, op_provider_name(OP_CUDA)) == 0 &&
		    strstr(ops->rows[i].name,
		           "llocManaged")) // cudaMallocManaged, cuMemAllocManaged
			calls += ops->rows[i].calls;
	if (calls)
		section_say(
			s,
			"managed memory was allocated %s time%s, but no page faults or migrations "
			"were recorded",
			format_count(calls).text, calls == 1 ? "" : "s");
	return 0;
}

static int say_gpus(struct section *s, struct error *err)
{
	const struct query all = { .by = BY_FUNCTION };
	cleanup(gpu_facts) struct gpu_facts *facts = query_gpu_facts(s->report->profile, &all, err);

	if (!facts)
		return -1;
	for (int what = 1; what < GPU_LOSSES; what++) {
		uint64_t count = facts->losses[what];
		if (!count)
			continue;
		section_say(s, "%s%s%s", losses[what].before, format_count(count).text,
		            count == 1 ? losses[what].one : losses[what].more);
	}
	say_gpu_doubts(s, facts);
	say_killed(s, facts);
	cleanup(gpu_managed_rows) struct gpu_managed_rows *managed =
		query_gpu_managed(s->report->profile, err);
	if (!managed)
		return -1;
	return facts->device_count && !managed->count ? say_managed(s, err) : 0;
}

// One thread waits for no other.
static int say_wall(struct section *s, const struct totals *totals, struct error *err)
{
	const char *why;

	if (section_wall_unknown(s->report, &why, err) < 0)
		return -1;
	if (why && totals->threads > 1)
		section_say(s, "what the end of the run waited for is not known %s", why);
	return 0;
}

static int say_all(struct section *s, struct error *err)
{
	const struct run *run = profile_run(s->report->profile);
	struct totals all;
	const struct totals *totals = &all;

	query_totals(s->report->profile, &all);
	say_figures(s, run, totals);
	overhead_say(s);
	say_rung(s, run);
	if (run->rung == RUNG_PERF_USER)
		say_callless(s, totals);
	say_lost(s, run);
	if (say_modules(s, err) < 0)
		return -1;
	say_detail(s, run, totals);
	if (say_warmup(s, run, err) < 0)
		return -1;
	say_clock(s);
	say_doubts(s);
	say_calls(s, totals);
	say_timeless(s, totals);
	say_timeline(s, totals);
	if (say_gpus(s, err) < 0 || say_wall(s, totals, err) < 0)
		return -1;
	say_machine(s, run, totals);
	say_notes(s, run->notes);
	return 0;
}

// What may make the report untrue goes first; what is there to be looked up does not fit.
static int say_brief(struct section *s, struct error *err)
{
	const struct run *run = profile_run(s->report->profile);
	struct totals totals;

	query_totals(s->report->profile, &totals);
	say_figures(s, run, &totals);
	say_rung(s, run);
	say_lost(s, run);
	say_machine(s, run, &totals);
	if (say_modules_briefly(s, err) < 0)
		return -1;
	say_notes(s, run->notes);
	if (run->rung == RUNG_PERF_USER)
		say_callless(s, &totals);
	say_clock(s);
	say_calls(s, &totals);
	say_timeless(s, &totals);
	if (say_gpus(s, err) < 0 || say_wall(s, &totals, err) < 0)
		return -1;
	if (s->report->fits_limits)
		return 0;
	size_t left = section_keep_notes(s, LIMITS_BRIEF, 0);
	if (left)
		section_say(s, "%zu more limit%s: bottleneck report", left, left == 1 ? "" : "s");
	return 0;
}

struct section *section_limits(struct report *r, struct error *err)
{
	struct section *s = section_new(r, "limits", "limits");

	s->shown = true;
	if (r->view->brief)
		return say_brief(s, err) < 0 ? NULL : section_end(s, err);
	if (r->view->from_ns || r->view->to_ns)
		s->subtitle = "of the whole run";
	return say_all(s, err) < 0 ? NULL : section_end(s, err);
}
