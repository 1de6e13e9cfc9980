// SPDX-License-Identifier: MIT
#include "merge/query/query_startup.h"

#include "base/error.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/window.h"
#include "merge/table/cells.h"
#include "merge/warmup/causes.h"

#include <errno.h>
#include <stdlib.h>

// What happened in the bins, by cause: first as differences, as in merge/table/cells.h, then as
// times.
struct course {
	uint64_t *ns;  // [cause * CELLS_BINS + bin]
	int64_t *rate; // the same
	uint32_t bins;
};

static void course_at_scope_end(struct course *c)
{
	free(c->ns);
	free(c->rate);
}

// [node - 1]: whether it is of the thread in SLOT.
static bool *nodes_of_thread(const struct profile *p, uint32_t slot)
{
	bool *mine = calloc((size_t)profile_paths(p)->count + 1, sizeof(*mine));

	for (uint32_t id = 1; mine && id <= profile_paths(p)->count; id++) {
		const struct path_node *node = profile_node(p, id);
		mine[id - 1] = node->parent ? mine[node->parent - 1] : node->location == slot;
	}
	return mine;
}

// Time that says nothing of what the thread was doing: it waits for a CPU, or was not seen.
static bool is_anybodys(const struct profile *p, const struct cell *cell)
{
	const struct path_node *node = profile_node(p, cell->node);

	if (cell->metric == METRIC_OFF_RUNNABLE || !node->parent)
		return true;
	const struct location *location = profile_location(p, node->location);
	return location->kind == FRAME_MARK && !profile_node(p, node->parent)->parent;
}

// The times of thread SLOT.
static bool add_up(struct course *c, const struct profile *p, uint32_t slot)
{
	const struct cells *cells = profile_cells(p);
	cleanup_free uint8_t *causes = causes_of_nodes(p);
	cleanup_free bool *mine = nodes_of_thread(p, slot);

	c->bins = cells->last_bin + 1 < CELLS_BINS ? cells->last_bin + 1 : CELLS_BINS;
	c->ns = calloc((size_t)CAUSE_COUNT * CELLS_BINS, sizeof(*c->ns));
	c->rate = calloc((size_t)CAUSE_COUNT * CELLS_BINS, sizeof(*c->rate));
	if (!causes || !mine || !c->ns || !c->rate)
		return false;
	for (uint32_t i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		if (!mine[cell->node - 1] || cell->bin >= c->bins || is_anybodys(p, cell))
			continue;
		enum cause cause = causes_of_time((enum cause)causes[cell->node - 1],
		                                  (enum metric)cell->metric);
		c->ns[cause * CELLS_BINS + cell->bin] += cell->ns;
		c->rate[cause * CELLS_BINS + cell->bin] += cell->rate;
	}
	return true;
}

static void integrate(struct course *c, uint64_t width_ns)
{
	for (int cause = 0; cause < CAUSE_COUNT; cause++) {
		int64_t rate = 0;
		for (uint32_t bin = 0; bin < c->bins; bin++) {
			rate += c->rate[cause * CELLS_BINS + bin];
			c->ns[cause * CELLS_BINS + bin] += (uint64_t)rate * width_ns;
		}
	}
}

static int64_t balance_of(const struct course *c, uint32_t bin)
{
	int64_t balance = 0;

	for (int cause = 0; cause < CAUSE_COUNT; cause++) {
		int64_t ns = (int64_t)c->ns[cause * CELLS_BINS + bin];
		if (cause != CAUSE_FAULTS && cause != CAUSE_FILES) // these may befall anything
			balance += cause_is_startup((enum cause)cause) ? ns : -ns;
	}
	return balance;
}

// The bin behind the start.
static uint32_t find_end(const struct course *c, const struct profile *p, uint64_t limit_ns)
{
	int64_t sum = 0, best = 0;
	uint32_t end = 0;

	for (uint32_t bin = 0; bin < c->bins; bin++) {
		if (limit_ns && window_bin_start(p, bin) >= limit_ns)
			break;
		sum += balance_of(c, bin);
		if (sum <= best)
			continue;
		best = sum;
		end = bin + 1;
	}
	return end;
}

int query_startup(const struct profile *p, uint64_t limit_ns, struct startup *startup,
                  struct error *err)
{
	cleanup(course) struct course c = { 0 };
	uint32_t slot = threads_first(profile_threads(p));

	*startup = (struct startup){ 0 };
	if (!slot || !profile_cells(p)->count)
		return 0;
	if (!add_up(&c, p, slot))
		return error_set(err, ENOMEM, "could not look for the start");
	integrate(&c, profile_cells(p)->width_ns);
	uint32_t end = find_end(&c, p, limit_ns);
	if (!end)
		return 0;
	startup->ns = window_bin_start(p, end);
	if (limit_ns && startup->ns > limit_ns)
		startup->ns = limit_ns;
	for (int cause = 0; cause < CAUSE_COUNT; cause++)
		for (uint32_t bin = 0; bin < end; bin++)
			startup->causes[cause] += c.ns[cause * CELLS_BINS + bin];
	return 0;
}
