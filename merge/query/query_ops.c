// SPDX-License-Identifier: MIT
#include "merge/query/query_ops.h"

#include "base/error.h"
#include "base/op.h"
#include "merge/gpu/gpu.h"
#include "merge/op/op_table.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/answer.h"
#include "merge/query/op_groups.h"
#include "merge/scope/scope.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WITHIN_DEPTH 32 // of ops within ops that are counted

// How much sampled time stacks with ops in them have.
//
// Ops belong to groups, which are what rows are about. A group that is open
// within itself counts once.

struct op_sample {
	uint64_t total_ns, self_ns; /* self: no other op within */
	/* While it is open: */
	uint64_t before_ns;
	uint32_t open;
};

struct op_samples {
	const struct scope *scope;
	struct op_sample *groups; /* [group - 1] */
	uint32_t *innermost;      /* [node - 1]: group; 0: none */
	uint64_t all_ns;
};

static void op_samples_fini(struct op_samples *s)
{
	free(s->groups);
	free(s->innermost);
	*s = (struct op_samples){ 0 };
}

static inline void op_samples_at_scope_end(struct op_samples *s)
{
	op_samples_fini(s);
}

// False if there is no memory.
static bool op_samples_init(struct op_samples *s, const struct scope *scope, uint32_t groups)
{
	*s = (struct op_samples){ .scope = scope };
	s->groups = calloc((size_t)groups + 1, sizeof(*s->groups));
	s->innermost =
		calloc((size_t)profile_paths(scope->profile)->count + 1, sizeof(*s->innermost));
	if (s->groups && s->innermost)
		return true;
	op_samples_fini(s);
	return false;
}

static uint64_t own_ns(const struct scope *scope, uint32_t node)
{
	uint64_t ns = 0;

	for (uint32_t i = scope->first_cell[node - 1]; i < scope->first_cell[node]; i++)
		ns += scope_ns(scope, &scope->table->cells[scope->cells[i]]);
	return ns;
}

// The group of the op that NODE is; 0 if it is none.
static uint32_t group_at(const struct profile *p, const struct path_node *node,
                         const uint32_t *groups)
{
	if (!node->parent)
		return 0;
	const struct location *location = profile_location(p, node->location);
	return location->kind == FRAME_OP ? groups[location->address - 1] : 0;
}

static void enter(struct op_samples *s, uint32_t id, uint32_t group)
{
	uint32_t parent = profile_node(s->scope->profile, id)->parent;
	uint32_t innermost = parent ? s->innermost[parent - 1] : 0;
	uint64_t own = own_ns(s->scope, id);

	if (group) {
		innermost = group;
		if (s->groups[group - 1].open++ == 0)
			s->groups[group - 1].before_ns = s->all_ns;
	}
	s->innermost[id - 1] = innermost;
	if (innermost)
		s->groups[innermost - 1].self_ns += own;
	s->all_ns += own;
}

static void leave(struct op_samples *s, uint32_t group)
{
	struct op_sample *sample = group ? &s->groups[group - 1] : NULL;

	if (sample && --sample->open == 0)
		sample->total_ns += s->all_ns - sample->before_ns;
}

// Adds the thread whose root is ROOT. GROUPS[op - 1] is what an op belongs to, 0: nothing.
static void op_samples_add(struct op_samples *s, uint32_t root, const uint32_t *groups)
{
	const struct profile *p = s->scope->profile;
	struct step step = { root, true };

	while (step.node != root || step.entering) {
		uint32_t group = group_at(p, profile_node(p, step.node), groups);
		if (step.entering)
			enter(s, step.node, group);
		else
			leave(s, group);
		step = scope_next(s->scope, step);
	}
}

void op_rows_free(struct op_rows *rows)
{
	if (!rows)
		return;
	strings_free(rows->texts);
	free(rows->rows);
	free(rows);
}

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "could not rank the ops");
}

static const char *text_or(const char *text, const char *other)
{
	return text ? text : other;
}

static void name_row(const struct op_groups *a, const struct op_group *group, struct op_row *row)
{
	const struct profile *p = a->profile;
	const struct op *op = group->op ? profile_op(p, group->op) : NULL;
	const char *text = text_or(strings_get(a->texts, group->text), "");

	row->name = op ? op->name : text;
	row->label = op && op_is_label(op);
	row->domain = op ? op->domain : a->query->by == OPS_BY_DOMAIN ? text : "";
	row->provider = group->mixed ? "" : op_provider_name(group->provider);
	row->shape = a->query->by == OPS_BY_SHAPE ? text : "";
	row->stack = a->query->by == OPS_BY_STACK ? text : "";
	const struct place *place = op_caller_place(p, group->caller);
	if (place) {
		row->file = profile_string(p, place->file);
		row->line = (int)place->line;
	}
	if (op && op_line(op)) {
		row->file = *op->domain ? op->domain : NULL;
		row->line = op_line(op);
	}
	if (place)
		row->function = profile_string(p, place->function);
	row->backward = group->forward;
	if (group->caller) {
		uint32_t id = profile_location(p, group->caller)->module;
		const struct module *module = profile_module(p, id);
		row->module = module ? module->path : NULL;
	}
	if (!group->thread)
		return;
	const struct thread_info *thread = profile_thread(p, group->thread);
	row->thread = text_or(profile_string(p, thread->name), "");
	row->tid = thread->tid;
}

static void fill_row(const struct op_groups *a, const struct op_group *group, struct op_row *row)
{
	const struct op_sums *sums = &group->sums;
	uint64_t min_ns = group->min_ns == UINT64_MAX ? 0 : group->min_ns;
	const struct histogram *h = &group->durations;

	*row = (struct op_row){
		.calls = sums->calls,
		.untimed = sums->untimed,
		.left_open = sums->left_open,
		.unseen = sums->unseen,
		.calls_error = sums->calls_error,
		.total_error_ns = sums->total_error_ns,
		.marks = sums->marks,
		.self_ns = sums->self_ns,
		.others_ns = sums->others_ns,
		.total_ns = sums->total_ns,
		.timeless = sums->timeless,
		.average_ns = sums->calls > sums->timeless
		                      ? sums->sum_ns / (sums->calls - sums->timeless)
		                      : 0,
		.first_ns = group->first_ns,
		.min_ns = min_ns,
		.max_ns = group->max_ns,
		.median_ns = histogram_quantile_within(h, 0.5, min_ns, group->max_ns),
		.q1_ns = histogram_quantile_within(h, 0.25, min_ns, group->max_ns),
		.q3_ns = histogram_quantile_within(h, 0.75, min_ns, group->max_ns),
		.allocated_bytes = sums->allocated_bytes,
		.self_allocated_bytes = sums->self_allocated_bytes,
		.net_bytes = (int64_t)(sums->allocated_bytes - sums->freed_bytes),
		.self_net_bytes = (int64_t)(sums->self_allocated_bytes - sums->self_freed_bytes),
		.devices = sums->devices,
		.flops = sums->flops,
		.message_bytes = sums->message_bytes,
	};
	name_row(a, group, row);
}

// Which group each op belongs to in the stacks of thread SLOT, if they tell.
static void map_ops(const struct op_groups *a, uint32_t slot, uint32_t *map, bool *several)
{
	uint32_t ops = ops_count(profile_ops(a->profile));

	memset(map, 0, ops * sizeof(*map));
	memset(several, 0, ops * sizeof(*several));
	for (uint32_t id = 1; id <= a->count; id++) {
		const struct op_group *group = &a->groups[id - 1];
		if (group->thread && group->thread != slot)
			continue;
		// A stack does not tell the shape of an op, or the line that called it.
		several[group->op - 1] |= map[group->op - 1] != 0;
		map[group->op - 1] = several[group->op - 1] ? 0 : id;
	}
}

static void map_domains(const struct op_groups *a, uint32_t *map)
{
	for (uint32_t op = 1; op <= ops_count(profile_ops(a->profile)); op++) {
		uint32_t text = strings_find(a->texts, op_domain(profile_op(a->profile, op)));
		struct op_group wanted = { .text = text };
		map[op - 1] = op_groups_find(a, &wanted);
	}
}

// TIMES get what stacks of SCOPE with ops in them have, by group.
static bool sample_groups(const struct op_groups *a, const struct scope *scope,
                          struct op_sample *times)
{
	cleanup(op_samples) struct op_samples samples = { 0 };
	size_t ops = (size_t)ops_count(profile_ops(a->profile)) + 1;
	cleanup_free uint32_t *map = calloc(ops, sizeof(*map));
	cleanup_free bool *several = calloc(ops, sizeof(*several));

	if (!map || !several || !op_samples_init(&samples, scope, a->count))
		return false;
	if (a->query->by == OPS_BY_DOMAIN)
		map_domains(a, map);
	else
		map_ops(a, 0, map, several);
	for (uint32_t root = scope->first_root; root; root = scope->sibling[root - 1]) {
		if (a->query->by == OPS_BY_THREAD)
			map_ops(a, profile_node(a->profile, root)->location, map, several);
		op_samples_add(&samples, root, map);
	}
	memcpy(times, samples.groups, a->count * sizeof(*times));
	return true;
}

static bool add_gpu(const struct op_groups *a, struct op_sample *times, struct op_row *rows)
{
	const struct query query = { .of = QUERY_GPU,
		                     .thread = a->query->thread,
		                     .process = a->query->process,
		                     .from_ns = a->query->from_ns,
		                     .to_ns = a->query->to_ns };
	cleanup(scope) struct scope scope = { 0 };

	if (!profile_gpu(a->profile)->paths.count)
		return true;
	if (scope_init(&scope, a->profile, &query, NULL) < 0 || !sample_groups(a, &scope, times))
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		rows[i].gpu_ns = times[i].total_ns;
	return true;
}

static bool add_samples(const struct op_groups *a, struct op_row *rows)
{
	cleanup_free struct op_sample *times = calloc((size_t)a->count + 1, sizeof(*times));

	if (op_groups_is_by_place(a))
		return true; // a stack does not tell
	if (!times || !sample_groups(a, &a->scope, times))
		return false;
	for (uint32_t i = 0; i < a->count; i++) {
		rows[i].sampled_ns = times[i].total_ns;
		rows[i].sampled_self_ns = times[i].self_ns;
	}
	return add_gpu(a, times, rows);
}

// Such that more is more, below 0, too.
static uint64_t rank_net(int64_t bytes)
{
	return (uint64_t)bytes + ((uint64_t)1 << 63);
}

// What is compared first, and what then.
static uint64_t rank(const struct op_row *row, enum op_sort sort)
{
	switch (sort) {
	case OPS_SORT_TOTAL:
		return row->total_ns;
	case OPS_SORT_CALLS:
		return row->calls;
	case OPS_SORT_MEMORY:
		return row->self_allocated_bytes;
	case OPS_SORT_MEMORY_TOTAL:
		return row->allocated_bytes;
	case OPS_SORT_NET:
		return rank_net(row->self_net_bytes);
	case OPS_SORT_NET_TOTAL:
		return rank_net(row->net_bytes);
	case OPS_SORT_GPU_MEMORY:
		return rank_net(op_device_self_net(&row->devices));
	case OPS_SORT_GPU_MEMORY_TOTAL:
		return rank_net(op_device_net(&row->devices));
	case OPS_SORT_FLOPS:
		return row->flops;
	case OPS_SORT_AVERAGE:
		return row->average_ns;
	case OPS_SORT_GPU:
		return row->gpu_ns;
	default:
		return row->self_ns;
	}
}

// Total: the same profile gives the same order on every machine.
static int compare_rows(const void *a, const void *b, void *context)
{
	enum op_sort sort = *(const enum op_sort *)context;
	const struct op_row *left = a, *right = b;
	const enum op_sort order[] = { sort, OPS_SORT_SELF, OPS_SORT_TOTAL, OPS_SORT_CALLS };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		uint64_t ranks[] = { rank(left, order[i]), rank(right, order[i]) };
		if (ranks[0] != ranks[1])
			return ranks[0] < ranks[1] ? 1 : -1;
	}
	int by_text = compare_names(left->name, right->name);
	by_text = by_text ? by_text : compare_names(left->domain, right->domain);
	by_text = by_text ? by_text : compare_names(left->provider, right->provider);
	by_text = by_text ? by_text : compare_names(left->shape, right->shape);
	by_text = by_text ? by_text : compare_names(left->stack, right->stack);
	return by_text ? by_text : (left->tid > right->tid) - (left->tid < right->tid);
}

// How long the threads in slot SLOT lived, as far as that lies in the window.
static uint64_t lifetime_ns(const struct op_groups *a, uint32_t slot)
{
	const struct profile *p = a->profile;
	const struct thread_info *info = profile_thread(p, slot);
	uint64_t start = info->start_ns, end = info->end_ns ? info->end_ns : profile_last_ns(p);
	uint64_t from = profile_start_ns(p) + a->query->from_ns, sum = 0;
	uint64_t to = a->query->to_ns ? profile_start_ns(p) + a->query->to_ns : UINT64_MAX;

	if (info->merged > 1 && !op_groups_is_windowed(a)) {
		for (int m = 0; m < METRIC_COUNT; m++)
			sum += info->ns[m];
		return sum;
	}
	start = op_groups_is_windowed(a) && start < from ? from : start;
	end = op_groups_is_windowed(a) && end > to ? to : end;
	return end > start ? end - start : 0;
}

static bool add_up(const struct op_groups *a, struct op_rows *rows)
{
	const struct op_table *t = profile_op_table(a->profile);
	cleanup_free bool *has_ops =
		calloc(profile_threads(a->profile)->thread_count + 1, sizeof(bool));

	if (!has_ops)
		return false;
	for (uint32_t i = 0; i < t->count; i++)
		if (a->sums[i].calls || a->sums[i].marks)
			has_ops[t->entries[i].key.thread - 1] = true;
	for (uint32_t slot = 1; slot <= profile_threads(a->profile)->thread_count; slot++)
		if (has_ops[slot - 1] && a->scope.threads[slot - 1])
			rows->wall_ns += lifetime_ns(a, slot);
	for (size_t i = 0; i < rows->count; i++)
		rows->calls += rows->rows[i].calls;
	rows->folded = t->folded;
	rows->lost = t->lost;
	rows->blurred = t->blurred;
	return true;
}

// Groups of which the window has no call. A module that calls none itself has those within it.
static void drop_empty(struct op_rows *rows, bool by_module)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].calls || rows->rows[i].marks ||
		    (by_module && rows->rows[i].total_ns))
			rows->rows[kept++] = rows->rows[i];
	rows->count = kept;
}

static bool answer_all(struct op_groups *a, struct op_rows *rows)
{
	enum op_sort sort = a->query->sort;

	if (!op_groups_make(a))
		return false;
	rows->rows = calloc((size_t)a->count + 1, sizeof(*rows->rows));
	if (!rows->rows)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		fill_row(a, &a->groups[i], &rows->rows[i]);
	rows->count = a->count;
	if (a->count && !add_samples(a, rows->rows))
		return false;
	drop_empty(rows, a->query->by == OPS_BY_MODULE);
	qsort_r(rows->rows, rows->count, sizeof(*rows->rows), compare_rows, &sort);
	return add_up(a, rows);
}

static struct op_rows *rank_ops(const struct profile *p, const struct op_query *query,
                                struct error *err);

// Shares of ROWS are of the time in the ops that are asked for.
static int time_of(const struct profile *p, const struct op_query *query, uint64_t *ns,
                   struct error *err)
{
	struct op_query by_op = *query;

	by_op.by = OPS_BY_OP;
	by_op.as = 0;
	cleanup(op_rows) struct op_rows *all = rank_ops(p, &by_op, err);
	if (!all)
		return -1;
	*ns = 0;
	for (size_t i = 0; i < all->count; i++)
		if (fnmatch(query->of, all->rows[i].name, 0) == 0)
			*ns += all->rows[i].total_ns;
	return 0;
}

// What is in no op of that name in the window is nobody's share; a name that is wrong is an error.
static int take_whole(const struct profile *p, const struct op_query *query, struct op_rows *rows,
                      struct error *err)
{
	struct op_query whole = *query;
	uint64_t ns;

	if (time_of(p, query, &rows->wall_ns, err) < 0)
		return -1;
	whole.from_ns = whole.to_ns = 0;
	if (rows->wall_ns || !rows->count)
		return 0;
	if (time_of(p, &whole, &ns, err) < 0)
		return -1;
	if (ns)
		return 0;
	return error_set(err, 0, "no op \"%s\" took any time, of which others could have a share",
	                 query->of);
}

struct op_rows *query_ops(const struct profile *p, const struct op_query *query, struct error *err)
{
	cleanup(op_rows) struct op_rows *rows = rank_ops(p, query, err);

	if (!rows || (query->of && take_whole(p, query, rows, err) < 0))
		return NULL;
	return steal(rows);
}

static struct op_rows *rank_ops(const struct profile *p, const struct op_query *query,
                                struct error *err)
{
	cleanup(op_groups) struct op_groups a = { 0 };
	cleanup(op_rows) struct op_rows *rows = calloc(1, sizeof(*rows));

	if (rows)
		rows->texts = strings_new();
	if (!rows || !rows->texts) {
		no_memory(err);
		return NULL;
	}
	if (op_groups_init(&a, p, query, rows->texts, err) < 0)
		return NULL;
	if (!answer_all(&a, rows)) {
		no_memory(err);
		return NULL;
	}
	return steal(rows);
}

// One round: what stands directly within each op, and what that holds by the round before.
static void add_within(const struct op_table *table, const double *calls, const double *before,
                       double *within)
{
	for (uint32_t i = 0; i < table->count; i++) {
		const struct op_entry *entry = &table->entries[i];
		uint32_t parent = entry->key.parent;
		if (parent && calls[parent] > 0)
			within[parent] += (double)(entry->sums.calls - entry->sums.untimed) *
			                  (1 + before[entry->key.op]) / calls[parent];
	}
}

double query_ops_within(const struct profile *p, const struct op_row *row, struct error *err)
{
	const struct op_table *table = profile_op_table(p);
	uint32_t count = profile_ops(p) ? ops_count(profile_ops(p)) : 0, id = 0;
	size_t size = (size_t)count + 1;
	cleanup_free double *calls = calloc(3 * size, sizeof(*calls));

	if (!calls)
		return error_set(err, ENOMEM, "could not count ops within ops");
	for (uint32_t i = 1; i <= count; i++) {
		const struct op *op = profile_op(p, i);
		if (strcmp(op->name, row->name) == 0 && strcmp(op->domain, row->domain) == 0 &&
		    strcmp(op_provider_name(op->provider), row->provider) == 0)
			id = i;
	}
	for (uint32_t i = 0; i < table->count; i++) {
		const struct op_sums *sums = &table->entries[i].sums;
		// Of those that are known in sum alone nobody knows what was around them.
		calls[table->entries[i].key.op] += (double)(sums->calls - sums->untimed);
	}
	double *before = calls + size, *within = before + size;
	for (int depth = 0; id && depth < WITHIN_DEPTH; depth++) {
		memset(within, 0, size * sizeof(*within));
		add_within(table, calls, before, within);
		double *swapped = before;
		before = within;
		within = swapped;
	}
	return before[id];
}
