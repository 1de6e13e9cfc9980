// SPDX-License-Identifier: MIT
// Rules on more threads than CPUs: a quota, and threads that take each other's CPUs.
#include "base/clock.h"
#include "base/format.h"
#include "base/path.h"
#include "base/record.h"
#include "base/share.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query_wall.h"
#include "merge/rules/evidence.h"

#include <stdio.h>
#include <string.h>

#define OWN_SHARE  0.05 /* of the CPUs: less, and others are to blame for the queue */
#define PART_SHARE 0.1  /* of the busiest thread's CPU time: less is no worker */
#define MEET_SHARE 0.05 /* of the time that threads run or could, in waiting for each other */
// On a CPU, until another thread has done something.
#define WAITS_BUSILY (ACTIVITY(SPIN) | ACTIVITY(BARRIER) | ACTIVITY_OF_LOOP(WAIT))

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

// Of the time that threads waited for a CPU, others may have had a part of it.
static enum measured measure_binding(const struct evidence *e, const struct rule *rule,
                                     struct finding *finding)
{
	const struct run *run = e->run;
	uint32_t threads = run->bound_threads < run->cpus ? run->bound_threads : run->cpus;
	uint64_t own = e->contention.critical.own_ns;

	(void)rule;
	if (!run->bound_ns || run->bound_cpus >= threads)
		return MEASURED_NOTHING;
	finding->value = percent_of(run->bound_ns, run->wall_ns);
	finding->share = share_of(run->bound_ns, run->wall_ns);
	double spare = (double)(threads - run->bound_cpus) / threads;
	finding->saving_ns = ns_whole(finding->share * spare * (double)e->wall_ns);
	finding->saving_ns = own < finding->saving_ns ? own : finding->saving_ns;
	begin_at_place(finding, e);
	return finding_say(finding,
	                   "%u threads are ready to run at a time, bound to %u of %u CPUs, for "
	                   "%.0f %% of wall time",
	                   run->bound_threads, run->bound_cpus, run->cpus, finding->value);
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
	                   "throttled for %.0f %% of wall time by a quota of %s, which %s threads "
	                   "share (control group %.200s)",
	                   finding->value, cpus, format_count(threads).text,
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
			"%s processes",
			finding->value * cpus, cpus, cpus == 1 ? "" : "s",
			format_count(profile_threads(e->profile)->process_count).text);
	}
	return finding_say(finding,
	                   "%.1f threads%s%s are ready to run at a time, on %u CPU%s; there are %s "
	                   "threads",
	                   finding->value * cpus, pool ? " of " : "", pool ? pool->name : "", cpus,
	                   cpus == 1 ? "" : "s", format_count(e->totals.threads).text);
}

const struct rule rules_crowd[] = {
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
	{ .id = "CPU-BOUND",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "CPU-OVERSUB", "CPU-SERIAL", "CPU-SPIN", "CPU-SYS" },
	  .title = "threads bound to few CPUs",
	  .formula = "time in which more threads of the program's first process were ready to run "
	             "than CPUs that any of them may use by its affinity, fewer than the program "
	             "may, as a share of wall time; looked at every 100 ms",
	  .why = "A thread inherits the CPUs of who starts it: bound threads take turns while other "
	         "CPUs are idle.",
	  .advice = "Start the threads before one is bound to a CPU, or give them all CPUs again: "
	            "sched_setaffinity(2), pthread_setaffinity_np(3), taskset(1), numactl(8); for "
	            "OpenMP OMP_PLACES=cores and OMP_PROC_BIND=spread.",
	  .source = "our choice",
	  .measure = measure_binding },
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
};

const size_t rules_crowd_count = sizeof(rules_crowd) / sizeof(rules_crowd[0]);
