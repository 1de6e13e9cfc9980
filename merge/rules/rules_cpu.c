// SPDX-License-Identifier: MIT
// Rules on what threads compute, and on how evenly they share it.
#include "base/error.h"
#include "base/format.h"
#include "base/path.h"
#include "base/record.h"
#include "base/share.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query_kinds.h"
#include "merge/query/query_wall.h"
#include "merge/rules/evidence.h"
#include "merge/rules/file_work.h"
#include "merge/rules/tool.h"

#include <stdio.h>
#include <string.h>

#define LEFT_SHARE   0.1 /* of the kernel's time, that the rule on it leaves out */
#define FAULTS_SHARE 0.4 /* of kernel time, in page faults: so much is worth a word */
#define BUSY_SHARE   0.5 /* of the time of one CPU: then a program computes */
#define PART_SHARE   0.1 /* of the busiest thread's CPU time: less is no worker */
#define TOGETHER     0.1 /* of the busiest thread's life: so far apart its likes begin */
#define FEW_SAMPLES  100
#define HELD_SHARE   0.2  /* of the time that was waited for a lock */
#define QUEUE_SHARE  0.1  /* of what was waited for others: more time without a CPU may be why */
#define UNEVEN       1.25 /* times the CPU time of another */

static double busy_cpus(const struct evidence *e)
{
	uint64_t run = evidence_run_ns(e);

	return run ? (double)e->activities->ns[METRIC_ON_CPU] / (double)run : 0;
}

// The function that most CPU time is spent in, and that is code.
static const struct row *hottest(const struct evidence *e)
{
	for (size_t i = 0; i < e->functions->count; i++)
		if (e->functions->rows[i].module || e->functions->rows[i].file)
			return &e->functions->rows[i];
	return NULL;
}

static void begin_at(struct finding *finding, const struct evidence *e, const struct row *row)
{
	if (!row)
		return;
	finding_add(finding, &(struct finding_row){
				     .function = row->name,
				     .file = row->file,
				     .line = row->line,
				     .ns = row->self,
				     .share = e->functions->all ? (double)row->self /
	                                                                  (double)e->functions->all
	                                                        : 0,
			     });
}

static enum measured measure_serial(const struct evidence *e, const struct rule *rule,
                                    struct finding *finding)
{
	double busy = busy_cpus(e), cpus = run_cpus(e->run);

	if (cpus <= 0)
		return finding_lacks(finding, "it is not known how many CPUs it could use");
	(void)rule;
	if (cpus < 4 || busy < BUSY_SHARE)
		return MEASURED_NOTHING;
	finding->value = busy;
	finding->share = busy > 1 ? 1 : busy;
	finding->saving_ns = (uint64_t)(finding->share * (1 - 1.0 / cpus) * (double)e->wall_ns);
	finding->bound = true;
	begin_at(finding, e, hottest(e));
	return finding_say(finding, "%.1f of %.3g CPUs are busy", busy, cpus);
}

// More CPU time than in ROW is in the kernel, or in code that a JIT compiler made, whose functions
// are not seen: they may be few.
static bool is_unseen(const struct evidence *e, const struct row *row)
{
	for (size_t i = 0; i < e->functions->count && &e->functions->rows[i] != row; i++)
		if (e->functions->rows[i].kernel || evidence_is_jit(e->functions->rows[i].name))
			return true;
	return false;
}

// What to do where much of the kernel's time goes to no system call of the program's; else NULL.
static const char *advice_on_faults(const struct evidence *e, const struct rule *rule)
{
	uint64_t all = 0, faults = 0, mapped = 0;

	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		uint64_t ns = time->ns[METRIC_ON_CPU];
		if (!(time->doing & rule->doing) || time->doing & rule->not_doing)
			continue;
		all += ns;
		faults += time->doing & ACTIVITY(FAULT) ? ns : 0;
		mapped += time->doing & ACTIVITY(MAPPED) ? ns : 0;
	}
	if (share_of(faults, all) < FAULTS_SHARE)
		return NULL;
	if (2 * mapped >= faults)
		return "Much of this is page faults of a mapped file: map it once and keep the "
		       "mapping instead of mapping it anew for each use; map all pages with one "
		       "call (MAP_POPULATE, or madvise(2) with MADV_POPULATE_READ); or read what "
		       "is used once with read(2) or pread(2) into a buffer that is kept.";
	return "Much of this is page faults, which map memory at its first use: reuse buffers "
	       "instead of allocating them anew, and use huge pages (madvise(2) with "
	       "MADV_HUGEPAGE) for large ones.";
}

#define SEEK_ADVICE                                                                                \
	"A seek throws the stream's buffer away, and the next read fills it anew: read in order "  \
	"without seeking, or read what is needed by pread(), or from a mapping (mmap(2))."

// The tables have all of the kernel's time: what the rule leaves out of it is said where it is
// much.
static void say_left_out(const struct evidence *e, const struct rule *rule, struct finding *finding)
{
	const activity_set apart = ACTIVITY(COPY) | ACTIVITY(INTERRUPT);
	size_t title = strlen(rule->title);
	char rest[sizeof(finding->fact)];
	uint64_t found = 0, left = 0;

	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		const uint64_t *ns = finding->of_cpu ? time->ns : time->critical_ns;
		if (!(time->doing & rule->doing))
			continue;
		found += time->doing & rule->not_doing ? 0 : ns[METRIC_ON_CPU];
		left += time->doing & apart ? ns[METRIC_ON_CPU] : 0;
	}
	if (share_of(left, found + left) < LEFT_SHARE ||
	    strncmp(finding->fact, rule->title, title) != 0)
		return;
	snprintf(rest, sizeof(rest), "%s", finding->fact + title);
	finding_say(finding, "%s without copies and interrupts%.340s", rule->title, rest);
}

// What is asked of the kernel, by the C library's function, says what to do instead.
static enum measured measure_sys(const struct evidence *e, const struct rule *rule,
                                 struct finding *finding)
{
	static const char clock_advice[] =
		"Read this clock less often, as once per batch of work. CLOCK_MONOTONIC and "
		"CLOCK_REALTIME take no system call where the kernel's clock source is tsc; clocks of "
		"CPU time (CLOCK_THREAD_CPUTIME_ID, clock(), getrusage()) always do.";
	static const char id_advice[] =
		"This asks the kernel at each call for what hardly changes: ask once and keep it.";
	static const char poll_advice[] =
		"poll() and select() look at each descriptor at each call: with many of them use "
		"epoll(7) (an event loop, Python's selectors), which returns those that are ready; "
		"with few, do more for each wake-up.";
	static const struct {
		const char *callee, *advice;
	} table[] = {
		{ "poll", poll_advice },
		{ "ppoll", poll_advice },
		{ "select", poll_advice },
		{ "pselect", poll_advice },
		{ "{method 'poll' of 'select.poll' objects}", poll_advice },
		{ "{built-in method select.select}", poll_advice },
		{ "clock_gettime", clock_advice },
		{ "gettimeofday", clock_advice },
		{ "clock", clock_advice },
		{ "getrusage", clock_advice },
		{ "times", clock_advice },
		{ "getpid", id_advice },
		{ "gettid", id_advice },
		{ "getuid", id_advice },
		{ "isatty", id_advice },
		{ "sched_getaffinity", id_advice },
		{ "sysconf", id_advice },
		{ "getrandom", "Take many random bytes per call, or seed a generator of the "
		               "program's own with a few." },
		{ "fseek", SEEK_ADVICE },
		{ "fseeko", SEEK_ADVICE },
		{ "fseeko64", SEEK_ADVICE },
		{ "fsetpos", SEEK_ADVICE },
		{ "rewind", SEEK_ADVICE },
		{ "lseek", "Use pread() and pwrite(), which take the offset themselves." },
		{ "lseek64", "Use pread() and pwrite(), which take the offset themselves." },
	};
	enum measured measured = measure_doing(e, rule, finding);
	const char *callee = finding->row_count ? finding->rows[0].callee : NULL;
	const char *faults = measured == MEASURED ? advice_on_faults(e, rule) : NULL;
	char fact[sizeof(finding->fact)], words[160];

	// Who has not written the program is better served with what is known of that.
	bool tool = measured == MEASURED && !finding->function &&
	            tool_of(e->profile, fact, sizeof(fact));
	if (faults && !tool)
		finding_advise(finding, "%s", faults);
	if (measured == MEASURED && !finding->function) {
		kernel_work_words(e, rule, finding, words, sizeof(words));
		snprintf(fact, sizeof(fact), "%s", finding->fact);
		finding_say(finding, "%.250s%s", fact, words);
	}
	if (measured == MEASURED)
		say_left_out(e, rule, finding);
	while (callee && *callee == '_')
		callee++;
	for (size_t i = 0; callee && i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(callee, table[i].callee) == 0)
			finding_advise(finding, "%s", table[i].advice);
	return measured;
}

static enum measured measure_flat(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	const struct row *row = hottest(e);

	(void)rule;
	if (e->run->samples < FEW_SAMPLES || !e->functions->all)
		return finding_lacks(finding, "there are fewer than %d samples", FEW_SAMPLES);
	if (!row || busy_cpus(e) < BUSY_SHARE || is_unseen(e, row))
		return MEASURED_NOTHING;
	finding->value = 100 * (double)row->self / (double)e->functions->all;
	begin_at(finding, e, row);
	return finding_say(finding, "no function holds more than %.1f %% of the CPU time",
	                   finding->value);
}

// Threads of one kind: those that work, and those that had next to nothing to do and have ended.
struct workers {
	const struct kind_thread *busiest;
	uint64_t cpu_ns, ready_ns;
	uint32_t count;
	uint32_t early; /* of them, done in less than half of the busiest one's time */
	uint64_t early_ns, busiest_ns; /* from when the busiest one began until these were done */
};

// Threads that begin one after the other, as of a server, one for each connection, share no work.
static bool begin_together(const struct kind_thread *a, const struct kind_thread *b, uint64_t ns)
{
	uint64_t first = a->begin_ns < b->begin_ns ? a->begin_ns : b->begin_ns;
	uint64_t second = a->begin_ns < b->begin_ns ? b->begin_ns : a->begin_ns;

	return (double)(second - first) < TOGETHER * (double)ns;
}

static struct workers workers_of(const struct thread_kinds *kinds, const struct thread_kind *kind)
{
	const struct kind_thread *threads = kinds->threads + kind->first, *busiest = &threads[0];
	struct workers w = { .busiest = busiest,
		             .busiest_ns = busiest->end_ns - busiest->begin_ns };

	for (size_t i = 0; i < kind->count; i++) {
		const struct kind_thread *t = &threads[i];
		uint64_t done_ns =
			t->end_ns > busiest->begin_ns ? t->end_ns - busiest->begin_ns : 0;
		bool early = done_ns && done_ns < w.busiest_ns / 2 &&
		             begin_together(t, busiest, w.busiest_ns);
		// An idle thread of a pool lives as long as the pool.
		if ((double)t->cpu_ns < PART_SHARE * (double)busiest->cpu_ns && !early)
			continue;
		w.cpu_ns += t->cpu_ns;
		w.ready_ns += t->ready_ns;
		w.count++;
		w.early += early;
		w.early_ns = early && done_ns > w.early_ns ? done_ns : w.early_ns;
	}
	return w;
}

// Of the kind of the thread that is the busiest of all; NULL: that is the first of a process.
static const struct thread_kind *busiest_kind(const struct evidence *e,
                                              const struct thread_kinds *kinds)
{
	const struct thread_kind *best = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < e->threads->count; i++) {
		uint64_t ns = e->threads->rows[i].self_ns[METRIC_ON_CPU];
		most = ns > most ? ns : most;
	}
	for (size_t i = 0; i < kinds->count; i++) {
		const struct thread_kind *kind = &kinds->kinds[i];
		uint64_t ns = kinds->threads[kind->first].cpu_ns;
		if (!best || ns > kinds->threads[best->first].cpu_ns)
			best = kind;
	}
	// What a first thread does alone is not divided at all, and it gives work to the others:
	// that it has less of it itself says nothing.
	return best && kinds->threads[best->first].cpu_ns >= most ? best : NULL;
}

static enum measured say_imbalance(struct finding *finding, const struct workers *w,
                                   const char *function)
{
	char early[32], busiest[32];

	if (!w->early)
		return finding_say(finding,
		                   "uneven load: the busiest of %u `%.60s` threads uses %.1fx the "
		                   "average CPU time",
		                   w->count, function, finding->value);
	snprintf(early, sizeof(early), "%s", format_duration(w->early_ns).text);
	snprintf(busiest, sizeof(busiest), "%s", format_duration(w->busiest_ns).text);
	return finding_say(finding,
	                   "uneven load: %u of %u `%.60s` threads %s done after %s, the busiest "
	                   "works for %s",
	                   w->early, w->count, function, w->early == 1 ? "is" : "are", early,
	                   busiest);
}

// How much longer the busiest of several threads worked than they did on average.
static enum measured measure_imbalance(const struct evidence *e, const struct rule *rule,
                                       struct finding *finding)
{
	struct error err = { 0 };
	cleanup(thread_kinds) struct thread_kinds *kinds =
		e->totals.threads > 2 ? query_kinds(e->profile, &e->query, &err) : NULL;
	const struct thread_kind *kind = kinds ? busiest_kind(e, kinds) : NULL;

	(void)rule;
	if (!kind)
		return MEASURED_NOTHING;
	const struct workers w = workers_of(kinds, kind);
	if (w.count < 2 || (double)w.cpu_ns < BUSY_SHARE * (double)evidence_run_ns(e))
		return MEASURED_NOTHING;
	uint64_t most = w.busiest->cpu_ns;
	double average = (double)w.cpu_ns / w.count;
	finding->value = (double)most / average;
	// Where CPUs are short the scheduler may give one thread more than another: their work is
	// unequal only if what they have and want is.
	double ready = (double)(w.cpu_ns + w.ready_ns);
	double wanted = (double)(most + w.busiest->ready_ns) * w.count / (ready > 0 ? ready : 1);
	if (wanted < finding->value)
		finding->value = wanted > 1 ? wanted : 1;
	evidence_weigh(e, (uint64_t)((double)most - average), 0, 0, finding);
	begin_at(finding, e, hottest(e));
	return say_imbalance(finding, &w, kind->function);
}

// Of all threads, blocked in the function where FINDING begins, behind its line; CALLEE and LINE
// are where most of it is.
static uint64_t blocked_behind(const struct evidence *e, const struct finding *finding, int *line,
                               const char **callee)
{
	const struct activities *a = e->activities;
	const struct strings *texts = profile_strings(e->profile);
	uint64_t sum = 0, most = 0;

	for (size_t i = 0; i < a->time_count && finding->file; i++) {
		const struct activity_time *time = &a->times[i];
		const struct activity_place *place =
			time->place == ACTIVITY_NO_PLACE ? NULL : &a->places[time->place];
		uint64_t ns = evidence_sum(time->ns, EVIDENCE_BLOCKED);
		// Texts of one profile: the same one is at the same address.
		if (!place || !ns || (int)place->line <= finding->line ||
		    strings_get(texts, place->function) != finding->function ||
		    strings_get(texts, place->file) != finding->file)
			continue;
		sum += ns;
		if (ns <= most)
			continue;
		most = ns;
		*line = (int)place->line;
		*callee = strings_get(texts, time->callee);
	}
	return sum;
}

// The lock is that of the C library's only generator of random numbers.
static bool is_random(const struct finding *finding)
{
	const char *callee = finding->rows[0].callee;

	return callee && (strcmp(callee, "rand") == 0 || strcmp(callee, "random") == 0);
}

// What it waits for behind the lock may be done with it.
static enum measured measure_lock(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	enum measured measured = measure_doing(e, rule, finding);
	const char *callee = NULL;
	int line = 0;

	if (measured != MEASURED || !finding->row_count)
		return measured;
	if (is_random(finding)) {
		finding_advise(finding,
		               "%s() has one state and one lock for all threads: give each thread "
		               "its own generator (rand_r(3), random_r(3), C++'s <random>).",
		               finding->rows[0].callee);
		return measured;
	}
	uint64_t waited = finding->rows[0].ns, ns = blocked_behind(e, finding, &line, &callee);
	if ((double)ns >= HELD_SHARE * (double)waited && callee)
		finding_advise(
			finding,
			"Line %d of the same function waits in %.60s for %.2f s: if it holds "
			"the lock there, move that wait out of the critical section, or wait "
			"once for many items. %s",
			line, callee, (double)ns / 1e9, rule->advice);
	return measured;
}

// Where threads lack a CPU the others wait for them, however well the work is divided: then it is
// that thread which waits less at the ends that has to compute more, on CPUs.
static bool is_uneven(const struct evidence *e, uint64_t waited)
{
	uint64_t own = 0, all = 0;
	uint32_t workers = 0;

	if ((double)e->activities->ns[METRIC_OFF_RUNNABLE] < QUEUE_SHARE * (double)waited)
		return true;
	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		if (time->place == ACTIVITY_NO_PLACE || time->doing & ACTIVITY(LOOP))
			continue;
		own += time->thread_cpu_ns;
		all += time->ns[METRIC_ON_CPU];
	}
	for (size_t i = 0; i < e->threads->count; i++)
		workers += (double)e->threads->rows[i].self_ns[METRIC_ON_CPU] >
		           PART_SHARE * (double)own;
	if (workers < 2)
		return false;
	double others = (double)(all - own) / (workers - 1);
	return e->account.is_main ? others > UNEVEN * (double)own : (double)own > UNEVEN * others;
}

// A loop of the user's own: how libraries divide theirs is not the user's to change.
static bool is_own_loop(const struct evidence *e, const struct activity_time *time)
{
	const char *callee = profile_string(e->profile, time->callee);

	if (time->place == ACTIVITY_NO_PLACE || !(time->doing & ACTIVITY(LOOP)) ||
	    e->activities->places[time->place].python)
		return false;
	if (time->doing & ACTIVITY(CHUNK))
		return false;
	return !callee || strncmp(callee, "GOMP_", 5) == 0 || strncmp(callee, "__kmpc_", 7) == 0;
}

// The time of threads that have begun a parallel loop of the user's own, in its runtime; and where
// most of that is. Threads of the runtime also wait while no loop is there.
struct loops {
	const struct activity_time *most; // NULL: none
	uint64_t sum;
};

static struct loops find_loops(const struct evidence *e, const struct rule *rule)
{
	struct loops loops = { 0 };

	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		if (!is_own_loop(e, time))
			continue;
		uint64_t ns = evidence_sum(time->ns, rule->metrics);
		loops.sum += ns;
		if (ns && (!loops.most || ns > evidence_sum(loops.most->ns, rule->metrics)))
			loops.most = time;
	}
	return loops;
}

static void add_loops(const struct evidence *e, const struct rule *rule, const struct loops *loops,
                      struct finding *finding)
{
	const struct activity_place *own = &e->activities->places[loops->most->place];
	const struct strings *texts = profile_strings(e->profile);
	const char *function = strings_get(texts, own->function);
	uint64_t ns = evidence_sum(loops->most->ns, rule->metrics);

	finding_add(finding, &(struct finding_row){
				     .function = function ? function : "?",
				     .file = strings_get(texts, own->file),
				     .line = (int)own->line,
				     .ns = ns,
				     .share = share_of(ns, loops->sum),
			     });
	finding->share =
		share_of(loops->sum, e->wall_ns) < 1 ? share_of(loops->sum, e->wall_ns) : 1;
	finding->value = 100 * finding->share;
}

static enum measured measure_loops(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	struct loops loops = find_loops(e, rule);
	char place[300];

	if (!loops.most || !is_uneven(e, loops.sum))
		return MEASURED_NOTHING;
	add_loops(e, rule, &loops, finding);
	// As long as one waits another is late: with equal work both would be there halfway.
	finding->saving_ns = (uint64_t)(finding->share * (double)e->wall_ns / 2);
	finding_place(finding->function, finding->file, finding->line, place, sizeof(place));
	return finding_say(finding, "%s: %.0f %% of the time, most in %s", rule->title,
	                   finding->value, place);
}

// The time that all threads but the one that begins the loops, if that is known, did not spend in
// their runtime, and for which any lacked a CPU: one may be late for that.
static uint64_t work_of_others(const struct evidence *e)
{
	uint64_t own = 0, all = 0;

	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		if (time->place == ACTIVITY_NO_PLACE || time->doing & ACTIVITY(LOOP))
			continue;
		own += e->account.is_main ? time->thread_cpu_ns : 0;
		all += time->ns[METRIC_ON_CPU];
	}
	return (all > own ? all - own : 0) + e->activities->ns[METRIC_OFF_RUNNABLE];
}

// Who has come to a loop's end waits for as long as the slowest of the others works there. More
// than all of them together have worked goes to the beginning and ending of loops.
static enum measured measure_short(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	struct loops loops = find_loops(e, rule);
	uint64_t work = work_of_others(e);
	char place[300];

	if (!loops.most || loops.sum <= work)
		return MEASURED_NOTHING;
	add_loops(e, rule, &loops, finding);
	finding->saving_ns = (uint64_t)(finding->share * (double)e->wall_ns);
	finding_place(finding->function, finding->file, finding->line, place, sizeof(place));
	return finding_say(finding,
	                   "%s: %.0f %% of the time, most in %s. The other threads worked for "
	                   "%.2f s in all, or lacked a CPU; beginning and ending the loops took "
	                   "%.2f s",
	                   rule->title, finding->value, place, (double)work / 1e9,
	                   (double)loops.sum / 1e9);
}

// How busy the CPUs are with a program that has several threads to keep them so.
static enum measured measure_poor(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	double busy = busy_cpus(e), cpus = run_cpus(e->run);
	uint32_t working = 0;

	(void)rule;
	if (cpus <= 0)
		return finding_lacks(finding, "it is not known how many CPUs it could use");
	for (size_t i = 0; i < e->threads->count; i++)
		working += (double)e->threads->rows[i].self_ns[METRIC_ON_CPU] >
		           PART_SHARE * (double)e->wall_ns;
	if (cpus < 4 || working < 3 || busy < BUSY_SHARE)
		return MEASURED_NOTHING;
	finding->value = 100 * busy / cpus;
	finding->share = 1;
	finding->saving_ns = (uint64_t)((1 - busy / cpus) * (double)e->wall_ns);
	finding->bound = true;
	begin_at(finding, e, hottest(e));
	return finding_say(finding,
	                   "%.1f of %.3g CPUs are busy on average, with %u working threads", busy,
	                   cpus, working);
}

// How a build is asked to optimize.
static enum measured measure_debug(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	enum measured measured = measure_doing(e, rule, finding);
	size_t length = finding->file ? strlen(finding->file) : 0;

	if (measured == MEASURED && length > 3 && strcmp(finding->file + length - 3, ".rs") == 0)
		finding_advise(
			finding,
			"Build with cargo build --release (rustc -O), with debug = true in "
			"[profile.release], and profile that; opt-level = 1 in [profile.dev] "
			"makes debug builds faster.");
	return measured;
}

const struct rule rules_cpu[] = {
	{ .id = "CPU-LOCK",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .title = "waiting for locks",
	  .formula = "time blocked in mutexes, semaphores and read-write locks, as a share of the "
	             "critical thread's time",
	  .why = "Threads that wait for the same lock run one after the other, whatever the "
	         "number of CPUs.",
	  .advice = "Hold the lock for less time, or give each thread its own data and combine "
	            "the results at the end.",
	  .source = "our choice",
	  .measure = measure_lock,
	  .doing = ACTIVITY(MUTEX),
	  .not_doing = ACTIVITY(GIL) | ACTIVITY(CONDITION) | ACTIVITY(JOIN) | ACTIVITY(BARRIER),
	  .metrics = 1u << METRIC_OFF_LOCK },
	{ .id = "CPU-SYS",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .title = "kernel time",
	  .formula =
	          "CPU time in the kernel, without copies of data from and to it and without "
	          "interrupts, as a share of the critical thread's time, or of all CPU time where that is more",
	  .why = "This time goes to system calls and page faults, not to the "
	         "program's own code.",
	  .advice = "Make fewer and larger system calls, and reuse memory instead of allocating "
	            "it anew.",
	  .source = "our choice",
	  .measure = measure_sys,
	  .inside = true,
	  .doing = ACTIVITY(KERNEL),
	  .not_doing = ACTIVITY(SPIN) | ACTIVITY(LINK) | ACTIVITY(IMPORT) | ACTIVITY(COPY) |
	               ACTIVITY(INTERRUPT),
	  .metrics = 1u << METRIC_ON_CPU },
	{ .id = "CPU-IMBALANCE",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_RATIO,
	  .threshold = 1.5,
	  .title = "load imbalance",
	  .formula =
	          "CPU time of the busiest of the threads that begin in one function, divided by "
	          "their average; without the first thread of a process, and without idle "
	          "threads",
	  .why = "The run ends when its busiest thread does; the others wait for it.",
	  .advice = "Split the work into more and smaller pieces that threads take as they become "
	            "free (dynamic scheduling).",
	  .source = "our choice",
	  .uneven = true,
	  .measure = measure_imbalance },
	{ .id = "CPU-LOOPS",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "CPU-IMBALANCE", "CPU-OVERSUB", "CPU-SPIN", "CPU-SYS" },
	  .title = "waiting at the end of parallel loops",
	  .formula = "time of the threads that begin parallel loops of OpenMP's in the user's own "
	             "code, in its runtime (libgomp, libomp, libiomp5), spinning or asleep, as a "
	             "share of wall time; where threads lack CPUs, only if their CPU time is "
	             "unequal, too",
	  .why = "A parallel loop ends when its slowest thread does; the others wait for it.",
	  .advice = "Let threads take pieces as they become free: schedule(dynamic) or "
	            "schedule(guided). If a loop takes only microseconds, put several into one "
	            "parallel region.",
	  .source = "our choice",
	  .uneven = true,
	  .measure = measure_loops,
	  .doing = ACTIVITY(LOOP),
	  .metrics = 1u << METRIC_ON_CPU | 1u << METRIC_OFF_LOCK },
	{ .id = "CPU-SHORT",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "CPU-LOOPS", "CPU-IMBALANCE", "CPU-SPIN", "CPU-SYS" },
	  .title = "beginning and ending parallel loops that are too short",
	  .formula = "time of the threads that begin parallel loops of OpenMP's in the user's own "
	             "code, in its runtime (libgomp, libomp, libiomp5), spinning or asleep, as a "
	             "share of wall time, if that is more than all other threads' work",
	  .why = "Each parallel region costs microseconds: threads are woken, and wait for each "
	         "other at its end. Of a loop that takes no longer one thread has more.",
	  .advice = "Put several loops into one parallel region (#pragma omp parallel around the "
	            "outer loop, #pragma omp for within), or divide the outer loop; leave short "
	            "ones to one thread: if(n > 10000).",
	  .source = "our choice",
	  .measure = measure_short,
	  .doing = ACTIVITY(LOOP),
	  .metrics = 1u << METRIC_ON_CPU | 1u << METRIC_OFF_LOCK },
	{ .id = "CPU-CHUNK",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "CPU-LOOPS", "CPU-IMBALANCE", "CPU-OVERSUB", "CPU-FORMAT" },
	  .title = "handing out iterations of parallel loops",
	  .formula = "CPU time in which OpenMP's runtime (libgomp, libomp, libiomp5) gives threads "
	             "the next iterations of a loop, as a share of the critical thread's time, or "
	             "of all CPU time",
	  .why = "With schedule(dynamic) or schedule(guided) threads take pieces of a loop from a "
	         "counter that all of them change; that of one iteration costs more than a "
	         "short iteration itself.",
	  .advice = "Hand out more iterations at once, so that a piece takes 10 us or more: "
	            "schedule(dynamic, 1000). Where all iterations take the same time, use "
	            "schedule(static), which needs no counter.",
	  .source = "our choice",
	  .measure = measure_doing,
	  .doing = ACTIVITY(CHUNK),
	  .metrics = 1u << METRIC_ON_CPU },
	{ .id = "CPU-DEBUG",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .title = "code compiled without optimization",
	  .formula =
	          "CPU time in code that was compiled with -O0, as the debug information says (GCC), "
	          "or shows where variables are on the stack for all of their lives (Clang, "
	          "rustc), as a share of the critical thread's time, or of all CPU time where that "
	          "is more",
	  .why = "Unoptimized code keeps variables in memory and inlines nothing: it takes 2 to "
	         "10 times as long, and its hot spots may be others.",
	  .advice = "Build with -O2 -g, and profile that.",
	  .source = "our choice",
	  .part = 0.9,
	  .part_from = "optimized code takes a tenth of the time where it gains most",
	  .measure = measure_debug,
	  .doing = ACTIVITY(DEBUG),
	  .metrics = 1u << METRIC_ON_CPU },
	{ .id = "CPU-POOR",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_INFO,
	  .potential = true,
	  .unit = UNIT_PERCENT,
	  .threshold = 50,
	  .below = true,
	  .title = "low CPU utilization",
	  .formula = "CPUs that are busy on average, as a share of those that the program may use; "
	             "only with three working threads and more, on four CPUs and more",
	  .why = "Threads that wait for each other leave CPUs idle.",
	  .advice = "See what they wait for: bottleneck report --waits, or --off-cpu.",
	  .source = "Intel VTune calls up to 50 % poor",
	  .measure = measure_poor },
	{ .id = "CPU-SERIAL",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_INFO,
	  .potential = true,
	  .unit = UNIT_RATIO,
	  .threshold = 1.2,
	  .below = true,
	  .title = "only one thread computes",
	  .formula = "CPUs that are busy on average, where there are four and more",
	  .why = "The other CPUs are idle.",
	  .advice = "If the work can be split, use several threads or processes.",
	  .source = "our choice; the saving is Amdahl's limit",
	  .measure = measure_serial },
	{ .id = "CPU-FLAT",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 4,
	  .below = true,
	  .title = "flat profile",
	  .formula = "CPU time of the function with the largest self time, as a share of all",
	  .why = "No single function is worth optimizing.",
	  .advice = "Look for work that can be avoided altogether: bottleneck report --call-tree.",
	  .source = "MAQAO ONE View: at least one loop above 4 %",
	  .measure = measure_flat },
};

const size_t rules_cpu_count = sizeof(rules_cpu) / sizeof(rules_cpu[0]);
