// SPDX-License-Identifier: MIT
#include "merge/rules/evidence.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/format.h"
#include "base/function_name.h"
#include "base/origin.h"
#include "base/path.h"
#include "base/share.h"
#include "base/strings.h"
#include "merge/gpu/gpu.h"
#include "merge/profile/profile_parts.h"
#include "merge/rules/queue.h"
#include "merge/scope/scope.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CROWDED_SHARE 0.1  // of wall time, waiting for CPUs that the program's own threads have
#define QUEUE_SHARE   0.05 // of wall time, waiting for a CPU: less is no matter
#define LONG_NAME     60   // beyond it types go
#define MOST_SHARE    0.5  // of all imports, by one
#define CHAIN_SHARE   0.9  // of an import, by one within it that is the reason for it

static int look_at_stacks(struct evidence *e, struct error *err)
{
	cleanup(scope) struct scope scope = { 0 }, wall = { 0 };
	struct query cpu = e->query, threads = e->query, of_wall = e->query;

	cpu.by = BY_FUNCTION;
	cpu.on_cpu = true;
	threads.by = BY_THREAD;
	of_wall.of = QUERY_WALL;
	if (scope_init(&scope, e->profile, &e->query, err) < 0 ||
	    query_wall_account(e->profile, &e->query, &e->wall, err) < 0 ||
	    (e->wall.ranks && scope_init(&wall, e->profile, &of_wall, err) < 0))
		return -1;
	const struct scope *of = e->wall.ranks ? &wall : NULL;
	cleanup(queue) struct queue *queue =
		queue_new(&scope, of, e->account.slot, &e->query, &e->contention, err);
	if (!queue)
		return -1;
	e->activities = activities_new(&scope, of, e->account.slot, queue, e->ops, err);
	e->functions = e->activities ? query_run(e->profile, &cpu, err) : NULL;
	e->threads = e->functions ? query_run(e->profile, &threads, err) : NULL;
	if (e->activities) // as far as the rules see that thread
		contention_share(e->activities->critical_ns[METRIC_OFF_RUNNABLE], &e->contention);
	return e->threads ? 0 : -1;
}

static int look_at_gpu(struct evidence *e, struct error *err)
{
	const struct query query = { .from_ns = e->query.from_ns, .to_ns = e->query.to_ns };

	if (!profile_gpu(e->profile)->device_count)
		return 0;
	e->gpu = query_gpu_facts(e->profile, &query, err);
	e->gpu_rows = e->gpu ? query_gpu(e->profile, &query, err) : NULL;
	e->gpu_wait = e->gpu_rows ? query_gpu_wait(e->profile, &query, err) : NULL;
	return e->gpu_wait ? 0 : -1;
}

static int look_at_rest(struct evidence *e, struct error *err)
{
	const struct query whole = { .by = BY_FUNCTION };

	e->warmup = query_warmup(e->profile, &whole, err);
	e->imports = e->warmup ? query_imports(e->profile, &e->query, err) : NULL;
	e->modules = e->imports ? query_modules(e->profile, err) : NULL;
	const struct steps_query steps = { .from_ns = e->query.from_ns, .to_ns = e->query.to_ns };
	e->steps = e->modules ? query_steps(e->profile, &steps, err) : NULL;
	return e->steps ? 0 : -1;
}

// The critical thread is that of the whole run, with its times in the window.
static int look_at_thread(struct evidence *e, struct error *err)
{
	struct account part;

	if (query_account(e->profile, &e->account, err) < 0)
		return -1;
	if (!e->query.from_ns && !e->query.to_ns)
		return 0;
	if (query_account_in(e->profile, e->query.from_ns, e->query.to_ns, &part, err) < 0)
		return -1;
	if (part.slot == e->account.slot) {
		memcpy(e->account.ns, part.ns, sizeof(part.ns));
		e->account.kernel_ns = part.kernel_ns;
		e->account.lifetime_ns = part.lifetime_ns;
	}
	return 0;
}

int evidence_init(struct evidence *e, const struct profile *p, const struct query *query,
                  struct error *err)
{
	uint64_t end = profile_run_ns(p);

	*e = (struct evidence){ .profile = p, .run = profile_run(p), .query = *query };
	if (query->to_ns && query->to_ns < end)
		end = query->to_ns;
	e->wall_ns = end > query->from_ns ? end - query->from_ns : 0;
	query_totals(p, &e->totals);
	query_parallel(p, query->from_ns, query->to_ns, &e->parallel);
	const struct op_query ops = { .from_ns = query->from_ns, .to_ns = query->to_ns };
	struct op_query shapes = ops;
	shapes.by = OPS_BY_SHAPE;
	e->ops = query_ops(p, &ops, err);
	e->shapes = e->ops ? query_ops(p, &shapes, err) : NULL;
	if (e->shapes && look_at_thread(e, err) == 0 &&
	    query_contention(p, query->from_ns, query->to_ns, &e->contention, err) == 0 &&
	    (e->waits = query_waits(p, query->from_ns, query->to_ns, err)) &&
	    look_at_stacks(e, err) == 0 && look_at_rest(e, err) == 0 && look_at_gpu(e, err) == 0)
		return 0;
	evidence_fini(e);
	return -1;
}

void evidence_fini(struct evidence *e)
{
	wait_rows_free(e->waits);
	activities_free(e->activities);
	rows_free(e->functions);
	rows_free(e->threads);
	op_rows_free(e->ops);
	op_rows_free(e->shapes);
	warmup_rows_free(e->warmup);
	import_rows_free(e->imports);
	module_rows_free(e->modules);
	steps_free(e->steps);
	gpu_facts_free(e->gpu);
	gpu_rows_free(e->gpu_rows);
	gpu_wait_free(e->gpu_wait);
	*e = (struct evidence){ 0 };
}

uint64_t evidence_sum(const uint64_t ns[METRIC_COUNT], uint32_t metrics)
{
	uint64_t sum = 0;

	for (int m = 0; m < METRIC_COUNT; m++)
		sum += metrics >> m & 1 ? ns[m] : 0;
	return sum;
}

uint64_t evidence_doing(const struct evidence *e, activity_set doing, uint32_t metrics)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < e->activities->time_count; i++)
		if (e->activities->times[i].doing & doing)
			sum += evidence_sum(e->activities->times[i].critical_ns, metrics);
	return sum;
}

uint64_t evidence_run_ns(const struct evidence *e)
{
	uint64_t waited = e->activities->critical_ns[METRIC_OFF_RUNNABLE];

	if ((double)waited <= QUEUE_SHARE * (double)e->wall_ns)
		return e->wall_ns;
	return e->wall_ns > waited ? e->wall_ns - waited : 0;
}

uint64_t evidence_queue_ns(const struct evidence *e, activity_set doing)
{
	double sum = 0;

	for (size_t i = 0; i < e->activities->time_count; i++)
		if (e->activities->times[i].doing & doing)
			sum += e->activities->times[i].queue_ns;
	return ns_whole(sum);
}

bool evidence_is_place(const struct evidence *e, uint32_t place, const char *function,
                       const char *file)
{
	const struct activity_place *p = &e->activities->places[place];
	const char *name = profile_string(e->profile, p->function);
	const char *in = profile_string(e->profile, p->file);

	return name && strcmp(name, function) == 0 && strcmp(in ? in : "", file ? file : "") == 0;
}

uint64_t evidence_place_queue_ns(const struct evidence *e, const char *function, const char *file,
                                 uint64_t ns)
{
	const struct activities *a = e->activities;
	uint64_t critical = 0;
	double sum = 0;

	for (size_t i = 0; function && i < a->time_count; i++) {
		const struct activity_time *time = &a->times[i];
		if (time->place == ACTIVITY_NO_PLACE ||
		    !evidence_is_place(e, time->place, function, file))
			continue;
		critical += evidence_sum(time->critical_ns, ~(1u << METRIC_OFF_RUNNABLE));
		sum += time->queue_ns;
	}
	return ns_whole(critical > ns ? sum * share_of(ns, critical) : sum);
}

// Samples say which part of CPU time a place had, and of what was waited for CPUs.
static void weigh_margin(const struct evidence *e, uint64_t critical_ns, uint64_t cpu_ns,
                         uint64_t queue_ns, struct finding *finding)
{
	const struct activities *a = e->activities;
	uint64_t cpu_margin = query_sampling_margin(e->profile, cpu_ns, a->ns[METRIC_ON_CPU]);
	uint64_t margin =
		query_sampling_margin(e->profile, critical_ns, a->critical_ns[METRIC_ON_CPU]);

	if (finding->of_cpu && !e->wall.ranks)
		margin = cpu_margin;
	double of_queue = (double)queue_ns * share_of(cpu_margin, cpu_ns);
	// Not hypot(): the C library has had another one since 2.35, which the package must not
	// need.
	double both = sqrt((double)margin * (double)margin + of_queue * of_queue);
	finding->saving_margin_ns = cpu_ns || !e->run->off_cpu_exact ? ns_whole(both) : 0;
}

void evidence_weigh(const struct evidence *e, uint64_t critical_ns, uint64_t cpu_ns,
                    uint64_t queue_ns, struct finding *finding)
{
	uint64_t all = e->activities->ns[METRIC_ON_CPU], run = evidence_run_ns(e);
	double critical = share_of(critical_ns, run), cpu = share_of(cpu_ns, all > run ? all : run);

	// While threads take the CPUs from each other, what any of them does is in the way. Of
	// merged profiles it is one rank's wall time, whatever others do meanwhile.
	struct wall_rank rank;
	bool alone = e->wall.ranks &&
	             (query_wall_rank(e->profile, &rank) ||
	              share_of(e->contention.critical.own_ns, e->wall_ns) < CROWDED_SHARE);
	finding->of_cpu = !alone && cpu > critical;
	finding->of_run = finding->of_cpu && all <= run;
	finding->without_queue = (!finding->of_cpu || finding->of_run) && run < e->wall_ns;
	finding->share = finding->of_cpu ? cpu : critical;
	if (finding->share > 1)
		finding->share = 1;
	// What was waited for is known: the run would have waited less for CPUs, too. Else the CPU
	// time of all threads is more than the wall time that it took; but no more can go than was
	// measured, however long the run waited for CPUs meanwhile.
	if (e->totals.threads < 2) // who runs alone keeps no other one from a CPU
		queue_ns = 0;
	uint64_t measured = critical_ns + queue_ns, most = e->wall_ns;
	if (e->wall.all_ns && e->wall.all_ns < most) // the tables have no more
		most = e->wall.all_ns;
	if (finding->of_cpu && !e->wall.ranks) {
		uint64_t part = (uint64_t)(finding->share * (double)e->wall_ns);
		uint64_t other = cpu_ns < part ? cpu_ns : part;
		measured = other > measured ? other : measured;
	}
	finding->saving_ns = measured < most ? measured : most;
	weigh_margin(e, critical_ns, cpu_ns, queue_ns, finding);
}

const char *evidence_whole(const struct evidence *e, const struct finding *finding, char *buffer,
                           size_t size)
{
	char time[80];

	if (finding->of_run && e->totals.processes < 2)
		snprintf(buffer, size, "wall time%s, all threads together", evidence_queue(e));
	else if (finding->of_run)
		snprintf(buffer, size, "wall time%s, %s processes together", evidence_queue(e),
		         format_count(e->totals.processes).text);
	if (finding->of_run)
		return buffer;
	if (finding->of_cpu && e->totals.processes < 2)
		return "the CPU time";
	if (finding->of_cpu)
		snprintf(buffer, size, "the CPU time of %s processes",
		         format_count(e->totals.processes).text);
	else
		snprintf(buffer, size, "%s%s", evidence_time(e, time, sizeof(time)),
		         evidence_queue(e));
	return buffer;
}

const char *evidence_time(const struct evidence *e, char *buffer, size_t size)
{
	char thread[64];
	struct wall_rank rank;

	if (e->wall.ranks && !query_wall_rank(e->profile, &rank))
		return "wall time";
	if (e->wall.ranks) {
		snprintf(buffer, size, "wall time of %s %u", rank.numbered ? "rank" : "profile",
		         rank.number);
		return buffer;
	}
	if (e->account.is_main)
		return "the main thread's time";
	snprintf(buffer, size, "the time of %s", evidence_thread(e, thread, sizeof(thread)));
	return buffer;
}

const char *evidence_thread(const struct evidence *e, char *buffer, size_t size)
{
	if (e->account.is_main)
		return "the main thread";
	snprintf(buffer, size, "thread %s (%u)", e->account.thread, e->account.tid);
	return buffer;
}

// What the module of ROW imports itself, if that is nearly all that its import takes.
static const struct import_row *import_within(const struct import_rows *imports,
                                              const struct import_row *row)
{
	for (size_t i = 0; i < imports->count; i++) {
		const struct import_row *inner = &imports->rows[i];
		if (inner != row && inner->importer && strcmp(inner->importer, row->file) == 0 &&
		    share_of(inner->total, row->total) >= CHAIN_SHARE)
			return inner;
	}
	return NULL;
}

// Of a chain of the user's own modules the last one's import is what takes the time.
static const struct import_row *heaviest_import(const struct import_rows *imports)
{
	const struct import_row *row = imports->count ? &imports->rows[0] : NULL;

	for (size_t i = 0; i < imports->count && !origin_is_foreign(NULL, row->file); i++) {
		const struct import_row *inner = import_within(imports, row);
		if (!inner)
			break;
		row = inner;
	}
	return row;
}

bool evidence_import(const struct evidence *e, char *buffer, size_t size)
{
	const struct import_row *row = heaviest_import(e->imports);

	if (!row || share_of(row->total, e->imports->all) < MOST_SHARE)
		return false;
	if (row->importer)
		snprintf(buffer, size, "%s (%.120s:%d)", row->name, path_base(row->importer),
		         row->importer_line);
	else
		snprintf(buffer, size, "%s", row->name);
	return true;
}

bool evidence_is_jit(const char *function)
{
	return strncmp(function, "[jit", 4) == 0;
}

void finding_place(const char *function, const char *file, int line, char *buffer, size_t size)
{
	const char *base = path_base(file);
	cleanup_free char *bare =
		strlen(function) > LONG_NAME ? function_name_bare(function) : NULL;
	const char *name = evidence_is_jit(function)
	                           ? "code without symbols that a JIT compiler made"
	                   : bare ? bare
	                          : function;

	if (base && line > 0)
		snprintf(buffer, size, "%.120s (%.120s:%d)", name, base, line);
	else if (base)
		snprintf(buffer, size, "%.120s (%.120s)", name, base);
	else
		snprintf(buffer, size, "%.120s", name);
}

enum measured finding_say(struct finding *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(finding->fact, sizeof(finding->fact), format, args);
	va_end(args);
	return MEASURED;
}

void finding_advise(struct finding *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(finding->advice, sizeof(finding->advice), format, args);
	va_end(args);
}

enum measured finding_lacks(struct finding *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(finding->fact, sizeof(finding->fact), format, args);
	va_end(args);
	return MEASURED_LACKS;
}

static bool is_same_place(const struct finding_row *a, const struct finding_row *b)
{
	return a->line == b->line && strings_same(a->function, b->function) &&
	       strings_same(a->file, b->file) && strings_same(a->callee, b->callee);
}

void finding_add(struct finding *finding, const struct finding_row *row)
{
	for (size_t i = 0; i < finding->row_count; i++)
		if (is_same_place(&finding->rows[i], row)) {
			finding->rows[i] = *row;
			return;
		}
	if (finding->row_count == FINDING_ROWS)
		return;
	finding->rows[finding->row_count++] = *row;
	if (finding->row_count > 1)
		return;
	finding->function = row->function;
	finding->file = row->file;
	finding->line = row->line;
}
