// SPDX-License-Identifier: MIT
#include "merge/wall/wall_time.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

bool wall_time_init(struct wall_time *t)
{
	bool ok = cells_init(&t->plus) && cells_init(&t->minus);

	for (int i = 0; ok && i < WALL_TABLES; i++)
		ok = cells_init(&t->times[i]);
	return ok;
}

void wall_time_fini(struct wall_time *t)
{
	wall_free(t->live);
	cells_fini(&t->plus);
	cells_fini(&t->minus);
	cells_fini(&t->cells);
	for (int i = 0; i < WALL_TABLES; i++)
		cells_fini(&t->times[i]);
	free(t->edges);
	free(t->alone);
	*t = (struct wall_time){ 0 };
}

void wall_time_move_nodes(struct wall_time *t, const uint32_t *map)
{
	if (t->live)
		wall_move_nodes(t->live, map);
	if (t->plus.count)
		cells_move_nodes(&t->plus, map);
	if (t->minus.count)
		cells_move_nodes(&t->minus, map);
	if (t->times[WALL_ALONE_TIMES].count)
		cells_move_nodes(&t->times[WALL_ALONE_TIMES], map);
	for (size_t i = 0; i < t->alone_count; i++)
		t->alone[i].node = map[t->alone[i].node - 1];
	for (size_t i = 0; i < t->edge_count; i++) {
		struct wall_edge *edge = &t->edges[i];
		edge->waiter_node = edge->waiter_node ? map[edge->waiter_node - 1] : 0;
		edge->holder_node = edge->holder_node ? map[edge->holder_node - 1] : 0;
	}
}

// [node - 1]: whether it is below the root of thread SLOT.
static bool *nodes_of(const struct paths *paths, uint32_t slot)
{
	bool *is_own = calloc((size_t)paths->count + 1, sizeof(*is_own));

	for (uint32_t id = 1; is_own && id <= paths->count; id++) {
		const struct path_node *node = paths_node(paths, id);
		is_own[id - 1] = node->parent ? is_own[node->parent - 1] : node->location == slot;
	}
	return is_own;
}

// FROM's cells, where CHOSEN (NULL: all), go to TO, whose bins are as wide or wider.
static bool add_cells(struct cells *to, const struct cells *from, const bool *chosen)
{
	struct cells copy = { 0 };
	bool ok = cells_init(&copy);

	copy.origin_ns = from->origin_ns;
	copy.width_ns = from->width_ns;
	for (uint32_t i = 0; ok && i < from->count; i++)
		if (!chosen || chosen[from->cells[i].node - 1])
			ok = cells_put(&copy, &from->cells[i]);
	while (ok && copy.width_ns < to->width_ns)
		cells_widen(&copy);
	for (uint32_t i = 0; ok && i < copy.count; i++)
		ok = cells_put(to, &copy.cells[i]);
	cells_fini(&copy);
	return ok;
}

// One node and metric, bin by bin.
struct times {
	int64_t ns[CELLS_BINS];
	uint32_t samples;
	int32_t rate_at[CELLS_BINS];
};

static void read_times(struct times *t, const struct cells *c, const uint32_t *order,
                       uint32_t first, uint32_t end, int sign)
{
	int64_t rate = 0;

	memset(t->rate_at, 0, sizeof(t->rate_at));
	for (uint32_t i = first; i < end; i++) {
		const struct cell *cell = &c->cells[order[i]];
		t->ns[cell->bin] += sign * (int64_t)cell->ns;
		t->rate_at[cell->bin] += cell->rate;
		t->samples += sign > 0 ? cell->samples : 0;
	}
	for (uint32_t bin = 0; bin < CELLS_BINS; bin++) {
		rate += t->rate_at[bin];
		t->ns[bin] += sign * rate * (int64_t)c->width_ns;
	}
}

static uint64_t order_of(const struct cell *cell)
{
	return (uint64_t)cell->node << 32 | (uint64_t)cell->metric << 16 | cell->bin;
}

static int compare_cells(const void *a, const void *b, void *context)
{
	const struct cell *cells = context;
	uint64_t left = order_of(&cells[*(const uint32_t *)a]);
	uint64_t right = order_of(&cells[*(const uint32_t *)b]);

	return left < right ? -1 : left > right;
}

static uint32_t *sorted(const struct cells *c)
{
	uint32_t *order = calloc((size_t)c->count + 1, sizeof(*order));

	for (uint32_t i = 0; order && i < c->count; i++)
		order[i] = i;
	if (order)
		qsort_r(order, c->count, sizeof(*order), compare_cells, c->cells);
	return order;
}

// The first of ORDER from AT on that is of another node or metric.
static uint32_t next_key(const struct cells *c, const uint32_t *order, uint32_t at)
{
	uint64_t key = order_of(&c->cells[order[at]]) >> 16;

	while (at < c->count && order_of(&c->cells[order[at]]) >> 16 == key)
		at++;
	return at;
}

// What a bin has less than nothing is taken from the next ones that have something, and then from
// those before. Returns what was too much for all.
static uint64_t clear_debts(struct times *t)
{
	int64_t debt = 0;

	for (uint32_t bin = 0; bin < CELLS_BINS; bin++) {
		t->ns[bin] -= debt;
		debt = t->ns[bin] < 0 ? -t->ns[bin] : 0;
		t->ns[bin] = t->ns[bin] < 0 ? 0 : t->ns[bin];
	}
	for (uint32_t bin = CELLS_BINS; debt && bin-- > 0;) {
		int64_t part = t->ns[bin] < debt ? t->ns[bin] : debt;
		t->ns[bin] -= part;
		debt -= part;
	}
	return (uint64_t)debt;
}

// Takes the most that there is, up to NS, evenly from all bins.
static void take_evenly(struct times *t, uint64_t *ns)
{
	uint64_t all = 0;

	for (uint32_t bin = 0; bin < CELLS_BINS; bin++)
		all += (uint64_t)t->ns[bin];
	double share = all > *ns ? (double)*ns / (double)all : 1;
	for (uint32_t bin = 0; all && bin < CELLS_BINS; bin++) {
		int64_t part = (int64_t)((double)t->ns[bin] * share);
		t->ns[bin] -= part;
		*ns -= (uint64_t)part < *ns ? (uint64_t)part : *ns;
	}
}

static bool put_times(struct cells *to, const struct cell *key, const struct times *t)
{
	struct cell cell = { .node = key->node, .metric = key->metric, .samples = t->samples };

	for (uint32_t bin = 0; bin < CELLS_BINS; bin++) {
		cell.bin = (uint16_t)bin;
		cell.ns = (uint64_t)t->ns[bin];
		if (cell.ns && !cells_put(to, &cell))
			return false;
		cell.samples = cell.ns ? 0 : cell.samples;
	}
	return true;
}

// What is left of the thread's own time, under METRIC, is less by up to NS. Returns what is still
// to be taken.
static uint64_t take_from(struct cells *left, enum metric metric, uint64_t ns)
{
	uint64_t all = 0, taken = 0;

	for (uint32_t i = 0; i < left->count; i++)
		all += left->cells[i].metric == metric ? left->cells[i].ns : 0;
	double share = all > ns ? (double)ns / (double)all : 1;
	for (uint32_t i = 0; all && i < left->count; i++) {
		struct cell *cell = &left->cells[i];
		uint64_t part = cell->metric == metric ? (uint64_t)((double)cell->ns * share) : 0;
		cell->ns -= part;
		taken += part;
	}
	return ns - (taken < ns ? taken : ns);
}

// Each bin of C has its own time.
static bool spell_out(struct cells *c)
{
	cleanup_free uint32_t *order = sorted(c);
	cleanup_free struct times *times = malloc(sizeof(*times));
	struct cells out = { 0 };
	bool ok = order && times && cells_init(&out);

	out.origin_ns = c->origin_ns;
	out.width_ns = c->width_ns;
	for (uint32_t i = 0, end; ok && i < c->count; i = end) {
		end = next_key(c, order, i);
		memset(times, 0, sizeof(*times));
		read_times(times, c, order, i, end, 1);
		ok = put_times(&out, &c->cells[order[i]], times);
	}
	if (!ok) {
		cells_fini(&out);
		return false;
	}
	cells_fini(c);
	*c = out;
	return true;
}

// REST was taken out of waits that are not there under the same cause: of a wait that was not
// looked at it is not known, and stacks that stand for many are of other ones. It is of other waits
// then.
static bool take_elsewhere(struct cells *left, const uint64_t rest[METRIC_COUNT])
{
	static const enum metric others[] = { METRIC_OFF_LOCK,  METRIC_OFF_OTHER,
		                              METRIC_OFF_PIPE,  METRIC_OFF_NET,
		                              METRIC_OFF_CHILD, METRIC_OFF_RUNNABLE,
		                              METRIC_OFF_SLEEP, METRIC_OFF_FILE };
	uint64_t ns = 0;

	for (int m = 0; m < METRIC_COUNT; m++)
		ns += m != METRIC_ON_CPU ? rest[m] : 0;
	if (!ns)
		return true;
	if (!spell_out(left))
		return false;
	for (size_t i = 0; ns && i < sizeof(others) / sizeof(others[0]); i++)
		ns = take_from(left, others[i], ns);
	return true;
}

// OWN - MINUS goes to TO.
static bool subtract(struct wall_time *t, struct cells *to, const struct cells *own,
                     const struct cells *minus)
{
	cleanup_free uint32_t *own_order = sorted(own), *minus_order = sorted(minus);
	cleanup_free struct times *times = malloc(sizeof(*times));
	uint64_t rest[METRIC_COUNT];
	uint32_t m = 0;

	if (!own_order || !minus_order || !times)
		return false;
	memcpy(rest, t->minus_ns, sizeof(rest));
	for (uint32_t i = 0, end; i < own->count; i = end) {
		const struct cell *key = &own->cells[own_order[i]];
		uint64_t wanted = order_of(key) >> 16;
		uint32_t metric = key->metric % METRIC_COUNT, from;
		end = next_key(own, own_order, i);
		while (m < minus->count && order_of(&minus->cells[minus_order[m]]) >> 16 < wanted) {
			// There is nothing that it could be of.
			rest[minus->cells[minus_order[m]].metric % METRIC_COUNT] +=
				cells_whole(minus, &minus->cells[minus_order[m]]);
			m++;
		}
		from = m;
		if (m < minus->count && order_of(&minus->cells[minus_order[m]]) >> 16 == wanted)
			m = next_key(minus, minus_order, m);
		if (from == m && !rest[metric]) {
			for (uint32_t k = i; k < end; k++)
				if (!cells_put(to, &own->cells[own_order[k]]))
					return false;
			continue;
		}
		memset(times, 0, sizeof(*times));
		read_times(times, own, own_order, i, end, 1);
		read_times(times, minus, minus_order, from, m, -1);
		rest[metric] += clear_debts(times);
		if (rest[metric])
			take_evenly(times, &rest[metric]);
		if (!put_times(to, key, times))
			return false;
	}
	for (; m < minus->count; m++)
		rest[minus->cells[minus_order[m]].metric % METRIC_COUNT] +=
			cells_whole(minus, &minus->cells[minus_order[m]]);
	return take_elsewhere(to, rest);
}

bool wall_time_sum(struct wall_time *t, const struct cells *own, const struct paths *paths)
{
	cleanup_free bool *is_own = nodes_of(paths, t->root);
	struct cells of_root = { 0 }, minus = { 0 };
	uint64_t width = own->width_ns;

	if (!is_own || !cells_init(&of_root) || !cells_init(&minus)) {
		cells_fini(&of_root);
		cells_fini(&minus);
		return false;
	}
	width = t->plus.width_ns > width ? t->plus.width_ns : width;
	width = t->minus.width_ns > width ? t->minus.width_ns : width;
	cells_fini(&t->cells);
	bool ok = cells_init(&t->cells);
	if (t->rank)
		memset(is_own, 0, paths->count);
	t->cells.origin_ns = of_root.origin_ns = minus.origin_ns = own->origin_ns;
	t->cells.width_ns = of_root.width_ns = minus.width_ns = width;
	ok = ok && add_cells(&of_root, own, is_own) && add_cells(&minus, &t->minus, NULL) &&
	     subtract(t, &t->cells, &of_root, &minus) && add_cells(&t->cells, &t->plus, NULL);
	cells_fini(&of_root);
	cells_fini(&minus);
	return ok;
}
