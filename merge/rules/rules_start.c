// SPDX-License-Identifier: MIT
// Rules on processes and threads that are started for very little.
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/op.h"
#include "base/share.h"
#include "merge/profile/profile_parts.h"
#include "merge/rules/evidence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN              (((1u << METRIC_COUNT) - 1) & ~(1u << METRIC_OFF_RUNNABLE))
#define WAITS            (1u << METRIC_OFF_CHILD | 1u << METRIC_OFF_PIPE)
#define PROCESSES_LEAST  20
#define PROCESS_SHORT_NS (100 * UINT64_C(1000000))
#define NAMES_MAX        3
#define NAMED_SHARE      0.1 // of all processes, for another name
#define THREADS_LEAST    200
#define THREAD_SHORT_NS  (10 * UINT64_C(1000000))
#define THREAD_WORK_NS   (300 * UINT64_C(1000)) /* ten times what a start and an end take */

// [slot] of each process: how long that one of its threads waited for a CPU that did so most.
static uint64_t *waits_for_cpus(const struct profile *p)
{
	const struct threads *t = profile_threads(p);
	uint64_t *ns = calloc(t->process_count + 1u, sizeof(*ns));

	for (size_t i = 1; ns && i < t->thread_count; i++) {
		const struct thread_info *thread = &t->threads[i];
		uint64_t waited = thread->ns[METRIC_OFF_RUNNABLE];
		if (thread->merged == 1 && thread_is_exact(thread) && waited > ns[thread->process])
			ns[thread->process] = waited;
	}
	return ns;
}

// How long those that have ended lived on average, without their WAITS, which may be NULL;
// UINT64_MAX: none has.
static uint64_t process_life(const struct profile *p, const uint64_t *waits)
{
	uint64_t sum = 0, count = 0;

	for (size_t i = 1; i < profile_threads(p)->process_count; i++) {
		const struct process_info *info = &profile_threads(p)->processes[i];
		if (info->merged != 1 || info->end_ns <= info->start_ns)
			continue;
		uint64_t life = info->end_ns - info->start_ns, waited = waits ? waits[i + 1] : 0;
		sum += life > waited ? life - waited : 0;
		count++;
	}
	return count ? sum / count : UINT64_MAX;
}

// " (142 of them basename, 60 cut)", which run most often, or " of basename" if they all are; "" if
// that is not known.
static void name_processes(const struct profile *p, char *text, size_t size)
{
	uint32_t texts = (uint32_t)strings_count(profile_strings(p)), all = 0;
	cleanup_free uint32_t *counts = calloc(texts + 1u, sizeof(*counts));

	*text = '\0';
	for (size_t i = 1; counts && i < profile_threads(p)->process_count; i++) {
		const struct process_info *info = &profile_threads(p)->processes[i];
		counts[info->command] += info->merged;
		all += info->merged;
	}
	size_t length = 0;
	bool same = false;
	for (int row = 0; counts && !same && row < NAMES_MAX && length < size; row++) {
		uint32_t most = 0;
		for (uint32_t id = 1; id <= texts; id++)
			if (counts[id] > counts[most] || (!most && counts[id]))
				most = id;
		if (!most || (row && counts[most] < NAMED_SHARE * all))
			break;
		same = counts[most] == all;
		if (same)
			snprintf(text, size, " of %.60s", profile_string(p, most));
		else
			length += (size_t)snprintf(text + length, size - length,
			                           row ? ", %s %.60s" : " (%s of them %.60s",
			                           format_count(counts[most]).text,
			                           profile_string(p, most));
		counts[most] = 0;
	}
	if (length && length + 1 < size)
		snprintf(text + length, size - length, ")");
}

// The program whose processes have started most of those of the run, and how many; "" if no program
// has started more than half of them.
static uint32_t most_started_by(const struct profile *p, const char **program)
{
	uint32_t texts = (uint32_t)strings_count(profile_strings(p)), all = 0, most = 0;
	cleanup_free uint32_t *counts = calloc(texts + 1u, sizeof(*counts));

	*program = "";
	for (size_t i = 1; counts && i < profile_threads(p)->process_count; i++) {
		const struct process_info *info = &profile_threads(p)->processes[i];
		all += info->merged;
		if (!info->parent)
			continue;
		uint32_t starter = profile_process(p, info->parent)->command;
		counts[starter] += info->merged;
		most = counts[starter] > counts[most] ? starter : most;
	}
	if (!counts || 2 * counts[most] <= all)
		return 0;
	*program = profile_string(p, most);
	return counts[most];
}

// Programs that are there to start others: how to have them start fewer.
static const char *advice_for_starter(const char *program)
{
	static const struct {
		const char *program, *advice;
	} known[] = {
		{ "xargs",
		  "Give each process more arguments: leave out -n, -L and -I of xargs, or "
		  "raise -n. Where a program takes one argument only, do its work "
		  "elsewhere (one awk for all lines), or run several at once (xargs -P)." },
		{ "find",
		  "End -exec with + instead of \\; and find starts one process for many "
		  "files; so does find -print0 | xargs -0. Let find itself remove and print "
		  "(-delete, -printf)." },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].program, program) == 0)
			return known[i].advice;
	return NULL;
}

static uint64_t thread_life(const struct profile *p)
{
	uint64_t sum = 0, count = 0;

	for (size_t i = 1; i < profile_threads(p)->thread_count; i++) {
		const struct thread_info *info = &profile_threads(p)->threads[i];
		if (info->merged != 1 || info->end_ns <= info->start_ns)
			continue;
		sum += info->end_ns - info->start_ns;
		count++;
	}
	return count ? sum / count : UINT64_MAX;
}

// The place is where they are started; the time also that of waiting for them.
static void weigh(const struct evidence *e, uint64_t ns, activity_set doing,
                  struct finding *finding)
{
	finding->share = 0;
	evidence_weigh(e, ns, 0, evidence_queue_ns(e, doing), finding);
	finding->value = 100 * finding->share;
}

// Wall time has what the children did instead.
static uint64_t waited_for_children(const struct evidence *e, const struct rule *rule)
{
	if (e->wall.ranks)
		return evidence_sum(e->account.ns, WAITS);
	return evidence_sum(e->activities->critical_ns, WAITS) -
	       evidence_doing(e, rule->doing, WAITS);
}

// What the kernel does to start and end programs, and what the dynamic linker, or Python's imports,
// do first; of what was too short to be seen nothing else is known. What code of the user's own
// asks of the kernel, as a child that closes all descriptors before exec(), is its work.
static bool is_start(const struct activity_time *time)
{
	const activity_set asked = ACTIVITY(OPEN) | ACTIVITY(READ) | ACTIVITY(WRITE) |
	                           ACTIVITY(SOCKET) | ACTIVITY(CONNECT) | ACTIVITY(SYNC);
	const activity_set started =
		ACTIVITY(LINK) | ACTIVITY(SPAWN) | ACTIVITY(IMPORT) | ACTIVITY(UNSEEN);

	return time->doing & started ||
	       (time->doing & ACTIVITY(KERNEL) &&
	        (time->place == ACTIVITY_NO_PLACE || !(time->doing & asked)));
}

// What the run waited for while children slept or waited for others outside of it: not for their
// start, but for what they are there for, as `sleep` in the loop of a script that polls.
static uint64_t slept(const struct evidence *e)
{
	static const enum metric metrics[] = { METRIC_OFF_SLEEP, METRIC_OFF_NET };
	uint64_t ns = 0;

	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		if (e->wall.ns[metrics[i]] > e->account.ns[metrics[i]])
			ns += e->wall.ns[metrics[i]] - e->account.ns[metrics[i]];
	return ns;
}

// NS less what children compute themselves, which who waits for them would have to do instead.
// WORK_NS: what of the rest they may compute, too, as wall time has it.
static uint64_t without_work(const struct evidence *e, uint64_t ns, uint64_t *work_ns)
{
	uint64_t starting = 0, start_cpu = 0, work = 0;

	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		uint64_t cpu = time->ns[METRIC_ON_CPU] - time->thread_cpu_ns;
		*(is_start(time) ? &start_cpu : &work) += cpu;
		if (is_start(time))
			starting += evidence_sum(time->critical_ns, OWN);
	}
	*work_ns = e->wall.ranks && ns > starting ? ns - starting : 0;
	if (work <= start_cpu)
		return ns;
	// Wall time has what they do; where nothing ranks it, they may have waited for a CPU.
	if (e->wall.ranks) {
		*work_ns = 0;
		return ns < starting ? ns : starting;
	}
	return ns > work ? ns - work : 0;
}

// The same of threads.
static uint64_t waited_for_ends(const struct evidence *e)
{
	uint64_t sum = 0;

	for (size_t i = 0; e->wall.ranks && i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		sum += time->doing & ACTIVITY(JOIN) ? time->ns[METRIC_OFF_LOCK] : 0;
	}
	return sum;
}

static bool is_line(const struct op_row *row)
{
	return strcmp(row->provider, op_provider_name(OP_SHELL)) == 0;
}

static size_t lines_that_start(const struct evidence *e)
{
	size_t count = 0;

	for (size_t i = 0; i < e->ops->count; i++)
		count += is_line(&e->ops->rows[i]);
	return count;
}

// The line of a script that has started most of the processes that a line is known of.
static const struct op_row *starting_line(const struct evidence *e)
{
	const struct op_row *most = NULL;

	for (size_t i = 0; i < e->ops->count; i++) {
		const struct op_row *row = &e->ops->rows[i];
		if (is_line(row) && row->calls > (most ? most->calls : 0))
			most = row;
	}
	return most;
}

// What each of these processes is started by says more than the line of the script that has
// started that one: ", most by xargs at names.sh:2 (600 of them)".
static void place_by(const char *starter, uint32_t started, const struct op_row *line, char *place,
                     size_t size)
{
	snprintf(place, size, ", most by %.60s%s%.150s (%s of them)", starter, line ? " at " : "",
	         line ? line->name : "", format_count(started).text);
}

// Stacks of shells name functions of theirs; the user's own line is that of the script.
static void place_at(const struct op_row *row, char *place, size_t size, struct finding *finding)
{
	finding->function = row->name;
	finding->file = row->file;
	finding->line = row->line;
	finding->row_count = 0;
	finding_add(finding, &(struct finding_row){
				     .function = row->name,
				     .file = row->file,
				     .line = row->line,
				     .calls = row->calls,
			     });
	snprintf(place, size, ", most in %.150s (%s of them)", row->name,
	         format_count(row->calls).text);
}

// ", most in run (a.c:8)"; "" if that is unknown.
static void place_start(const struct evidence *e, struct finding *finding, char *place, size_t size)
{
	const char *starter;
	char function[280];
	const uint32_t started = most_started_by(e->profile, &starter);
	const char *advice = advice_for_starter(starter);

	*place = '\0';
	if (finding->function) {
		finding_place(finding->function, finding->file, finding->line, function,
		              sizeof(function));
		snprintf(place, size, ", most in %s", function);
	}
	const struct op_row *line = finding->function ? NULL : starting_line(e);
	if (line)
		place_at(line, place, size, finding);
	// Of several lines, it is unknown which one has started that program.
	if (advice) {
		place_by(starter, started, line && lines_that_start(e) == 1 ? line : NULL, place,
		         size);
		finding_advise(finding, "%s", advice);
	}
}

// The place whose own time, of all threads, in what RULE is about is longest. Wall time has what
// the children did instead of the waits for them.
static void add_own_place(const struct evidence *e, const struct rule *rule,
                          struct finding *finding)
{
	const struct activities *a = e->activities;
	cleanup_free uint64_t *ns = calloc(a->place_count + 1, sizeof(*ns));
	size_t best = 0;

	for (size_t i = 0; ns && i < a->time_count; i++) {
		const struct activity_time *time = &a->times[i];
		if (time->place != ACTIVITY_NO_PLACE && time->doing & rule->doing &&
		    !(time->doing & rule->not_doing))
			ns[time->place] += evidence_sum(time->ns, rule->metrics);
	}
	for (size_t i = 1; ns && i < a->place_count; i++)
		best = ns[i] > ns[best] ? i : best;
	if (!ns || !a->place_count || !ns[best])
		return;
	const struct activity_place *place = &a->places[best];
	const char *function = profile_string(e->profile, place->function);
	finding_add(finding, &(struct finding_row){ .function = function ? function : "?",
	                                            .file = profile_string(e->profile, place->file),
	                                            .line = (int)place->line,
	                                            .ns = ns[best] });
}

static enum measured measure_processes(const struct evidence *e, const struct rule *rule,
                                       struct finding *finding)
{
	// A busy machine has them live for as long as it likes.
	cleanup_free uint64_t *waits = waits_for_cpus(e->profile);
	uint64_t life = process_life(e->profile, NULL);
	char place[300], names[200];

	if (e->totals.processes < PROCESSES_LEAST ||
	    process_life(e->profile, waits) >= PROCESS_SHORT_NS)
		return MEASURED_NOTHING;
	// They are waited for elsewhere.
	const struct rule starting = { .doing = rule->doing,
		                       .not_doing = rule->not_doing | ACTIVITY(REAP),
		                       .metrics = OWN };
	measure_doing(e, &starting, finding);
	if (!finding->row_count)
		measure_doing(e, rule, finding);
	if (!finding->row_count)
		add_own_place(e, &starting, finding);
	if (!finding->row_count)
		add_own_place(e, rule, finding);
	const uint64_t all = evidence_doing(e, rule->doing, OWN) + waited_for_children(e, rule);
	const uint64_t asleep = slept(e), awake = all > asleep ? all - asleep : 0;
	uint64_t work_ns;
	const uint64_t worth = without_work(e, awake, &work_ns);
	weigh(e, worth, rule->doing, finding);
	finding->saving_margin_ns = ns_whole(share_of(work_ns, worth) * (double)finding->saving_ns);
	place_start(e, finding, place, sizeof(place));
	name_processes(e->profile, names, sizeof(names));
	// What they compute may have to be done elsewhere, or not at all.
	finding->children = true;
	return finding_say(finding,
	                   "starting and waiting for %s processes%s, which live for %.1f ms "
	                   "on average: %.0f %% of the time%s",
	                   format_count(e->totals.processes - 1).text, names, (double)life / 1e6,
	                   finding->value, place);
}

static enum measured measure_threads(const struct evidence *e, const struct rule *rule,
                                     struct finding *finding)
{
	uint64_t life = thread_life(e->profile);
	uint64_t all = e->activities->ns[METRIC_ON_CPU], own = e->account.ns[METRIC_ON_CPU];
	uint64_t work = all > own ? all - own : 0;
	char place[300] = "";

	if (e->totals.threads < THREADS_LEAST || life >= THREAD_SHORT_NS ||
	    e->totals.processes > e->totals.threads / 2)
		return MEASURED_NOTHING;
	// What they are joined for is their work; how long they live tells less of it, since
	// threads wait for a CPU.
	if (work / (e->totals.threads - 1) >= THREAD_WORK_NS)
		return MEASURED_NOTHING;
	// On a busy machine each thread that gets the CPU of its starter takes the kernel's timer
	// with it, before a sample of the starting is due: waiting for them is seen.
	const struct rule joining = { .doing = ACTIVITY(JOIN), .metrics = OWN };
	measure_doing(e, rule, finding);
	if (!finding->row_count)
		measure_doing(e, &joining, finding);
	weigh(e, evidence_doing(e, rule->doing | ACTIVITY(JOIN), OWN) + waited_for_ends(e),
	      rule->doing | ACTIVITY(JOIN), finding);
	if (finding->function)
		finding_place(finding->function, finding->file, finding->line, place,
		              sizeof(place));
	return finding_say(finding,
	                   "starting and waiting for %s threads, which live for %.2f ms on "
	                   "average: %.0f %% of the time%s%s",
	                   format_count(e->totals.threads - 1).text, (double)life / 1e6,
	                   finding->value, *place ? ", most in " : "", place);
}

// How many there were, and how long they lived, is known of the whole run.
const struct rule rules_start[] = {
	{ .id = "CPU-SPAWN",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .title = "starting processes",
	  .formula =
	          "time in fork(), exec() and their like, and waiting for children and "
	          "pipes, less what the children sleep, and what they compute themselves where "
	          "that is most of their CPU time, as a share of the critical thread's time; only of 20 "
	          "processes and more that live for less than 0.1 s on average, without waits for a "
	          "CPU",
	  .why = "Starting a program takes a millisecond and more, whatever it does then.",
	  .advice = "Do the work within the program (a library, a function of the language; in "
	            "shell scripts read, ${name#pattern}, or one awk for all lines), or give one "
	            "process many pieces of work (xargs, find -exec ... {} +).",
	  .source = "our choice",
	  .measure = measure_processes,
	  .within = { "IO-WAIT", "CPU-SYS", "MEM-FAULT", "PY-INTERP", "IO-OPEN", "IO-TINY",
	              "CPU-FLAT" },
	  .doing = ACTIVITY(SPAWN),
	  // The import of a module that starts processes starts none.
	  .not_doing = ACTIVITY(IMPORT),
	  .whole_run = true,
	  .narrows = true,
	  .metrics = OWN },
	{ .id = "CPU-THREADS",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .title = "starting threads",
	  .formula = "time in starting and joining threads, as a share of the critical thread's "
	             "time; only of 200 threads and more that live for less than 10 ms on average, "
	             "and where all but the critical thread compute for less than 0.3 ms for each "
	             "thread",
	  .why = "Starting and joining a thread takes some 20 us, longer than a small piece of "
	         "work.",
	  .advice = "Keep a few threads and pass them the pieces: a thread pool, a queue, OpenMP.",
	  .source = "our choice",
	  .measure = measure_threads,
	  .within = { "CPU-SYS", "CPU-LOCK", "MEM-FAULT", "PY-INTERP", "CPU-FLAT" },
	  .doing = ACTIVITY(THREAD),
	  .whole_run = true,
	  .narrows = true,
	  .metrics = OWN },
};

const size_t rules_start_count = sizeof(rules_start) / sizeof(rules_start[0]);
