// SPDX-License-Identifier: MIT
// Rules on ops.
#include "base/clock.h"
#include "base/error.h"
#include "base/op.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query.h"
#include "merge/rules/evidence.h"
#include "merge/scope/scope.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The workers of PyTorch's DataLoader: how many there were, and what they did.
//
// A worker is a process that runs torch.utils.data._utils.worker._worker_loop(), whether it was
// forked or spawned. It is known by its samples: one that ended without any is not.

struct error;

struct loaders {
	uint32_t started; /* in all of the run */
	uint32_t at_once; /* at most */
	/* In the window, of all of them together: */
	uint64_t life_ns;     /* in _worker_loop() */
	uint64_t idle_ns;     /* of that: waiting to be told what to load */
	uint64_t runnable_ns; /* of that: waiting for a free CPU */
	uint64_t cpu_ns;      /* of that: on one, with something to load */
};

enum part {
	ELSEWHERE,
	LOOP,
	GET // of the queue that it is told by
};

struct looking {
	const struct profile *profile;
	struct scope scope;
	uint8_t *parts;   // [node - 1]: enum part, of the node and so of what is below it
	uint32_t *roots;  // [node - 1]: slot of the thread
	uint64_t *starts; // of the workers' threads
	uint64_t *ends;
	uint32_t count;
	bool *known; // [slot - 1]
};

static void looking_fini(struct looking *l)
{
	scope_fini(&l->scope);
	free(l->parts);
	free(l->roots);
	free(l->starts);
	free(l->ends);
	free(l->known);
}

static inline void looking_at_scope_end(struct looking *l)
{
	looking_fini(l);
}

static bool looking_init(struct looking *l)
{
	size_t nodes = profile_paths(l->profile)->count,
	       threads = profile_threads(l->profile)->thread_count;

	l->parts = calloc(nodes + 1, sizeof(*l->parts));
	l->roots = calloc(nodes + 1, sizeof(*l->roots));
	l->starts = calloc(threads + 1, sizeof(*l->starts));
	l->ends = calloc(threads + 1, sizeof(*l->ends));
	l->known = calloc(threads + 1, sizeof(*l->known));
	return l->parts && l->roots && l->starts && l->ends && l->known;
}

static enum part part_of(const struct looking *l, const struct path_node *node)
{
	const struct location *at = profile_location(l->profile, node->location);
	enum part around = l->parts[node->parent - 1];

	if (around == ELSEWHERE &&
	    profile_is_python(l->profile, at, "_worker_loop", "torch/utils/data/_utils/worker.py"))
		return LOOP;
	if (around == LOOP && profile_is_python(l->profile, at, "get", "multiprocessing/queues.py"))
		return GET;
	return around;
}

static void add_worker(struct looking *l, uint32_t slot, struct loaders *loaders)
{
	const struct thread_info *thread = profile_thread(l->profile, slot);

	if (l->known[slot - 1])
		return;
	l->known[slot - 1] = true;
	loaders->started += thread->merged ? thread->merged : 1;
	l->starts[l->count] = thread->start_ns;
	l->ends[l->count++] = thread->end_ns ? thread->end_ns : UINT64_MAX;
}

static void add_time(const struct looking *l, uint32_t node, struct loaders *loaders)
{
	for (uint32_t i = l->scope.first_cell[node - 1]; i < l->scope.first_cell[node]; i++) {
		const struct cell *cell = &l->scope.table->cells[l->scope.cells[i]];
		uint64_t ns = scope_ns(&l->scope, cell);
		loaders->life_ns += ns;
		if (l->parts[node - 1] == GET)
			loaders->idle_ns += ns;
		else if (cell->metric == METRIC_OFF_RUNNABLE)
			loaders->runnable_ns += ns;
		else if (cell->metric == METRIC_ON_CPU)
			loaders->cpu_ns += ns;
	}
}

// The most that live at one moment, which is one at which another has just begun.
static uint32_t most_at_once(const struct looking *l)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		uint32_t now = 0;
		for (uint32_t k = 0; k < l->count; k++)
			now += l->starts[k] <= l->starts[i] && l->starts[i] < l->ends[k];
		most = now > most ? now : most;
	}
	return most;
}

static void look(struct looking *l, struct loaders *loaders)
{
	const struct paths *paths = profile_paths(l->profile);

	for (uint32_t id = 1; id <= paths->count; id++) {
		const struct path_node *node = paths_node(paths, id);
		l->roots[id - 1] = node->parent ? l->roots[node->parent - 1] : node->location;
		if (!node->parent)
			continue;
		l->parts[id - 1] = part_of(l, node);
		if (l->parts[id - 1] == ELSEWHERE)
			continue;
		add_worker(l, l->roots[id - 1], loaders);
		add_time(l, id, loaders);
	}
	loaders->at_once = most_at_once(l);
}

// Of the window of QUERY. -1 if there is no memory.
static int loaders_look(const struct profile *p, const struct query *query, struct loaders *loaders,
                        struct error *err)
{
	const struct query window = { .from_ns = query->from_ns, .to_ns = query->to_ns };
	cleanup(looking) struct looking l = { .profile = p };

	*loaders = (struct loaders){ 0 };
	if (scope_init(&l.scope, p, &window, err) < 0)
		return -1;
	if (!looking_init(&l))
		return error_set(err, ENOMEM, "could not look for workers");
	look(&l, loaders);
	return 0;
}

#define ON_CPU       (1u << METRIC_ON_CPU)
#define LOADER_NAME  "enumerate(DataLoader)"
#define LOADER_BUSY  0.7              /* of their time, from which workers have enough to do */
#define SHORT_EPOCH  (2 * NS_PER_SEC) /* starting workers takes tenths of a second */
#define CPU_SHORT    0.25             /* of what they have to do, waiting for a free CPU */
#define ALL_CPUS     0.8              /* of the CPUs: busy workers leave nothing to speak of */
#define MOST_SHARE   0.5              /* of the work for batches, at one line */
#define PLACED_SHARE 0.2
#define FEW_JOINS    30
#define HOT_SHARE    0.05 /* of the time in ops, of one whose shapes are counted */

// Collections of garbage are ops, too, but Python's own.
static bool has_ops(const struct evidence *e, struct finding *finding)
{
	for (size_t i = 0; i < e->ops->count; i++)
		if (strcmp(e->ops->rows[i].provider, op_provider_name(OP_PYTHON)) != 0)
			return true;
	finding_lacks(finding, "the program has no ops");
	return false;
}

static const struct op_row *first_of(const struct op_rows *ops, const char *prefix)
{
	for (size_t i = 0; i < ops->count; i++)
		if (strncmp(ops->rows[i].name, prefix, strlen(prefix)) == 0)
			return &ops->rows[i];
	return NULL;
}

#define LESS_WORK "decode once and keep the result; do less for each sample."

static void advise_to_have_workers(uint32_t cpus, struct finding *finding)
{
	if (cpus > 1)
		finding_advise(finding,
		               "The training process prepares its own batches: "
		               "DataLoader(num_workers=%u) prepares them in parallel; " LESS_WORK,
		               cpus - 1);
	else if (cpus)
		finding_advise(
			finding,
			"With one CPU, workers (num_workers) help only where samples wait for "
			"files: " LESS_WORK);
}

// Of a worker that has something to load: what of its time takes a CPU.
static double cpu_part(const struct loaders *l)
{
	return share_of(l->cpu_ns + l->runnable_ns, l->life_ns - l->idle_ns);
}

// Workers that wait, as for a disk, leave the CPUs to others.
static bool lacks_cpus(const struct loaders *l, uint32_t cpus)
{
	return (cpus && l->at_once * cpu_part(l) > ALL_CPUS * cpus) ||
	       (double)l->runnable_ns > CPU_SHORT * (double)(l->life_ns - l->idle_ns);
}

// As many as the CPUs are enough for, but no more than twice as many where they wait.
static uint32_t more_workers(const struct loaders *l, uint32_t cpus)
{
	uint32_t twice = 2 * l->at_once, most = twice > cpus ? twice : cpus;
	double fit = cpu_part(l) > 0 ? cpus / cpu_part(l) : most;

	return fit >= most ? most : fit > l->at_once + 1 ? (uint32_t)fit : l->at_once + 1;
}

// "1 worker is busy for 90 % of its time"
static const char *say_workers(const struct loaders *l, char *buffer, size_t size)
{
	bool one = l->at_once == 1;
	double busy = 100 * (double)(l->life_ns - l->idle_ns) / (double)l->life_ns;

	snprintf(buffer, size, "%u worker%s busy for %.0f %% of %s time", l->at_once,
	         one ? " is" : "s are", busy, one ? "its" : "their");
	return buffer;
}

// Workers that are started anew for each of short epochs: of so little time their start is much,
// however busy they are in the rest, and whatever CPUs there are.
static bool start_anew(const struct loaders *l, const struct run *run)
{
	return l->started > l->at_once && run->wall_ns / (l->started / l->at_once) < SHORT_EPOCH;
}

static void advise_workers(const struct loaders *l, const struct run *run, struct finding *finding)
{
	char text[80];
	const char *workers = say_workers(l, text, sizeof(text));
	uint32_t cpus = run_whole_cpus(run);
	bool busy = (double)(l->life_ns - l->idle_ns) >= LOADER_BUSY * (double)l->life_ns;
	bool anew = start_anew(l, run);

	if (lacks_cpus(l, cpus) && !anew)
		finding_advise(finding,
		               "%s, and there are %u CPU%s: more of them will not help; " LESS_WORK,
		               workers, cpus, cpus == 1 ? "" : "s");
	else if (busy && !anew)
		finding_advise(finding, "%s: use more (num_workers=%u); " LESS_WORK, workers,
		               more_workers(l, cpus));
	else if (l->started > l->at_once)
		finding_advise(finding,
		               "%s, and %u were started, one after another: "
		               "persistent_workers=True keeps them from epoch to epoch.",
		               workers, l->started);
	else
		finding_advise(finding,
		               "%s: more will not help. A larger prefetch_factor evens out slow "
		               "samples; fewer and smaller tensors transfer faster.",
		               workers);
}

// What fits the workers that there were.
static void advise_loader(const struct evidence *e, bool has_workers, struct finding *finding)
{
	struct error err = { 0 };
	struct loaders l;

	if (loaders_look(e->profile, &e->query, &l, &err) < 0)
		return;
	if (l.life_ns)
		advise_workers(&l, e->run, finding);
	else if (!has_workers)
		advise_to_have_workers(run_whole_cpus(e->run), finding);
}

// What others had of the CPUs meanwhile is not the loader's.
static uint64_t time_of_loader(const struct evidence *e, const struct op_row *row)
{
	uint64_t waited =
		evidence_doing(e, ACTIVITY(LOADER) | ACTIVITY(WORKER), 1u << METRIC_OFF_RUNNABLE);

	return row->total_ns > waited ? row->total_ns - waited : 0;
}

// What the training thread waits for its next batch, be it for workers or for its own work. Where
// one line does most of that work, it is the one to change, and the loop is where it is waited for.
static enum measured measure_loader(const struct evidence *e, const struct rule *rule,
                                    struct finding *finding)
{
	const struct op_row *op = first_of(e->ops, LOADER_NAME);
	const activity_set loading = ACTIVITY(LOADER) | ACTIVITY(WORKER);
	char loop[300], line[300];

	(void)rule;
	if (!has_ops(e, finding))
		return MEASURED_LACKS;
	if (!op)
		return MEASURED_NOTHING;
	evidence_weigh(e, time_of_loader(e, op), 0, evidence_queue_ns(e, loading), finding);
	finding->value = 100 * finding->share;
	struct finding_row called = {
		.function = op->function ? op->function : op->name,
		.file = op->file,
		.line = op->line,
		.callee = op->name,
		.ns = op->total_ns,
		.share = finding->share,
		.calls = op->calls,
	};
	struct finding inner = { 0 };
	double part = evidence_add_inner_place(e, loading, &inner);
	if (part >= MOST_SHARE)
		finding_add(finding, &inner.rows[0]);
	finding_add(finding, &called);
	if (part > 0 && part < MOST_SHARE)
		finding_add(finding, &inner.rows[0]);
	advise_loader(e, !strstr(op->name, "_SingleProcess"), finding);
	finding_place(called.function, called.file, called.line, loop, sizeof(loop));
	if (part < PLACED_SHARE)
		return finding_say(finding,
		                   "waiting for the data loader: %.0f %% of the time%s, in %s",
		                   finding->value, evidence_queue(e), loop);
	finding_place(inner.function, inner.file, inner.line, line, sizeof(line));
	return finding_say(finding,
	                   "waiting for the data loader: %.0f %% of the time%s, %s of it for %s, "
	                   "in %s",
	                   finding->value, evidence_queue(e), part >= MOST_SHARE ? "most" : "much",
	                   line, loop);
}

static uint64_t calls_of_tiny(const struct op_rows *ops)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < ops->count; i++)
		if (op_is_tiny(&ops->rows[i]))
			calls += ops->rows[i].calls;
	return calls;
}

// Of tiny ops what is around each call counts as well: all of the lines that call them, but for
// what these do for a reason of its own, as to look at stacks.
static enum measured measure_tiny(const struct evidence *e, const struct rule *rule,
                                  struct finding *finding)
{
	const struct rule whole = { .title = rule->title,
		                    .metrics = ON_CPU,
		                    .not_doing = ACTIVITY(INSPECT) | ACTIVITY(SERIALIZE) |
		                                 ACTIVITY(LOGGING) | ACTIVITY(DEEPCOPY),
		                    .whole_places = rule->doing };
	uint64_t calls = calls_of_tiny(e->ops);

	if (!has_ops(e, finding))
		return MEASURED_LACKS;
	if (!calls)
		return MEASURED_NOTHING;
	enum measured measured = measure_doing(e, &whole, finding);
	if (finding->row_count)
		finding->rows[0].calls = calls;
	return measured;
}

static enum measured measure_of_ops(const struct evidence *e, const struct rule *rule,
                                    struct finding *finding)
{
	return has_ops(e, finding) ? measure_doing(e, rule, finding) : MEASURED_LACKS;
}

// Once at the end of a loop is how it should be.
static enum measured measure_joins(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	uint64_t calls = 0;

	if (!has_ops(e, finding))
		return MEASURED_LACKS;
	for (size_t i = 0; i < e->ops->count; i++)
		if (strcmp(e->ops->rows[i].name, "aten::cat") == 0)
			calls += e->ops->rows[i].calls;
	if (calls < FEW_JOINS)
		return MEASURED_NOTHING;
	enum measured measured = measure_doing(e, rule, finding);
	if (finding->row_count)
		finding->rows[0].calls = calls;
	return measured;
}

static uint64_t self_of_all(const struct op_rows *ops)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ops->count; i++)
		sum += ops->rows[i].self_ns;
	return sum;
}

static void begin_at(const struct op_row *row, struct finding *finding)
{
	finding_add(finding, &(struct finding_row){
				     .function = row->function ? row->function : row->name,
				     .file = row->file,
				     .line = row->line,
				     .callee = row->name,
				     .ns = row->self_ns,
				     .calls = row->calls,
			     });
}

// Each of these hands a value to the CPU, and so waits for all that the GPU has to do.
static bool waits_for_value(const struct op_row *row)
{
	static const char *const names[] = { "aten::item", "aten::_local_scalar_dense",
		                             "aten::nonzero", "aten::is_nonzero" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(row->name, names[i]) == 0)
			return true;
	return false;
}

static bool uses_gpu(const struct evidence *e)
{
	for (size_t i = 0; i < e->ops->count; i++)
		if (strcmp(e->ops->rows[i].provider, op_provider_name(OP_CUDA)) == 0)
			return true;
	return false;
}

static enum measured measure_syncs(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	const struct op_row *most = NULL;
	uint64_t ns = 0;
	char place[300];

	(void)rule;
	if (!uses_gpu(e))
		return finding_lacks(finding, "no calls of CUDA were seen");
	for (size_t i = 0; i < e->ops->count; i++) {
		const struct op_row *row = &e->ops->rows[i];
		if (!waits_for_value(row))
			continue;
		ns += row->self_ns;
		most = most && most->self_ns >= row->self_ns ? most : row;
	}
	if (!most)
		return MEASURED_NOTHING;
	begin_at(most, finding);
	finding->share = e->wall_ns ? (double)ns / (double)e->wall_ns : 0;
	finding->share = finding->share < 1 ? finding->share : 1;
	finding->saving_ns = (uint64_t)(finding->share * (double)e->wall_ns + 0.5);
	finding->value = 100 * finding->share;
	finding_place(finding->function, finding->file, finding->line, place, sizeof(place));
	return finding_say(finding,
	                   "waiting for values from the GPU: %.0f %% of the time, most in "
	                   "%.60s at %s",
	                   finding->value, most->name, place);
}

// Nothing is made for a shape in these: they compute whatever size they are given, or are what a
// program or a library says of itself (OpenMP's libomp: omp_metadata_imbalance).
static bool has_no_plans(const struct op_row *row)
{
	static const enum op_provider plain[] = { OP_BLAS, OP_LAPACK, OP_MPI, OP_NVTX, OP_ITT };

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (strcmp(row->provider, op_provider_name(plain[i])) == 0)
			return true;
	return false;
}

static uint32_t shapes_of(const struct evidence *e, const struct op_row *op)
{
	uint32_t count = 0;

	for (size_t i = 0; i < e->shapes->count; i++) {
		const struct op_row *row = &e->shapes->rows[i];
		count += row->shape[0] && strcmp(row->name, op->name) == 0 &&
		         strcmp(row->provider, op->provider) == 0 &&
		         strcmp(row->domain, op->domain) == 0;
	}
	return count;
}

static enum measured measure_shapes(const struct evidence *e, const struct rule *rule,
                                    struct finding *finding)
{
	const struct op_row *most = NULL;
	uint64_t all = self_of_all(e->ops);
	char place[300];

	(void)rule;
	if (!has_ops(e, finding))
		return MEASURED_LACKS;
	for (size_t i = 0; i < e->ops->count; i++) {
		const struct op_row *row = &e->ops->rows[i];
		if ((double)row->self_ns < HOT_SHARE * (double)all || has_no_plans(row))
			continue;
		uint32_t shapes = shapes_of(e, row);
		if (shapes <= finding->value)
			continue;
		finding->value = shapes;
		most = row;
	}
	if (!most)
		return MEASURED_NOTHING;
	begin_at(most, finding);
	finding_place(finding->function, finding->file, finding->line, place, sizeof(place));
	return finding_say(finding, "%.60s is called with %.0f different shapes, most in %s",
	                   most->name, finding->value, place);
}

static const struct rule_callee ways_to_decompose[] = {
	{ "svd", "Ask for no more than is used: full_matrices=False, compute_uv=False, or a few "
	         "components alone (scipy.sparse.linalg.svds(), a randomized SVD). If 7 digits are "
	         "enough, use float32." },
	{ NULL, NULL },
};

const struct rule rules_ops[] = {
	{ .id = "OP-LOADER",
	  .subject = RULES_OPS,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 5,
	  .title = "waiting for the data loader",
	  .formula = "time in the next() of PyTorch's DataLoader, as a share of the critical "
	             "thread's time",
	  .why = "The model is idle until its input arrives.",
	  .advice = "DataLoader(num_workers=...) prepares batches beside the training, as long as "
	            "there are CPUs for it; " LESS_WORK,
	  .source = "TensorBoard's plugin and XProf: input above 5 % of the step",
	  .within = { "PY-INTERP", "IO-WAIT", "CPU-SYS", "MEM-COPY", "CPU-LOCK", "CPU-HOLDER",
	              "CPU-STAGE", "IO-MESSAGES" },
	  .measure = measure_loader },
	{ .id = "OP-TINY",
	  .subject = RULES_OPS,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .title = "tiny ops",
	  .formula =
	          "CPU time of the lines that call ops of less than 10 us, on average or in three "
	          "of four calls, 10000 times and more, and not by another op of 0.1 ms and more "
	          "or by a library within one call of Python's, "
	          "where they take longer than ops of 20 us and more, without looking at stacks, "
	          "serialization, logging and deep copies there, as a share of the critical "
	          "thread's time, or of all CPU time where that is more",
	  .why = "Calling an op takes longer than what it computes.",
	  .advice = "Process many elements per call: whole arrays or batches instead of single "
	            "elements, a fused or compiled function, plain code for a handful of numbers.",
	  .source = "our choice",
	  .within = { "PY-INTERP", "CPU-SYS" },
	  .measure = measure_tiny,
	  .doing = ACTIVITY(TINY),
	  .metrics = ON_CPU },
	{ .id = "OP-COPY",
	  .subject = RULES_OPS,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 10,
	  .title = "copying tensors",
	  .formula =
	          "CPU time in PyTorch's ops that copy (copy_, clone, contiguous, to), as a share "
	          "of the critical thread's time, or of all CPU time where that is more",
	  .why = "The copy has no new content, only another layout, type or device.",
	  .advice = "Create tensors in the layout and type that the ops need, work on views, and "
	            "write in place (out=, add_()).",
	  .source = "our choice",
	  .within = { "MEM-COPY", "MEM-FAULT" },
	  .measure = measure_of_ops,
	  .doing = ACTIVITY(TENSORS),
	  .metrics = ON_CPU },
	{ .id = "OP-DOUBLE",
	  .subject = RULES_OPS,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 30,
	  .title = "linear algebra in double precision",
	  .formula = "CPU time in BLAS and LAPACK calls on double precision, as a share of the "
	             "critical thread's time, or of all CPU time where that is more",
	  .why = "Single precision takes half the time and half the memory.",
	  .advice = "If 7 digits are enough, use float32: NumPy's dtype=, the s... functions of "
	            "BLAS.",
	  .by_callee = ways_to_decompose,
	  .source = "our choice",
	  .within = { "PY-INTERP" },
	  .part = 0.5,
	  .part_from = "half the bytes, and twice as many numbers in a vector register",
	  .measure = measure_of_ops,
	  .doing = ACTIVITY(DOUBLE),
	  .metrics = ON_CPU },
	{ .id = "OP-INVERSE",
	  .subject = RULES_OPS,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 30,
	  .title = "inverting matrices",
	  .formula = "CPU time in inv() of NumPy, SciPy and PyTorch, as a share of the critical "
	             "thread's time, or of all CPU time where that is more",
	  .why = "Solving a system of equations takes a third of the time of inverting its "
	         "matrix, and is more accurate.",
	  .advice = "Instead of multiplying by the inverse, use solve(a, b); factor once "
	            "(cho_factor, lu_factor) where several systems share a matrix.",
	  .source = "operations: 2 n^3 for the inverse, 2/3 n^3 for the factors",
	  .within = { "OP-DOUBLE", "PY-INTERP" },
	  .part = 2.0 / 3,
	  .part_from = "2/3 n^3 operations in place of 2 n^3",
	  .measure = measure_doing, // NumPy has inverses without ops that are seen
	  .doing = ACTIVITY(INVERT),
	  .metrics = ON_CPU },
	{ .id = "OP-LIST",
	  .subject = RULES_OPS,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .title = "building tensors from Python objects",
	  .formula =
	          "CPU time in torch.tensor(), as a share of the critical thread's time, or of all "
	          "CPU time where that is more",
	  .why = "Each element of a list is checked and converted by itself, at 50 ns and more; "
	         "an array is copied at once.",
	  .advice = "Build the tensor once, before the loop, and slice it; keep data in NumPy "
	            "arrays and use torch.from_numpy().",
	  .source = "our choice",
	  .within = { "PY-INTERP", "OP-TINY" },
	  .measure = measure_of_ops,
	  .doing = ACTIVITY(FROM_LIST),
	  .metrics = ON_CPU },
	{ .id = "OP-CAT",
	  .subject = RULES_OPS,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .title = "concatenating tensors repeatedly",
	  .formula = "CPU time in PyTorch's cat and stack, called 30 times and more, as a share of "
	             "the critical thread's time, or of all CPU time where that is more",
	  .why = "Each call copies all of its inputs: a tensor that grows by one piece per "
	         "iteration is copied as often as there are pieces.",
	  .advice = "Collect the pieces in a list and concatenate once after the loop; or "
	            "allocate the whole tensor first and write each piece into its slice.",
	  .source = "our choice",
	  .within = { "MEM-COPY", "MEM-FAULT", "OP-COPY", "STAT-DRIFT", "CPU-SYS" },
	  .measure = measure_joins,
	  .doing = ACTIVITY(JOINED),
	  .metrics = ON_CPU },
	{ .id = "OP-SHAPES",
	  .subject = RULES_OPS,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_COUNT,
	  .threshold = 10,
	  .title = "one op with many shapes",
	  .formula =
	          "different shapes of one op, not of BLAS, LAPACK or MPI, that takes 5 % of the "
	          "time in ops and more",
	  .why = "Compiled code, plans and memory blocks are made for one shape; each new shape "
	         "makes them anew.",
	  .advice = "Pad to a few sizes, or batch inputs of similar size.",
	  .source = "our choice",
	  .measure = measure_shapes },
	{ .id = "OP-SYNC",
	  .subject = RULES_OPS,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 3,
	  .title = "waiting for values from the GPU",
	  .formula =
	          "time of item, nonzero and is_nonzero themselves, as a share of wall time; only "
	          "where CUDA is used",
	  .why = "Each such op waits until all earlier GPU work is done, and then the GPU waits "
	         "for more.",
	  .advice = "Keep values on the GPU; read them every hundred steps; use masks instead of "
	            "nonzero().",
	  .source = "XProf's limit for what is not the GPU's work",
	  .measure = measure_syncs },
};

const size_t rules_ops_count = sizeof(rules_ops) / sizeof(rules_ops[0]);
