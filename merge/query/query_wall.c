// SPDX-License-Identifier: MIT
#include "merge/query/query_wall.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "merge/numbers/statistics.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query.h"
#include "merge/scope/kept.h"
#include "merge/scope/keys.h"
#include "merge/scope/scope.h"
#include "merge/table/ranks.h"
#include "merge/wall/wall_time.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SAME_SHARE    0.05 /* of wall time: orders that differ by less are the same */
#define OTHERS_SHARE  0.05 /* of wall time, that other threads worked for the run's own */
#define UNKNOWN_SHARE 0.20 /* of wall time, in waits for others of whom none is known */

uint64_t query_wall_ns(const struct profile *p)
{
	const struct wall_time *t = profile_wall_time(p);
	uint64_t ns = 0;

	for (uint32_t i = 0; i < t->cells.count; i++)
		ns += cells_whole(&t->cells, &t->cells.cells[i]);
	return ns;
}

double query_sampling_weight(const struct profile *p)
{
	const struct cells *cells = profile_cells(p);
	uint64_t samples = profile_run(p)->samples, ns = 0;

	for (uint32_t i = 0; samples && i < cells->count; i++)
		if (!metric_is_off_cpu(cells->cells[i].metric))
			ns += cells_whole(cells, &cells->cells[i]);
	return samples ? (double)ns / (double)samples : 0;
}

uint64_t query_weighted_margin(double weight_ns, uint64_t ns, uint64_t all_ns)
{
	if (!all_ns || !ns || weight_ns <= 0)
		return 0;
	double samples = (double)all_ns / weight_ns;
	double share = ns < all_ns ? (double)ns / (double)all_ns : 1;
	uint64_t count = samples < 1 ? 1 : (uint64_t)samples;
	double half_ns = statistics_wilson(share, count).half * (double)all_ns;
	return ns_whole(half_ns);
}

uint64_t query_sampling_margin(const struct profile *p, uint64_t ns, uint64_t all_ns)
{
	return query_weighted_margin(query_sampling_weight(p), ns, all_ns);
}

bool query_wall_rank(const struct profile *p, struct wall_rank *rank)
{
	uint32_t at = profile_wall_time(p)->rank;

	if (!at)
		return false;
	const struct rank_info *info = &profile_ranks(p)->ranks[at - 1];
	*rank = (struct wall_rank){ info->number, info->numbered };
	return true;
}

// Time of code that is not the user's own, on CPUs and blocked.
static uint64_t outside_ns(const struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->rows[i].name, KEY_OUTSIDE_NAME) == 0)
			return rows->rows[i].self;
	return 0;
}

struct rows *query_wall_owners(const struct profile *p, const struct query *query,
                               struct error *err)
{
	bool known = profile_wall_time(p)->cells.count != 0;
	struct query asked = *query;

	asked.by = BY_FUNCTION;
	asked.sort = SORT_SELF;
	asked.of = known ? QUERY_WALL : QUERY_THREADS;
	asked.on_cpu = asked.off_cpu = asked.without_others = false;
	if (!asked.user_code)
		asked.user_code = QUERY_OWN_CODE;
	struct rows *rows = query_run(p, &asked, err);
	// A program that is none of the user's own has its functions as they are.
	if (rows && known && outside_ns(rows) * 2 > rows->all && !query->user_code) {
		rows_free(rows);
		asked.user_code = NULL;
		rows = query_run(p, &asked, err);
	}
	if (rows && !known)
		rows->count = 0;
	return rows;
}

static bool is_kernel(const struct profile *p, uint32_t id)
{
	const struct path_node *node = profile_node(p, id);

	return node->parent && profile_is_kernel(p, profile_location(p, node->location));
}

// What all threads did, or the one of each instant that the run waited for, less what others take.
static int add_up(const struct profile *p, struct query query, enum query_of of,
                  struct wall_account *account, uint64_t *counted, struct error *err)
{
	cleanup(scope) struct scope scope = { 0 };

	query.of = of;
	query.by = BY_FUNCTION;
	query.without_others = true;
	if (scope_init(&scope, p, &query, err) < 0)
		return -1;
	for (uint32_t i = 0; i < scope.first_cell[profile_paths(p)->count]; i++) {
		const struct cell *cell = &scope.table->cells[scope.cells[i]];
		uint64_t cell_ns = scope_ns(&scope, cell);
		account->ns[scope_metric(cell)] += cell_ns;
		if (scope_metric(cell) == METRIC_ON_CPU && is_kernel(p, cell->node))
			account->kernel_ns += cell_ns;
		*counted += scope_counts(&scope, cell) ? cell_ns : 0;
	}
	return 0;
}

static uint32_t slot_of(const struct profile *p, uint32_t node)
{
	while (profile_node(p, node)->parent)
		node = profile_node(p, node)->parent;
	return profile_node(p, node)->location;
}

// What other threads than the run's own did while that one waited for them. Of one that nothing is
// known of, as it was not sampled, there is but that it had no CPU.
static uint64_t others_ns(const struct profile *p)
{
	const struct wall_time *t = profile_wall_time(p);
	uint64_t ns = 0;

	for (uint32_t i = 0; i < t->plus.count; i++)
		if (t->plus.cells[i].metric != METRIC_OFF_RUNNABLE &&
		    slot_of(p, t->plus.cells[i].node) != t->root)
			ns += cells_whole(&t->plus, &t->plus.cells[i]);
	return ns;
}

static int find_account(const struct profile *p, const struct query *query,
                        struct wall_account *account, struct error *err)
{
	struct wall_account of_threads = { 0 };
	uint64_t counted = 0, threads = 0;
	bool part = query->thread || query->process || query->on_cpu != query->off_cpu;

	*account = (struct wall_account){ 0 };
	if (!profile_wall_time(p)->cells.count)
		return 0;
	// Nobody waits for a thread that would go on for ever: the one that works most counts.
	if (profile_run(p)->attached_pid) {
		struct account critical;
		if (query_account(p, &critical, err) < 0)
			return -1;
		part |= !critical.is_main;
	}
	if (add_up(p, *query, QUERY_WALL, account, &counted, err) < 0 ||
	    add_up(p, *query, QUERY_THREADS, &of_threads, &threads, err) < 0)
		return -1;
	for (int m = 0; m < METRIC_COUNT; m++)
		account->all_ns += account->ns[m];
	double all = (double)account->all_ns, more = (double)threads - (double)counted;
	double unknown = (double)(account->ns[METRIC_OFF_LOCK] + account->ns[METRIC_OFF_CHILD] +
	                          account->ns[METRIC_OFF_NET] + account->ns[METRIC_OFF_PIPE] +
	                          account->ns[METRIC_OFF_OTHER]);
	// A script that runs one program after the other has waited for what they did: no order
	// changes by that, but whose the time was does.
	account->ranks = !part && unknown <= UNKNOWN_SHARE * all &&
	                 (more > SAME_SHARE * all || more < -SAME_SHARE * all ||
	                  (double)others_ns(p) > OTHERS_SHARE * all);
	return 0;
}

int query_wall_account(const struct profile *p, const struct query *query,
                       struct wall_account *account, struct error *err)
{
	struct kept_key key = kept_key(p, "wall account %" PRIu64 " %" PRIu64 " %d %d",
	                               query->from_ns, query->to_ns, query->on_cpu, query->off_cpu);
	key.works &= !query->thread && !query->process;
	const struct wall_account *kept = kept_find(&key);

	if (kept) {
		*account = *kept;
		return 0;
	}
	if (find_account(p, query, account, err) < 0)
		return -1;
	cleanup_free struct wall_account *copy = key.works ? malloc(sizeof(*copy)) : NULL;
	if (copy)
		*copy = *account;
	if (copy && kept_add(&key, copy, free))
		steal(copy);
	return 0;
}
