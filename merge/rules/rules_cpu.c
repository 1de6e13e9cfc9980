// SPDX-License-Identifier: MIT
// Rules on CPUs and threads.
#include "base/clock.h"
#include "base/error.h"
#include "base/format.h"
#include "base/known_work.h"
#include "base/path.h"
#include "base/record.h"
#include "base/share.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query_kinds.h"
#include "merge/query/query_waits.h"
#include "merge/query/query_wall.h"
#include "merge/rules/evidence.h"

#include <stdio.h>
#include <string.h>

#define BUSY_SHARE     0.5  /* of the time of one CPU: then a program computes */
#define OWN_SHARE      0.05 /* of the CPUs: less, and others are to blame for the queue */
#define PART_SHARE     0.1  /* of the busiest thread's CPU time: less is no worker */
#define TOGETHER       0.1  /* of the busiest thread's life: so far apart its likes begin */
#define FEW_SAMPLES    100
#define MEET_SHARE     0.05 /* of the time that threads run or could, in waiting for each other */
#define HELD_SHARE     0.2  /* of the time that was waited for a lock */
#define QUEUE_SHARE    0.1  /* of what was waited for others: more time without a CPU may be why */
#define PARALLEL_SHARE 0.05 /* of the time on CPUs, on several at once: less is chance */
#define DIVIDED_SHARE  0.2  /* of the time of a place alone, there beside others: it is divided */
#define TURNS_SHARE    0.5  /* of the time of a place alone, by another thread alone elsewhere */
#define WORK_SHARE     0.05 /* of its life, on CPUs: who works less only takes what others make */
#define LOCKED_SHARE   0.2  /* of the time of a place alone, waited for a lock it holds: not idle */
#define MOSTLY_ALONE   0.6  /* of the CPU time of a place */
#define UNEVEN         1.25 /* times the CPU time of another */
#define BLOCKED                                                                                    \
	(1u << METRIC_OFF_FILE | 1u << METRIC_OFF_PIPE | 1u << METRIC_OFF_NET |                    \
	 1u << METRIC_OFF_SLEEP | 1u << METRIC_OFF_FAULT)

// On a CPU, until another thread has done something.
#define WAITS_BUSILY (ACTIVITY(SPIN) | ACTIVITY(BARRIER) | ACTIVITY_OF_LOOP(WAIT))

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

// The line of the user's own code that most CPU time is charged with.
static void begin_at_place(struct finding *finding, const struct evidence *e)
{
	const struct rule all = { .title = "",
		                  .not_doing = ACTIVITY(IMPORT) | ACTIVITY(LINK),
		                  .metrics = 1u << METRIC_ON_CPU };
	struct finding found = { .rule = &all };

	if (measure_doing(e, &all, &found) == MEASURED && found.row_count)
		finding_add(finding, &found.rows[0]);
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

// Has a good part of a CPU, or would.
static bool is_worker(const struct evidence *e, const struct row *thread)
{
	return (double)(thread->self_ns[METRIC_ON_CPU] + thread->self_ns[METRIC_OFF_RUNNABLE]) >
	       PART_SHARE * (double)e->wall_ns;
}

// Threads that wait for none but for each other's end take as long on as many CPUs, however many
// they are. Nor does a pool's thread that has nothing to do all the time, as each process that
// imports NumPy has some.
static uint64_t waits_for_others(const struct evidence *e)
{
	uint64_t locks = 0, spins = 0, of_workers = 0;

	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		if (!(time->doing & ACTIVITY(JOIN)))
			locks += time->ns[METRIC_OFF_LOCK];
		if (time->doing & WAITS_BUSILY) // or would, if it had a CPU
			spins += time->ns[METRIC_ON_CPU] + time->ns[METRIC_OFF_RUNNABLE];
	}
	for (size_t i = 0; i < e->threads->count; i++)
		of_workers += is_worker(e, &e->threads->rows[i])
		                      ? e->threads->rows[i].self_ns[METRIC_OFF_LOCK]
		                      : 0;
	return (locks < of_workers ? locks : of_workers) + spins;
}

static bool is_first(const struct evidence *e, uint32_t tid)
{
	for (size_t i = 0; i < profile_threads(e->profile)->process_count; i++)
		if (profile_threads(e->profile)->processes[i].pid == tid)
			return true;
	return false;
}

// How a pool of threads is known by the code that its threads run, and how its size is set.
struct pool {
	const char *name, *before, *after; // the number of threads in what sets it
	const char *modules[4];            // how files of code are called, without lib
	const char *functions[2];          // how functions begin
};

static const struct pool pools[] = {
	{ "OpenMP", "OMP_NUM_THREADS=", "", { "libgomp", "libomp", "libiomp5" }, { 0 } },
	{ "OpenBLAS", "OPENBLAS_NUM_THREADS=", "", { "libopenblas", "libscipy_openblas" }, { 0 } },
	{ "MKL", "MKL_NUM_THREADS=", "", { "libmkl_" }, { 0 } },
	{ "PyTorch", "torch.set_num_threads(", ")", { "libtorch_cpu", "libc10" }, { 0 } },
	{ "Rayon", "RAYON_NUM_THREADS=", "", { 0 }, { "rayon_core::" } },
	{ "Go", "GOMAXPROCS=", "", { 0 }, { "runtime.mstart", "runtime.goexit" } },
};

#define POOLS (sizeof(pools) / sizeof(pools[0]))

static bool begins_with_any(const char *text, const char *const *beginnings, size_t count)
{
	for (size_t i = 0; i < count && beginnings[i]; i++)
		if (strncmp(text, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

// The pool whose code is at LOCATION, from 1; 0: none.
static uint8_t pool_at(const struct profile *p, const struct location *location)
{
	const struct module *module = profile_module(p, location->module);
	const struct place *places = profile_places(p, location);
	const char *file = module && module->path ? path_base(module->path) : "";

	for (size_t i = 0; i < POOLS; i++) {
		if (begins_with_any(file, pools[i].modules, 4))
			return (uint8_t)(i + 1);
		for (uint32_t j = 0; pools[i].functions[0] && places && j < location->place_count;
		     j++) {
			const char *function = profile_string(p, places[j].function);
			if (function && begins_with_any(function, pools[i].functions, 2))
				return (uint8_t)(i + 1);
		}
	}
	return 0;
}

/*
 * What made the threads that run or want to: of each, the outermost code that is a pool's. Where
 * OpenBLAS, MKL or PyTorch have theirs from OpenMP, it is OpenMP's, which a first thread does not
 * show. NULL if most have nothing of the kind, as processes that work side by side.
 */
static const struct pool *pool_of_threads(const struct evidence *e)
{
	const struct profile *p = e->profile;
	const struct cells *cells = profile_cells(p);
	uint32_t count = profile_paths(p)->count;
	uint64_t sums[POOLS + 1] = { 0 }, all = 0;
	cleanup_free uint8_t *of = calloc((size_t)count + 1, 1);
	cleanup_free uint32_t *slots = calloc((size_t)count + 1, sizeof(*slots));

	if (!of || !slots)
		return NULL;
	for (uint32_t id = 1; id <= count; id++) {
		const struct path_node *node = profile_node(p, id);
		slots[id] = node->parent ? slots[node->parent] : node->location;
		of[id] = node->parent ? of[node->parent] : 0;
		if (node->parent && !of[id])
			of[id] = pool_at(p, profile_location(p, node->location));
	}
	for (uint32_t i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		const struct thread_info *thread = profile_thread(p, slots[cell->node]);
		bool first = thread && is_first(e, thread->tid);
		// A program may be on a CPU for long before it has a pool; but then it need not
		// wait.
		if (first ? cell->metric != METRIC_OFF_RUNNABLE || of[cell->node]
		          : cell->metric != METRIC_ON_CPU && cell->metric != METRIC_OFF_RUNNABLE)
			continue;
		sums[of[cell->node]] += cells_whole(cells, cell);
		all += cells_whole(cells, cell);
	}
	for (size_t i = 0; i < POOLS; i++)
		if (2 * sums[i + 1] > all)
			return &pools[i];
	return NULL;
}

static void advise_pool(const struct pool *pool, uint32_t threads, struct finding *finding)
{
	finding_advise(finding, "Start one thread per CPU: %s%u%s.", pool->before, threads,
	               pool->after);
}

static uint32_t working_threads(const struct evidence *e)
{
	uint32_t count = 0;

	for (size_t i = 0; i < e->threads->count; i++)
		count += is_worker(e, &e->threads->rows[i]);
	return count;
}

// "0.5 CPU", "2 CPUs".
static void print_cpus(double cpus, char *buffer, size_t size)
{
	snprintf(buffer, size, "%.3g CPU%s", cpus, cpus > 1 ? "s" : "");
}

// By the clock: it is the run that takes longer, whichever threads wait.
static enum measured measure_quota(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	const struct run *run = e->run;
	double quota = run->quota_millicpus / 1e3;
	uint64_t waited = e->contention.throttled_ns;
	const struct contention_parts *parts = &e->contention.all;
	uint32_t threads = working_threads(e), paid = quota < 1 ? 1 : (uint32_t)quota;
	char cpus[32];

	(void)rule;
	if (!run->quota_millicpus)
		return MEASURED_NOTHING;
	// The group may be throttled by others in it, while this program wants nothing.
	if (run->off_cpu_exact && parts->quota_ns < waited)
		waited = parts->quota_ns;
	finding->value = percent_of(waited, e->wall_ns);
	finding->share = share_of(waited, e->wall_ns);
	finding->saving_ns = waited;
	begin_at_place(finding, e);
	print_cpus(quota, cpus, sizeof(cpus));
	if (threads > paid) {
		const struct pool *pool = pool_of_threads(e);
		finding_advise(finding,
		               "Raise the limit (cpu.max of the control group, --cpus of a "
		               "container), or start only as many threads as it has CPUs: %s%u%s.",
		               pool ? pool->before : "", paid, pool ? pool->after : "");
	}
	if (threads <= 1)
		return finding_say(finding,
		                   "throttled for %.0f %% of wall time by a quota of %s (control "
		                   "group %.200s)",
		                   finding->value, cpus, run->quota_group ? run->quota_group : "?");
	return finding_say(finding,
	                   "throttled for %.0f %% of wall time by a quota of %s, which %u threads "
	                   "share (control group %.200s)",
	                   finding->value, cpus, threads,
	                   run->quota_group ? run->quota_group : "?");
}

// With fewer threads the same work is left, for all CPUs: what can be saved at most is the time in
// which they did none.
static uint64_t wasted_by_crowd(const struct evidence *e)
{
	uint64_t wasted = e->contention.idle_ns, own = e->contention.critical.own_ns;

	for (size_t i = 0; i < e->activities->time_count; i++)
		if (e->activities->times[i].doing & WAITS_BUSILY)
			wasted += e->activities->times[i].ns[METRIC_ON_CPU];
	wasted /= e->run->cpus;
	return wasted < own ? wasted : own;
}

// Of four threads that work, three or more are their process's first, as those of a server that has
// a process for each client.
static bool are_processes(const struct evidence *e)
{
	size_t workers = 0, firsts = 0;

	for (size_t i = 0; i < e->threads->count; i++) {
		const struct row *row = &e->threads->rows[i];
		workers += is_worker(e, row);
		firsts += is_worker(e, row) && is_first(e, row->id);
	}
	return firsts >= 2 && 4 * firsts >= 3 * workers;
}

static enum measured measure_oversubscription(const struct evidence *e, const struct rule *rule,
                                              struct finding *finding)
{
	const uint64_t *ns = e->activities->ns;
	const struct contention_parts *parts = &e->contention.all;
	uint32_t cpus = e->run->cpus;
	uint64_t throttled = e->contention.throttled_ns;
	double wall = (double)(e->wall_ns > throttled ? e->wall_ns - throttled : 0) * cpus;

	(void)rule;
	if (!cpus || !e->run->off_cpu_exact)
		return finding_lacks(finding, "%s",
		                     cpus ? "it was not recorded when threads wait for a CPU"
		                          : "it is not known how many CPUs it could use");
	// Where others have the CPUs, the queue is theirs.
	if (e->totals.threads <= cpus || (double)ns[METRIC_ON_CPU] < OWN_SHARE * wall)
		return MEASURED_NOTHING;
	// While a quota throttles them all, how many they are does not matter: see CPU-QUOTA.
	double ready = (double)(ns[METRIC_ON_CPU] + parts->own_ns + parts->others_ns);
	if (wall <= 0 || (double)waits_for_others(e) < MEET_SHARE * ready)
		return MEASURED_NOTHING;
	finding->value = ready / wall;
	finding->saving_ns = wasted_by_crowd(e);
	if (!finding->saving_ns && e->contention.critical.own_ns)
		finding->saving_ns = 1; // the CPUs were never without work
	finding->share = share_of(finding->saving_ns, e->wall_ns);
	begin_at_place(finding, e);
	const struct pool *pool = pool_of_threads(e);
	if (pool)
		advise_pool(pool, cpus, finding);
	if (!pool && are_processes(e)) {
		finding_advise(finding,
		               "Run fewer processes at a time: a smaller -j, fewer workers, "
		               "clients or connections.");
		return finding_say(
			finding,
			"%.1f processes are ready to run at a time, on %u CPU%s; there are "
			"%zu processes",
			finding->value * cpus, cpus, cpus == 1 ? "" : "s",
			profile_threads(e->profile)->process_count);
	}
	return finding_say(finding,
	                   "%.1f threads%s%s are ready to run at a time, on %u CPU%s; there are %u "
	                   "threads",
	                   finding->value * cpus, pool ? " of " : "", pool ? pool->name : "", cpus,
	                   cpus == 1 ? "" : "s", e->totals.threads);
}

// More CPU time than in ROW is in the kernel, whose functions are not seen: they may be few.
static bool is_in_kernel(const struct evidence *e, const struct row *row)
{
	for (size_t i = 0; i < e->functions->count && &e->functions->rows[i] != row; i++)
		if (e->functions->rows[i].kernel)
			return true;
	return false;
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
	static const struct {
		const char *callee, *advice;
	} table[] = {
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
		{ "lseek", "Use pread() and pwrite(), which take the offset themselves." },
		{ "lseek64", "Use pread() and pwrite(), which take the offset themselves." },
	};
	enum measured measured = measure_doing(e, rule, finding);
	const char *callee = finding->row_count ? finding->rows[0].callee : NULL;

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
	if (!row || busy_cpus(e) < BUSY_SHARE || is_in_kernel(e, row))
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
		uint64_t ns = evidence_sum(time->ns, BLOCKED);
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
	return !callee || strncmp(callee, "GOMP_", 5) == 0 || strncmp(callee, "__kmpc_", 7) == 0;
}

// By threads that have begun a parallel loop: those of the runtime also wait while none is there.
static enum measured measure_loops(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	const struct activity_time *most = NULL;
	uint64_t sum = 0;
	char place[300];

	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		if (!is_own_loop(e, time))
			continue;
		uint64_t ns = evidence_sum(time->ns, rule->metrics);
		sum += ns;
		if (ns && (!most || ns > evidence_sum(most->ns, rule->metrics)))
			most = time;
	}
	if (!most || !is_uneven(e, sum))
		return MEASURED_NOTHING;
	const struct activity_place *own = &e->activities->places[most->place];
	const struct strings *texts = profile_strings(e->profile);
	const char *function = strings_get(texts, own->function);
	finding_add(finding, &(struct finding_row){
				     .function = function ? function : "?",
				     .file = strings_get(texts, own->file),
				     .line = (int)own->line,
				     .ns = evidence_sum(most->ns, rule->metrics),
				     .share = share_of(evidence_sum(most->ns, rule->metrics), sum),
			     });
	finding->share = share_of(sum, e->wall_ns) < 1 ? share_of(sum, e->wall_ns) : 1;
	finding->value = 100 * finding->share;
	// As long as one waits another is late: with equal work both would be there halfway.
	finding->saving_ns = (uint64_t)(finding->share * (double)e->wall_ns / 2);
	finding_place(finding->function, finding->file, finding->line, place, sizeof(place));
	return finding_say(finding, "%s: %.0f %% of the time, most in %s", rule->title,
	                   finding->value, place);
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

// Which resources somebody holds whom the run waits for. Threads and children that it has made, and
// those that it has do its work in turns, are no such: it is their work that it waits for. A lock
// of Python's is made of a semaphore, and what its library makes of locks (a queue, the end of a
// thread) is waited for in a function of that.
static bool is_held(const struct wait_row *row)
{
	if (row->python && row->kind == HELD_SEMAPHORE)
		return !row->within;
	return row->kind == HELD_MUTEX || row->kind == HELD_RWLOCK || row->kind == HELD_SPIN ||
	       row->kind == WAIT_KIND_DESCRIPTOR;
}

// Who has no work of its own to speak of, as the last of a shell's pipeline often, only takes what
// the other end makes: that one is not kept from anything by being waited for.
static bool only_takes(const struct wait_row *row)
{
	return row->kind == WAIT_KIND_DESCRIPTOR && row->waiter.life_ns &&
	       (double)row->waiter.on_cpu_ns < WORK_SHARE * (double)row->waiter.life_ns;
}

static bool same_holder(const struct wait_row *a, const struct wait_row *b)
{
	return a->kind == b->kind && a->holder.function && b->holder.function &&
	       strcmp(a->holder.function, b->holder.function) == 0;
}

// "3 threads wait", "app waits".
static void say_waiters(const struct wait_side *waiter, char *buffer, size_t size)
{
	if (waiter->threads > 1)
		snprintf(buffer, size, "%u threads wait", waiter->threads);
	else
		snprintf(buffer, size, "%.60s waits",
		         waiter->function ? waiter->function
		         : waiter->thread ? waiter->thread
		                          : "a thread");
}

// "the mutex `journal`", "a condition variable".
static void say_resource(const struct wait_row *row, char *buffer, size_t size)
{
	const char *kind = wait_kind_name(row->kind, row->cause);

	if (row->python && !row->within)
		snprintf(buffer, size, "a Python lock");
	else if (row->resource && !row->made)
		snprintf(buffer, size, "the %s `%.60s`", kind, row->resource);
	else if (row->within)
		snprintf(buffer, size, "%s %s in %.60s()", wait_kind_article(row->kind), kind,
		         row->within);
	else
		snprintf(buffer, size, "%s %s", wait_kind_article(row->kind), kind);
}

// What the process at the other end can do with less time: what is known of its program, or where
// its own report is.
static void advise_other_end(const struct wait_row *row, struct finding *finding)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._+-";
	const char *process = row->holder.process, *other = row->waiter.process;
	const struct known_work *work = known_work_of_program(process);

	if (work)
		finding_advise(finding, "%s", work->advice);
	else if (process && other && *process && strcmp(process, other) != 0 &&
	         !process[strspn(process, plain)])
		finding_advise(finding,
		               "Give %s less work, or share it among several processes; bottleneck "
		               "report --process=%s shows what it does.",
		               process, process);
	else
		finding_advise(finding,
		               "Give that end less work for each item, or share the items among "
		               "several threads or processes.");
}

// QUEUE says what the share is without.
static enum measured say_holder(const struct wait_row *row, const char *queue,
                                struct finding *finding)
{
	char holder[300], waiters[100], what[160], at[200] = "";
	const char *base = path_base(row->waiter.file);

	finding_place(row->holder.function, row->holder.file, row->holder.line, holder,
	              sizeof(holder));
	say_waiters(&row->waiter, waiters, sizeof(waiters));
	if (base)
		snprintf(at, sizeof(at), " at %.120s:%d", base, row->waiter.line);
	if (row->kind == WAIT_KIND_DESCRIPTOR) {
		advise_other_end(row, finding);
		return finding_say(
			finding,
			"%.0f %% of wall time%s is %s, while %s for it at a pipe or socket%s",
			finding->value, queue, holder, waiters, at);
	}
	say_resource(row, what, sizeof(what));
	return finding_say(finding,
	                   "%.0f %% of wall time%s is %s, which holds %s while %s for it%s",
	                   finding->value, queue, holder, what, waiters, at);
}

// Of the wall time by ROW what its holder did, or waited for itself: that it had no CPU is not its
// doing.
static uint64_t held_ns(const struct wait_row *row)
{
	return row->wall_ns - row->wall_ready_ns;
}

static bool waits_are_known(const struct evidence *e, struct finding *finding)
{
	bool part = e->query.from_ns || e->query.to_ns;

	if (e->wall.all_ns && !(part && e->waits->whole_run))
		return true;
	finding_lacks(finding, e->wall.all_ns ? "it was not recorded when threads wait"
	                                      : "it was not recorded what threads wait for");
	return false;
}

// Of N threads that hold a lock in turns each, the one whose end the run waits for, too, holds it
// for one turn of N, in which that one waits for nobody: that is time of the same line.
static uint64_t with_own_turns(const struct evidence *e, const struct wait_row *row, uint64_t ns)
{
	const struct activities *a = e->activities;
	uint32_t threads = row->waiter.threads;
	uint64_t line_ns = 0;

	for (size_t i = 0; i < a->time_count; i++) {
		const struct activity_time *time = &a->times[i];
		if (time->place != ACTIVITY_NO_PLACE &&
		    evidence_is_place(e, time->place, row->holder.function, row->holder.file) &&
		    (int)a->places[time->place].line == row->holder.line)
			line_ns += evidence_sum(time->critical_ns, ~(1u << METRIC_OFF_RUNNABLE));
	}
	if (threads < 2 || row->holder.threads < 2 || !e->wall.ranks)
		return ns;
	uint64_t most = ns + ns / (threads - 1);
	return line_ns <= ns ? ns : line_ns < most ? line_ns : most;
}

static bool same_text(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static bool is_lock(const struct wait_row *row)
{
	return row->kind == HELD_MUTEX || row->kind == HELD_RWLOCK || row->kind == HELD_SPIN;
}

// By its name, or by where it is if it has none.
static bool same_lock(const struct wait_row *a, const struct wait_row *b)
{
	if (a->resource || b->resource)
		return a->kind == b->kind && same_text(a->resource, b->resource);
	return a->kind == b->kind && a->address && a->address == b->address;
}

// Of waits for ROW's lock whose holder's stack was not taken, the part that ROW's holder has of
// those whose was.
static uint64_t unseen_ns(const struct wait_rows *waits, const struct wait_row *row)
{
	uint64_t unseen = 0, seen = 0, own = 0;

	for (size_t i = 0; i < waits->count; i++) {
		const struct wait_row *other = &waits->rows[i];
		if (!is_lock(row) || !same_lock(row, other))
			continue;
		if (other->holder.function)
			seen += held_ns(other);
		else if (other->holder.threads)
			unseen += held_ns(other);
		own += same_holder(row, other) ? held_ns(other) : 0;
	}
	return (uint64_t)(share_of(own, seen) * (double)unseen);
}

// What ROW's holder waited itself, for threads and processes at what is no lock, as at a socket.
// It is no more than each who waited for the lock did on average.
static uint64_t nested_ns(const struct wait_rows *waits, const struct wait_row *row,
                          const struct wait_row **nested)
{
	uint64_t ns = 0, most = row->waiter.threads ? row->ns / row->waiter.threads : 0;

	for (size_t i = 0; i < waits->count && is_lock(row); i++) {
		const struct wait_row *other = &waits->rows[i];
		if (is_lock(other) || !same_text(other->waiter.function, row->holder.function) ||
		    !held_ns(other))
			continue;
		ns += held_ns(other);
		if (!*nested || held_ns(other) > held_ns(*nested))
			*nested = other;
	}
	return ns < most ? ns : most;
}

// Whether most of what was waited for by way of ROW, which is about no lock, was by way of a lock,
// too, that its waiter held.
static bool is_within_lock(const struct wait_rows *waits, const struct wait_row *row)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < waits->count && !is_lock(row); i++) {
		const struct wait_row *lock = &waits->rows[i], *nested = NULL;
		uint64_t by_lock = nested_ns(waits, lock, &nested);
		if (by_lock > ns && same_text(row->waiter.function, lock->holder.function))
			ns = by_lock;
	}
	return ns && 2 * ns > held_ns(row);
}

// By way of the lock that ROW is about.
static uint64_t all_held_ns(const struct wait_rows *waits, const struct wait_row *row)
{
	const struct wait_row *nested = NULL;
	uint64_t sum = unseen_ns(waits, row) + nested_ns(waits, row, &nested);

	for (size_t i = 0; i < waits->count; i++) {
		const struct wait_row *other = &waits->rows[i];
		if (is_held(other) && !only_takes(other) && same_holder(row, other))
			sum += held_ns(other);
	}
	return sum;
}

// What the holder waits in, at its line, says what to move out of the critical section.
static void advise_on_wait(const struct evidence *e, const struct wait_row *row,
                           struct finding *finding)
{
	const struct activities *a = e->activities;
	uint64_t blocked = 0, all = 0, most = 0;
	const char *callee = NULL;

	for (size_t i = 0; i < a->time_count && is_lock(row); i++) {
		const struct activity_time *time = &a->times[i];
		if (time->place == ACTIVITY_NO_PLACE ||
		    !evidence_is_place(e, time->place, row->holder.function, row->holder.file))
			continue;
		uint64_t ns = evidence_sum(time->ns, BLOCKED);
		all += ns + evidence_sum(time->ns, 1u << METRIC_ON_CPU);
		blocked += ns;
		if (ns <= most)
			continue;
		most = ns;
		callee = profile_string(e->profile, time->callee);
	}
	if (callee && 2 * blocked > all)
		finding_advise(
			finding,
			"The holder waits in %.60s, for %.2f s: move that wait out of the "
			"critical section (look up under the lock, release it, wait, take it "
			"again to store the result), or wait once for many items.",
			callee, (double)blocked / 1e9);
}

static enum measured measure_holder(const struct evidence *e, const struct rule *rule,
                                    struct finding *finding)
{
	const struct wait_rows *waits = e->waits;
	uint64_t run_ns = e->wall.ranks ? evidence_run_ns(e) : e->wall.all_ns, ns = 0;
	const struct wait_row *most = NULL;

	(void)rule;
	if (!waits_are_known(e, finding))
		return MEASURED_LACKS;
	for (size_t i = 0; i < waits->count; i++) {
		const struct wait_row *row = &waits->rows[i];
		if (!is_held(row) || only_takes(row) || !row->holder.function ||
		    is_within_lock(waits, row))
			continue;
		uint64_t sum = all_held_ns(waits, row);
		if (sum > ns) {
			ns = sum;
			most = row;
		}
	}
	if (!most)
		return MEASURED_NOTHING;
	finding->share = share_of(ns, run_ns);
	finding->share = finding->share > 1 ? 1 : finding->share;
	finding->value = 100 * finding->share;
	uint64_t priced = with_own_turns(e, most, ns < run_ns ? ns : run_ns);
	// What it made the run wait for CPUs goes with it.
	priced += evidence_place_queue_ns(e, most->holder.function, most->holder.file, priced);
	finding->saving_ns = priced < e->wall.all_ns ? priced : e->wall.all_ns;
	finding->saving_margin_ns =
		query_sampling_margin(e->profile, finding->saving_ns, e->wall.all_ns);
	finding_add(finding, &(struct finding_row){ .function = most->holder.function,
	                                            .file = most->holder.file,
	                                            .line = most->holder.line,
	                                            .ns = ns - unseen_ns(waits, most),
	                                            .share = finding->share });
	advise_on_wait(e, most, finding);
	return say_holder(most, e->wall.ranks ? evidence_queue(e) : "", finding);
}

// Whether ROW is a wait for SIDE's place that is ended by what that place makes: a queue's items,
// its arrival at a barrier.
static bool is_fed(const struct wait_row *row, const struct wait_side *side)
{
	// Python's threads are waited for at locks, as they begin and end: nobody is fed by that.
	if (row->within && strncmp(row->within, "Thread.", strlen("Thread.")) == 0)
		return false;
	bool turns = row->kind == HELD_CONDITION || row->kind == HELD_SEMAPHORE ||
	             row->kind == HELD_BARRIER;

	return turns && row->holder.function && strcmp(row->holder.function, side->function) == 0;
}

// For how long threads that nobody waits for only looked whether there was work.
static uint64_t spun_aside(const struct evidence *e)
{
	uint64_t all = 0, waited_for = 0;

	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		if (!(time->doing & ACTIVITY(SPIN)))
			continue;
		all += time->ns[METRIC_ON_CPU];
		waited_for += time->critical_ns[METRIC_ON_CPU];
	}
	return all > waited_for ? all - waited_for : 0;
}

// Whether one thread works alone for much of the time in a run in which several do at other times.
static bool find_alone(const struct evidence *e)
{
	const struct parallel *parallel = &e->parallel;
	uint64_t busy = parallel->all_ns - parallel->none_ns;
	uint64_t beside = busy - parallel->serial_ns, spun = spun_aside(e);
	return e->wall.ranks && run_cpus(e->run) >= 2 && beside > spun &&
	       (double)(beside - spun) >= PARALLEL_SHARE * (double)busy;
}

static void weigh_alone(const struct evidence *e, const struct parallel *parallel, uint64_t ns,
                        uint64_t queue_ns, struct finding *finding)
{
	const struct wait_side *place = &parallel->alone;

	evidence_weigh(e, ns, 0, queue_ns, finding);
	finding->saving_margin_ns = query_sampling_margin(e->profile, ns, parallel->one_ns);
	finding->value = 100 * finding->share;
	finding_add(finding, &(struct finding_row){ .function = place->function,
	                                            .file = place->file,
	                                            .line = place->line,
	                                            .ns = ns,
	                                            .share = finding->share });
}

// For how long threads waited for locks that SIDE's place held, Python's own among them: they had
// work to do.
static uint64_t locked_ns(const struct wait_rows *waits, const struct wait_side *side)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < waits->count; i++) {
		const struct wait_row *row = &waits->rows[i];
		bool lock = row->kind == HELD_MUTEX || row->kind == HELD_RWLOCK ||
		            row->kind == HELD_SPIN || row->kind == WAIT_KIND_GIL;
		if (lock && row->holder.function &&
		    strcmp(row->holder.function, side->function) == 0)
			ns += row->ns;
	}
	return ns;
}

// Threads that work in turns, or side by side, and wait for the slowest of them.
static enum measured measure_stage(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	const struct wait_rows *waits = e->waits;
	const struct wait_row *most = NULL;
	char place[300], waiters[100], what[160], at[200] = "";
	const struct parallel *parallel = &e->parallel;
	uint64_t ns = 0, fed_ns = 0;

	(void)rule;
	if (!waits_are_known(e, finding))
		return MEASURED_LACKS;
	if (!find_alone(e) || !parallel->alone.function)
		return MEASURED_NOTHING;
	for (size_t i = 0; i < waits->count; i++) {
		if (!is_fed(&waits->rows[i], &parallel->alone))
			continue;
		ns += held_ns(&waits->rows[i]);
		fed_ns += waits->rows[i].ns;
		most = most ? most : &waits->rows[i];
	}
	// On a busy machine equal stages are alone in turns, each for a part of its work.
	if (!most || (double)parallel->alone_other_ns > TURNS_SHARE * (double)parallel->alone_ns ||
	    (double)parallel->alone_ns < MOSTLY_ALONE * (double)parallel->alone_all_ns ||
	    locked_ns(waits, &parallel->alone) > fed_ns)
		return MEASURED_NOTHING;
	ns = ns < parallel->alone_ns ? ns : parallel->alone_ns;
	weigh_alone(e, parallel, ns,
	            evidence_place_queue_ns(e, parallel->alone.function, parallel->alone.file, ns),
	            finding);
	finding_place(finding->function, finding->file, finding->line, place, sizeof(place));
	say_waiters(&most->waiter, waiters, sizeof(waiters));
	if (most->waiter.file)
		snprintf(at, sizeof(at), " (%.120s:%d)", path_base(most->waiter.file),
		         most->waiter.line);
	if (most->kind == HELD_BARRIER)
		finding_advise(finding,
		               "Split the work so that all threads reach the barrier at the "
		               "same time.");
	say_resource(most, what, sizeof(what));
	return finding_say(finding,
	                   "%s works alone for %.0f %% of wall time%s, while %s for it at %s%s",
	                   place, finding->value, evidence_queue(e), waiters, what, at);
}

// Whether most of what SIDE's function does is to import modules, which nobody divides among
// threads: PY-IMPORT and WARM-INIT tell of that.
static bool is_import(const struct evidence *e, const struct wait_side *side)
{
	const struct activities *a = e->activities;
	const struct strings *texts = profile_strings(e->profile);
	uint64_t all = 0, imports = 0;

	for (size_t i = 0; i < a->time_count; i++) {
		const struct activity_time *time = &a->times[i];
		if (time->place == ACTIVITY_NO_PLACE)
			continue;
		const struct activity_place *place = &a->places[time->place];
		const char *function = strings_get(texts, place->function);
		const char *file = strings_get(texts, place->file);
		if (!function || strcmp(function, side->function) != 0 ||
		    strcmp(file ? file : "", side->file ? side->file : "") != 0)
			continue;
		all += time->critical_ns[METRIC_ON_CPU];
		imports += time->doing & ACTIVITY(IMPORT) ? time->critical_ns[METRIC_ON_CPU] : 0;
	}
	return 2 * imports > all;
}

// What FINDING weighs ran on one CPU, beside others that were idle. If it can be divided, or other
// work done meanwhile, as many as there are share it at best.
static void say_share(const struct evidence *e, char *text, size_t size, struct finding *finding)
{
	double cpus = run_cpus(e->run), part = 1 - 1 / cpus;

	finding->saving_ns = ns_whole(part * (double)finding->saving_ns);
	finding->bound = true;
	snprintf(text, size,
	         "; %.3g CPUs that share its work, or do other work meanwhile, save "
	         "at most %.0f %%",
	         cpus, part * finding->value);
}

// A process that the run has started, of which no function is most of what it does alone.
static enum measured say_process(const struct evidence *e, const struct parallel *parallel,
                                 struct finding *finding)
{
	char most[120] = "";

	if (!parallel->process)
		return MEASURED_NOTHING;
	evidence_weigh(e, parallel->process_ns, 0, 0, finding);
	finding->value = 100 * finding->share;
	if (known_work_of_program(parallel->process)) {
		finding_advise(finding, "%s", known_work_of_program(parallel->process)->advice);
	} else {
		say_share(e, most, sizeof(most), finding);
		finding_advise(finding, "Start it earlier, beside other work, or split its work.");
	}
	return finding_say(
		finding,
		"process %.100s (%u) works alone for %.0f %% of wall time%s, while no other "
		"process has work%s",
		parallel->process, parallel->process_pid, finding->value, evidence_queue(e), most);
}

// What is not divided among threads, as other parts of the run are.
static enum measured measure_alone(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	const struct wait_rows *waits = e->waits;
	const struct parallel *parallel = &e->parallel;
	char place[300], most[120] = "";

	(void)rule;
	if (!waits_are_known(e, finding))
		return MEASURED_LACKS;
	if (!find_alone(e))
		return MEASURED_NOTHING;
	if (2 * parallel->alone_ns < parallel->process_ns || !parallel->alone.function)
		return say_process(e, parallel, finding);
	// It is divided, if not evenly: see CPU-IMBALANCE.
	if (is_import(e, &parallel->alone) ||
	    (double)locked_ns(waits, &parallel->alone) >
	            LOCKED_SHARE * (double)parallel->alone_ns ||
	    (double)parallel->alone_all_ns > (1 + DIVIDED_SHARE) * (double)parallel->alone_ns)
		return MEASURED_NOTHING;
	weigh_alone(e, parallel, parallel->alone_ns, 0, finding);
	bool in_process = parallel->process && parallel->process_ns >= parallel->alone_ns;
	const struct known_work *work =
		known_work_of_program(in_process ? parallel->process : parallel->alone.function);
	if (work)
		finding_advise(finding, "%s", work->advice);
	else
		say_share(e, most, sizeof(most), finding);
	finding_place(finding->function, finding->file, finding->line, place, sizeof(place));
	return finding_say(
		finding,
		"%s works alone for %.0f %% of wall time%s, while no other thread has work%s",
		place, finding->value, evidence_queue(e), most);
}

const struct rule rules_cpu[] = {
	{ .id = "CPU-STAGE",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 25,
	  .within = { "CPU-ALONE", "CPU-LOCK", "CPU-IMBALANCE", "CPU-SERIAL", "CPU-POOR", "CPU-SYS",
	              "IO-WAIT", "IO-MESSAGES" },
	  .title = "one pipeline stage limits the others",
	  .formula =
	          "wall time in which one place of the program was alone on the CPUs, while others "
	          "waited for it at a condition variable, semaphore or barrier, as a share of wall "
	          "time; only in runs whose threads work side by side at other times",
	  .why = "A pipeline is only as fast as its slowest stage.",
	  .advice = "Speed this stage up or give it more threads: the other stages wait for its "
	            "output.",
	  .source = "our choice",
	  .measure = measure_stage },
	{ .id = "CPU-ALONE",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 30,
	  .within = { "CPU-SERIAL", "CPU-POOR" },
	  .title = "serial section",
	  .formula =
	          "wall time in which one place of the program was alone on the CPUs, as a share "
	          "of wall time; only in runs whose threads work side by side at other times; its "
	          "price is what an even share of that among the CPUs would save at most, or all of "
	          "that time where the advice is to do less",
	  .why = "A serial section takes the same time on any number of CPUs (Amdahl's law).",
	  .advice = "Split its work among threads, or run other work at the same time; less work "
	            "there saves its own time.",
	  .source = "our choice; the limit is Amdahl's",
	  .measure = measure_alone },
	{ .id = "CPU-HOLDER",
	  .blocks = true,
	  .subject = RULES_CPU,
	  .orders = true,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "CPU-LOCK", "IO-WAIT", "CPU-IMBALANCE", "CPU-SERIAL", "CPU-SYS", "CPU-ALONE",
	              "CPU-STAGE", "IO-MESSAGES", "IO-IDLE", "IO-SLEEP" },
	  .title = "a lock holder delays the run",
	  .formula =
	          "wall time in which the run waited, by way of whatever other waits, for the one "
	          "that held a mutex, read-write lock or lock of Python's, or is at the other end "
	          "of a pipe or socket, as a share of wall time; with what the holder of a lock waits "
	          "for itself, as at a socket, and with that lock's holders whose stack was not "
	          "taken; without the time in which that one had no CPU, and without waits at pipes "
	          "and sockets of threads that are on a CPU for less than 5 % of their lives",
	  .why = "The run is only as fast as the thread that holds what all others need.",
	  .advice = "Hold the lock for less time: move work that needs no lock out of the "
	            "critical section. Or give each thread its own data and combine the results "
	            "at the end.",
	  .source = "our choice",
	  .measure = measure_holder },
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
	  .measure = measure_loops,
	  .doing = ACTIVITY(LOOP),
	  .metrics = 1u << METRIC_ON_CPU | 1u << METRIC_OFF_LOCK },
	{ .id = "CPU-OVERSUB",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_RATIO,
	  .threshold = 1.5,
	  .within = { "CPU-SPIN", "CPU-SYS" },
	  .title = "more threads than CPUs",
	  .formula = "threads that run or could run, on average, by the CPUs that the program may "
	             "use; only where it uses some of them itself, and where threads wait for each "
	             "other, and not for an end alone; what it could save is no more than the time "
	             "that these CPUs were idle or threads spun on them",
	  .why = "Runnable threads take the CPUs from each other, so that threads wait for others "
	         "that are not running.",
	  .advice = "Start one thread per CPU: OMP_NUM_THREADS, OPENBLAS_NUM_THREADS, "
	            "MKL_NUM_THREADS, torch.set_num_threads().",
	  .source = "our choice",
	  .measure = measure_oversubscription },
	{ .id = "CPU-QUOTA",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 2,
	  .severe = 10,
	  .within = { "CPU-OVERSUB" },
	  .title = "throttled by a CPU quota",
	  .formula = "time by the clock for which a control group of the program's, or one around "
	             "it, had used up its quota (cpu.stat), while threads were ready to run, as a "
	             "share of wall time",
	  .why = "Once the quota is used up, nothing in the control group runs until the next "
	         "period, even a thread that holds a lock. More threads use the quota up sooner.",
	  .advice = "Raise the limit: cpu.max of the control group, --cpus of a container, "
	            "resources.limits.cpu of Kubernetes.",
	  .source = "our choice",
	  .measure = measure_quota },
	{ .id = "CPU-DEBUG",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .title = "code compiled without optimization",
	  .formula =
	          "CPU time in code that was compiled with -O0, as the debug information tells, as "
	          "a share of the critical thread's time, or of all CPU time where that is more",
	  .why = "Unoptimized code keeps variables in memory and inlines nothing: it takes 2 to "
	         "10 times as long, and its hot spots may be others.",
	  .advice = "Build with -O2 -g, and profile that.",
	  .source = "our choice",
	  .part = 0.9,
	  .part_from = "optimized code takes a tenth of the time where it gains most",
	  .measure = measure_doing,
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
