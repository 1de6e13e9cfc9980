// SPDX-License-Identifier: MIT
/*
 * The functions of merge/ that the report asks, answered by a profile that is made by hand.
 */
#include "tests/unit/fake_profile.h"

#include "base/record.h"
#include "merge/table/clocks.h"
#include "merge/table/contention.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct call_tree {
	struct call_node root;
};

enum source_trust profile_trusts_source(const struct profile *p, const char *path,
                                        const struct stat *st)
{
	(void)p, (void)path, (void)st;
	return SOURCE_UNKNOWN;
}

const struct run *profile_run(const struct profile *p)
{
	return &p->run;
}

static int compare_totals(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	return left->total < right->total ? 1 : left->total > right->total ? -1 : 0;
}

static void leave_out(struct rows *rows, struct row *row, enum metric metric)
{
	row->self -= row->self_ns[metric];
	row->total -= row->total_ns[metric];
	rows->all -= row->self_ns[metric];
}

static void leave_out_others(struct rows *rows)
{
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++) {
		struct row row = rows->rows[i];
		leave_out(rows, &row, METRIC_OFF_RUNNABLE);
		leave_out(rows, &row, METRIC_OFF_CHILD);
		if (row.total || row.gpu_total_ns)
			rows->rows[count++] = row;
	}
	rows->count = count;
}

bool query_is_fork(const struct profile *p, uint32_t pid)
{
	(void)p;
	(void)pid;
	return false;
}

uint32_t query_runs_of(const struct profile *p, const char *program, size_t length)
{
	(void)program;
	(void)length;
	return p->program_runs;
}

struct rows *query_run(const struct profile *p, const struct query *query, struct error *err)
{
	const struct row *from = query->by == BY_FUNCTION ? p->functions
	                         : query->by == BY_LINE   ? p->lines
	                                                  : p->others;
	size_t count = query->by == BY_FUNCTION ? p->function_count
	               : query->by == BY_LINE   ? p->line_count
	                                        : p->other_count;
	struct rows *rows = calloc(1, sizeof(*rows));

	(void)err;
	((struct profile *)p)->asked = *query;
	rows->rows = calloc(count + 1, sizeof(*rows->rows));
	for (size_t i = 0; i < count; i++) {
		// A question about CPU time alone leaves out what waits.
		bool waits = from[i].self_ns[METRIC_ON_CPU] < from[i].self;
		if (query->on_cpu && !query->off_cpu && waits)
			continue;
		rows->rows[rows->count++] = from[i];
	}
	for (size_t i = 0; i < rows->count; i++)
		rows->gpu_all_ns += rows->rows[i].gpu_self_ns;
	if (query->sort == SORT_TOTAL)
		qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_totals);
	rows->all = query->on_cpu && !query->off_cpu ? p->totals.on_cpu_ns : p->all;
	if (query->on_cpu == query->off_cpu && query->without_others)
		leave_out_others(rows);
	return rows;
}

void rows_free(struct rows *rows)
{
	if (rows)
		free(rows->rows);
	free(rows);
}

struct memory_curves *query_curves(const struct profile *p, struct error *err)
{
	struct memory_curves *c = calloc(1, sizeof(*c));

	(void)err;
	*c = p->curves;
	return c;
}

void memory_curves_free(struct memory_curves *c)
{
	free(c);
}

struct called_rows *query_called(const struct profile *p, const struct query *query,
                                 enum called_sort sort, struct error *err)
{
	struct called_rows *rows = calloc(1, sizeof(*rows));

	(void)p, (void)query, (void)sort, (void)err;
	rows->rows = calloc(p->called_count + 1, sizeof(*rows->rows));
	rows->edges = calloc(p->called_edge_count + 1, sizeof(*rows->edges));
	for (; rows->count < p->called_count; rows->count++) {
		const struct called *row = &p->called[rows->count];
		rows->rows[rows->count] = *row;
		rows->calls += row->calls;
		rows->primitive += row->primitive;
		rows->self_ns += row->self_ns;
	}
	for (; rows->edge_count < p->called_edge_count; rows->edge_count++)
		rows->edges[rows->edge_count] = p->called_edges[rows->edge_count];
	return rows;
}

void called_rows_free(struct called_rows *rows)
{
	if (!rows)
		return;
	free(rows->rows);
	free(rows->edges);
	free(rows);
}

struct call_tree *query_call_tree(const struct profile *p, const struct query *query,
                                  double min_share, struct error *err)
{
	struct call_tree *tree = calloc(1, sizeof(*tree));

	(void)min_share, (void)err;
	tree->root.name = "all";
	if (query->of == QUERY_THREADS)
		tree->root.child = query->off_cpu && !query->on_cpu ? p->wait_tree : p->tree;
	for (const struct call_node *node = tree->root.child; node; node = node->next)
		tree->root.total += node->total;
	return tree;
}

const struct call_node *call_tree_root(const struct call_tree *tree)
{
	return &tree->root;
}

void call_tree_free(struct call_tree *tree)
{
	free(tree);
}

int query_account(const struct profile *p, struct account *account, struct error *err)
{
	(void)err;
	*account = p->account;
	return 0;
}

int query_account_in(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                     struct account *account, struct error *err)
{
	query_account(p, account, err);
	if (from_ns || to_ns)
		account->exact = false;
	return 0;
}

// What threads wait for is their own doing where they keep the CPUs busy.
int query_contention(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                     struct contention_answer *answer, struct error *err)
{
	bool own = (double)p->totals.on_cpu_ns >= 0.8 * (double)p->run.wall_ns * run_cpus(&p->run);

	(void)from_ns, (void)to_ns, (void)err;
	*answer = p->contention;
	if (p->contention.throttled_ns)
		return 0;
	*(own ? &answer->all.own_ns : &answer->all.others_ns) = p->totals.runnable_ns;
	*(own ? &answer->critical.own_ns : &answer->critical.others_ns) =
		p->account.ns[METRIC_OFF_RUNNABLE];
	return 0;
}

// None of its programs has a quota.
void contention_share(uint64_t ready_ns, struct contention_answer *answer)
{
	(void)ready_ns;
	(void)answer;
}

size_t query_quota_groups(const struct run *run, struct quota_group groups[QUOTA_GROUPS])
{
	(void)run, (void)groups;
	return 0;
}

bool contention_parse(struct contention *c, const char *text)
{
	(void)text;
	c->count = 0;
	return true;
}

uint64_t query_on_cpu_ns(const struct profile *p, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t end = to_ns && to_ns < p->run.wall_ns ? to_ns : p->run.wall_ns;

	return (uint64_t)((double)p->totals.on_cpu_ns * (double)(end - from_ns) /
	                  (double)p->run.wall_ns);
}

int query_startup(const struct profile *p, uint64_t limit_ns, struct startup *startup,
                  struct error *err)
{
	(void)limit_ns, (void)err;
	*startup = p->startup;
	return 0;
}

struct steps *query_steps(const struct profile *p, const struct steps_query *query,
                          struct error *err)
{
	struct steps *steps = calloc(1, sizeof(*steps));

	(void)err;
	*steps = p->steps;
	for (size_t i = 0; i < p->steps.count && p->steps.steps[i].begin_ns < query->from_ns; i++) {
		steps->steps++;
		steps->count--;
	}
	return steps;
}

bool profile_has_repeats(const struct profile *p)
{
	return p->repeats.count > 0;
}

struct rank_rows *query_ranks(const struct profile *p, struct error *err)
{
	struct rank_rows *rows = calloc(1, sizeof(*rows));

	(void)err;
	*rows = p->ranks;
	return rows;
}

void rank_rows_free(struct rank_rows *rows)
{
	free(rows); // what is in it is the test's
}

struct repeat_rows *query_repeats(const struct profile *p, struct error *err)
{
	struct repeat_rows *rows = calloc(1, sizeof(*rows));

	(void)err;
	*rows = p->repeats;
	return rows;
}

void repeat_rows_free(struct repeat_rows *rows)
{
	free(rows);
}

const struct repeat *query_repeat_runs(const struct profile *p, size_t *count)
{
	*count = p->repeat_run_count;
	return p->repeat_runs;
}

int query_repeat_ratio(const struct profile *p, uint32_t base, uint32_t other, struct spread *ratio,
                       struct error *err)
{
	(void)base, (void)other, (void)err;
	*ratio = p->ratio;
	return 0;
}

int query_causes(const struct profile *p, const struct warmup_rows *rows, struct causes *causes,
                 struct error *err)
{
	(void)rows, (void)err;
	*causes = p->causes;
	return 0;
}

bool query_clock_rise(const struct profile *p, const struct warmup_rows *rows,
                      struct clock_change *change)
{
	(void)rows;
	*change = p->rise;
	return p->rise.at_ns > 0;
}

bool query_clock_fall(const struct profile *p, struct clock_change *change)
{
	*change = p->fall;
	return p->fall.at_ns > 0;
}

// One reading, as the profile's own text has it.
bool clocks_parse(struct clocks *c, const char *text)
{
	struct clock_reading *first = &c->readings[0];

	*c = (struct clocks){ 0 };
	c->count = text && sscanf(text, "%u:%u", &first->at_ms, &first->mhz) == 2;
	return true;
}

const char *cause_name(enum cause cause)
{
	return cause == CAUSE_COMPILER ? "compilation"
	       : cause == CAUSE_FAULTS ? "page faults"
	                               : "?";
}

void steps_free(struct steps *s)
{
	free(s);
}

struct cycles *query_cycles(const struct profile *p, const char *schedule, const char *steps,
                            struct error *err)
{
	struct cycles *cycles = calloc(1, sizeof(*cycles));

	(void)schedule, (void)steps, (void)err;
	*cycles = p->cycles;
	return cycles;
}

void cycles_free(struct cycles *c)
{
	free(c);
}

struct step_parts *query_step_parts(const struct profile *p, const struct steps *s,
                                    struct error *err)
{
	struct step_parts *parts = calloc(s->count + 1, sizeof(*parts));

	(void)err;
	if (p->step_parts)
		memcpy(parts, p->step_parts + (s->steps - p->steps.steps),
		       s->count * sizeof(*parts));
	return parts;
}

uint64_t query_unplaced_waits(const struct profile *p, const struct steps *s)
{
	(void)s;
	return p->unplaced_ns;
}

int steps_explain(const struct profile *p, const struct steps *s, size_t first, size_t steps,
                  struct step_excess out[STEP_EXCESSES], struct error *err)
{
	size_t at = (size_t)(s->steps - p->steps.steps) + first;
	int count = 0;

	(void)err, (void)steps;
	for (; p->excesses && count < STEP_EXCESSES; count++) {
		out[count] = p->excesses[at * STEP_EXCESSES + (size_t)count];
		if (!out[count].excess_ns)
			break;
	}
	return count;
}

struct module_rows *query_modules(const struct profile *p, struct error *err)
{
	struct module_rows *modules = calloc(1, sizeof(*modules));

	(void)err;
	modules->rows = calloc(p->module_count + 1, sizeof(*modules->rows));
	modules->count = p->module_count;
	for (size_t i = 0; i < modules->count; i++) {
		modules->rows[i] = p->modules[i];
		modules->rows[i].part_ns = p->modules[i].self_ns;
	}
	modules->all_ns = p->totals.on_cpu_ns + p->totals.off_cpu_ns;
	modules->of = p->wall.ranks ? "wall time" : "the CPU time";
	return modules;
}

void module_rows_free(struct module_rows *rows)
{
	free(rows ? rows->rows : NULL);
	free(rows);
}

void query_totals(const struct profile *p, struct totals *totals)
{
	*totals = p->totals;
}

struct op_rows *query_ops(const struct profile *p, const struct op_query *query, struct error *err)
{
	struct op_rows *rows = calloc(1, sizeof(*rows));

	(void)err;
	((struct profile *)p)->ops_asked = *query;
	rows->rows = (struct op_row *)p->ops;
	rows->count = p->op_count;
	rows->wall_ns = p->run.wall_ns * (p->op_threads ? p->op_threads : 1);
	for (size_t i = 0; i < p->op_count; i++)
		rows->calls += p->ops[i].calls;
	return rows;
}

void op_rows_free(struct op_rows *rows)
{
	free(rows);
}

struct memory_rows *query_memory(const struct profile *p, enum memory_by by, bool at_peak,
                                 struct error *err)
{
	struct memory_rows *rows = calloc(1, sizeof(*rows));

	(void)err;
	if (!at_peak)
		((struct profile *)p)->memory_asked = by;
	*rows = p->memory;
	return rows;
}

struct counter_rows *query_counters(const struct profile *p, const struct query *query,
                                    struct error *err)
{
	struct counter_rows *rows = calloc(1, sizeof(*rows));

	(void)query;
	(void)err;
	*rows = p->counters;
	return rows;
}

struct device_rows *query_devices(const struct profile *p, const struct query *query,
                                  struct error *err)
{
	struct device_rows *rows = calloc(1, sizeof(*rows));

	(void)query;
	(void)err;
	*rows = p->devices;
	return rows;
}

struct gpu_rows *query_gpu(const struct profile *p, const struct query *query, struct error *err)
{
	struct gpu_rows *rows = calloc(1, sizeof(*rows));

	(void)query;
	(void)err;
	*rows = p->gpu;
	return rows;
}

struct gpu_facts *query_gpu_facts(const struct profile *p, const struct query *query,
                                  struct error *err)
{
	struct gpu_facts *facts = calloc(1, sizeof(*facts));

	(void)query;
	(void)err;
	*facts = p->gpu_facts;
	return facts;
}

// None of its programs has managed memory.
struct gpu_managed_rows *query_gpu_managed(const struct profile *p, struct error *err)
{
	(void)p;
	(void)err;
	return calloc(1, sizeof(struct gpu_managed_rows));
}

void gpu_managed_rows_free(struct gpu_managed_rows *rows)
{
	free(rows);
}

struct gpu_fault_rows *query_gpu_faults(const struct profile *p, struct error *err)
{
	(void)p;
	(void)err;
	return calloc(1, sizeof(struct gpu_fault_rows));
}

void gpu_fault_rows_free(struct gpu_fault_rows *rows)
{
	free(rows);
}

struct gpu_stream_rows *query_gpu_streams(const struct profile *p, struct error *err)
{
	struct gpu_stream_rows *rows = calloc(1, sizeof(*rows));

	(void)err;
	*rows = p->gpu_streams;
	return rows;
}

void gpu_stream_rows_free(struct gpu_stream_rows *rows)
{
	free(rows);
}

struct gpu_line_rows *query_gpu_lines(const struct profile *p, struct error *err)
{
	struct gpu_line_rows *rows = calloc(1, sizeof(*rows));

	(void)err;
	*rows = p->gpu_lines;
	return rows;
}

void gpu_line_rows_free(struct gpu_line_rows *rows)
{
	free(rows);
}

struct warmup_rows *query_warmup(const struct profile *p, const struct query *query,
                                 struct error *err)
{
	struct warmup_rows *rows = calloc(1, sizeof(*rows));

	(void)err;
	// Behind the warm-up there is none.
	if (!query->from_ns)
		*rows = p->warmup;
	return rows;
}

const char *warmup_verdict_name(enum warmup_verdict verdict)
{
	return verdict == WARMUP_INCLUDED ? "included" : "?";
}

void warmup_rows_free(struct warmup_rows *rows)
{
	free(rows);
}

void counter_rows_free(struct counter_rows *rows)
{
	free(rows);
}

void gpu_rows_free(struct gpu_rows *rows)
{
	free(rows);
}

struct gpu_wait *query_gpu_wait(const struct profile *p, const struct query *query,
                                struct error *err)
{
	struct gpu_wait *wait = calloc(1, sizeof(*wait));

	(void)query;
	(void)err;
	*wait = p->gpu_wait;
	return wait;
}

void gpu_wait_free(struct gpu_wait *wait)
{
	free(wait);
}

void gpu_facts_free(struct gpu_facts *facts)
{
	free(facts);
}

static const struct rule fake_rules[] = {
	{ .id = "CPU-LOCK", .subject = RULES_CPU },
	{ .id = "IO-WAIT", .subject = RULES_IO },
	{ .id = "MEAS-SHORT", .subject = RULES_QUALITY },
	{ .id = "PY-GIL", .subject = RULES_PYTHON },
};

size_t rule_count(void)
{
	return sizeof(fake_rules) / sizeof(fake_rules[0]);
}

const struct rule *rule_at(size_t index)
{
	return &fake_rules[index];
}

const char *severity_name(enum severity severity)
{
	static const char *const names[] = { "info", "warn", "error" };

	return names[severity];
}

struct findings *query_findings(const struct profile *p, const struct query *query,
                                const struct rule_limits *limits, struct error *err)
{
	struct findings *f = calloc(1, sizeof(*f));

	(void)query, (void)limits, (void)err;
	f->answer_count = rule_count();
	f->answers = calloc(f->answer_count, sizeof(*f->answers));
	f->answers[3] = (struct rule_answer){ .state = RULE_UNKNOWN, .why = "no Python ran" };
	f->items = (struct finding *)p->findings;
	f->count = p->finding_count;
	f->shown = p->findings_shown;
	f->from_ns = p->findings_from_ns;
	f->wall_ns = p->run.wall_ns;
	return f;
}

void findings_free(struct findings *f)
{
	if (f)
		free(f->answers);
	free(f);
}

void device_rows_free(struct device_rows *rows)
{
	free(rows);
}

struct import_rows *query_imports(const struct profile *p, const struct query *query,
                                  struct error *err)
{
	struct import_rows *rows = malloc(sizeof(*rows));

	(void)query, (void)err;
	*rows = p->imports;
	return rows;
}

void import_rows_free(struct import_rows *rows)
{
	free(rows);
}

struct compiling *query_compiling(const struct profile *p, const struct query *query,
                                  struct error *err)
{
	struct compiling *c = malloc(sizeof(*c));

	(void)query, (void)err;
	*c = p->compiling;
	return c;
}

void compiling_free(struct compiling *c)
{
	free(c);
}

struct workers *query_workers(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                              struct error *err)
{
	struct workers *w = malloc(sizeof(*w));

	(void)from_ns, (void)to_ns, (void)err;
	*w = p->workers;
	return w;
}

void workers_free(struct workers *w)
{
	free(w);
}

void query_memory_doubts(const struct profile *p, struct memory_doubts *out)
{
	*out = p->doubts;
}

void memory_rows_free(struct memory_rows *rows)
{
	free(rows);
}

struct wait_rows *query_waits(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                              struct error *err)
{
	struct wait_rows *rows = calloc(1, sizeof(*rows));

	(void)from_ns, (void)to_ns, (void)err;
	*rows = p->waits;
	rows->rows = calloc(rows->count + 1, sizeof(*rows->rows));
	if (rows->count)
		memcpy(rows->rows, p->waits.rows, rows->count * sizeof(*rows->rows));
	return rows;
}

void wait_rows_free(struct wait_rows *rows)
{
	if (rows)
		free(rows->rows);
	free(rows);
}

const char *wait_kind_name(uint32_t kind, enum metric cause)
{
	(void)cause;
	return kind == HELD_MUTEX ? "mutex" : kind == HELD_JOIN ? "end of a thread" : "";
}

const char *wait_kind_article(uint32_t kind)
{
	(void)kind;
	return "a";
}

void query_parallel(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                    struct parallel *parallel)
{
	(void)from_ns, (void)to_ns;
	*parallel = p->parallel;
}

int query_wall_account(const struct profile *p, const struct query *query,
                       struct wall_account *account, struct error *err)
{
	(void)query;
	(void)err;
	*account = p->wall;
	return 0;
}

double query_sampling_weight(const struct profile *p)
{
	(void)p;
	return 1;
}

uint64_t query_weighted_margin(double weight_ns, uint64_t ns, uint64_t all_ns)
{
	(void)weight_ns;
	(void)all_ns;
	return ns / 20;
}

int price_find(const struct profile *p, const struct query *query, const struct price_place *place,
               uint64_t symptom_ns, uint64_t margin_ns, struct price *price, struct error *err)
{
	(void)query, (void)place, (void)err;
	if (p->whole_place_ns)
		*price = (struct price){ symptom_ns - margin_ns, p->whole_place_ns };
	return 0;
}

uint64_t query_sampling_margin(const struct profile *p, uint64_t ns, uint64_t all_ns)
{
	return query_weighted_margin(query_sampling_weight(p), ns, all_ns);
}

bool query_nameless_loop(const struct profile *p, const char *module, struct nameless_loop *loop)
{
	(void)module;
	*loop = p->loop;
	return p->loop.ns > 0;
}

bool query_wall_rank(const struct profile *p, struct wall_rank *rank)
{
	(void)rank;
	*rank = p->wall_rank;
	return p->wall_rank.numbered;
}

uint64_t query_wall_ns(const struct profile *p)
{
	return p->waits.wall_ns;
}

struct rows *query_wall_owners(const struct profile *p, const struct query *query,
                               struct error *err)
{
	struct query asked = *query;

	asked.by = BY_FUNCTION;
	asked.sort = SORT_SELF;
	asked.on_cpu = asked.off_cpu = asked.without_others = false;
	struct rows *rows = query_run(p, &asked, err);
	rows->count = query_wall_ns(p) ? rows->count : 0;
	return rows;
}
