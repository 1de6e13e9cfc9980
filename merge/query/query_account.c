// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query.h"
#include "merge/scope/window.h"
#include "merge/table/cells.h"
#include "merge/wall/wall_time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORK_SHARE 0.05 // of its life, on CPUs: less is hardly any work

// What the stacks say about one thread.
struct seen {
	uint64_t ns[METRIC_COUNT];
	uint64_t kernel_ns; // of on-CPU
};

// The part of the run that is accounted for.
struct part {
	bool whole;
	uint64_t from_ns, to_ns; // CLOCK_MONOTONIC: of its bins, or of what was recorded
	struct window bins;
};

// The slot of the thread that each node belongs to [node - 1].
static uint32_t *slots_of_nodes(const struct profile *p)
{
	uint32_t *slots = calloc((size_t)profile_paths(p)->count + 1, sizeof(*slots));

	for (uint32_t id = 1; slots && id <= profile_paths(p)->count; id++) {
		const struct path_node *node = profile_node(p, id);
		slots[id - 1] = node->parent ? slots[node->parent - 1] : node->location;
	}
	return slots;
}

static bool is_kernel_node(const struct profile *p, uint32_t id)
{
	const struct path_node *node = profile_node(p, id);

	return node->parent && profile_is_kernel(p, profile_location(p, node->location));
}

// By slot [slot - 1]. NULL if there is no memory.
static struct seen *add_up(const struct profile *p, const struct part *part)
{
	const struct cells *cells = profile_cells(p);
	cleanup_free uint32_t *slots = slots_of_nodes(p);
	struct seen *seen = calloc(profile_threads(p)->thread_count + 1, sizeof(*seen));

	if (!slots || !seen) {
		free(seen);
		return NULL;
	}
	for (uint32_t i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		struct seen *thread = &seen[slots[cell->node - 1] - 1];
		uint64_t ns = cells_between(cells, cell, part->bins.first_bin, part->bins.end_bin);
		thread->ns[cell->metric] += ns;
		if (cell->metric == METRIC_ON_CPU && is_kernel_node(p, cell->node))
			thread->kernel_ns += ns;
	}
	return seen;
}

static uint64_t sum_of(const uint64_t ns[METRIC_COUNT])
{
	uint64_t sum = 0;

	for (int i = 0; i < METRIC_COUNT; i++)
		sum += ns[i];
	return sum;
}

static uint64_t scale(uint64_t value, uint64_t to, uint64_t from)
{
	return from ? (uint64_t)((unsigned __int128)value * to / from) : 0;
}

// Of a part with pauses in it so much was recorded. Cycles of a schedule have none, but there are
// some between them.
static uint64_t scale_to_recorded(const struct profile *p, const struct part *part, uint64_t ns)
{
	const struct run *run = profile_run(p);
	uint64_t from = run->recorded_from_ns, to = run->recorded_to_ns;
	bool pauses = run->recorded_range || run->recorded_gates ||
	              (run->recorded_schedule && part->from_ns <= run->start_ns + from &&
	               part->to_ns >= run->start_ns + to);

	return pauses && to > from ? scale(ns, run->recorded_ns, to - from) : ns;
}

static uint64_t lifetime_of(const struct profile *p, const struct thread_info *info,
                            const struct part *part)
{
	uint64_t end = info->end_ns ? info->end_ns : profile_last_ns(p);
	uint64_t start = info->start_ns > part->from_ns ? info->start_ns : part->from_ns;

	end = end < part->to_ns ? end : part->to_ns;
	return end > start ? scale_to_recorded(p, part, end - start) : 0;
}

/*
 * Makes the parts sum to the lifetime. Time that nobody saw is off-CPU of unknown
 * cause: it left no sample. Samples that say more than there was are scaled down.
 */
static void balance(struct account *account)
{
	uint64_t sum = sum_of(account->ns);
	uint64_t life = account->lifetime_ns;

	if (sum <= life) {
		account->ns[METRIC_OFF_OTHER] += life - sum;
		return;
	}
	if (account->exact) {
		account->lifetime_ns = sum; // the scheduler's clock and ours, a few ns apart
		return;
	}
	for (int i = 0; i < METRIC_COUNT; i++)
		account->ns[i] = scale(account->ns[i], life, sum);
	account->ns[METRIC_ON_CPU] += life - sum_of(account->ns); // what rounding left
}

// All waits are known exactly, so what is left of a part of the run was spent on a CPU.
static void take_the_rest_as_on_cpu(struct account *account)
{
	uint64_t on_cpu = account->ns[METRIC_ON_CPU], waited = sum_of(account->ns) - on_cpu;

	if (on_cpu && waited <= account->lifetime_ns)
		account->ns[METRIC_ON_CPU] = account->lifetime_ns - waited;
}

static struct account account_of(const struct profile *p, uint32_t slot, const struct seen *seen,
                                 const struct part *part)
{
	const struct thread_info *info = profile_thread(p, slot);
	const struct process_info *process = profile_process(p, info->process);
	const char *command = process ? profile_string(p, process->command) : NULL;
	struct account account = {
		.thread = profile_string(p, info->name),
		.process = command ? command : "",
		.tid = info->tid,
		.slot = slot,
		.pid = process ? process->pid : 0,
		.exact = part->whole && thread_is_exact(info),
		.lifetime_ns = lifetime_of(p, info, part),
		.gil_held_ns = part->whole ? info->gil_held_ns : 0,
		.gil_waited_ns = part->whole ? info->gil_waited_ns : 0,
	};

	memcpy(account.ns, account.exact ? info->ns : seen->ns, sizeof(account.ns));
	if (!part->whole && profile_run(p)->off_cpu_exact)
		take_the_rest_as_on_cpu(&account);
	balance(&account);
	account.kernel_ns =
		scale(seen->kernel_ns, account.ns[METRIC_ON_CPU], seen->ns[METRIC_ON_CPU]);
	return account;
}

static bool mostly_waits_for_others(const struct account *account)
{
	return account->ns[METRIC_OFF_LOCK] + account->ns[METRIC_OFF_CHILD] >
	       account->lifetime_ns / 2;
}

static bool works(const struct account *account)
{
	return (double)account->ns[METRIC_ON_CPU] >= WORK_SHARE * (double)account->lifetime_ns;
}

static struct part part_of(const struct profile *p, uint64_t from_ns, uint64_t to_ns)
{
	const struct cells *cells = profile_cells(p);
	const struct window_limits limits = window_limits(p, from_ns, to_ns);
	struct part part = { .whole = !from_ns && !to_ns, .to_ns = UINT64_MAX };

	part.bins = window_of(p, from_ns, to_ns);
	if (limits.from_ns)
		part.from_ns = cells->origin_ns + part.bins.first_bin * cells->width_ns;
	else if (from_ns)
		part.from_ns = profile_start_ns(p) + from_ns;
	if (limits.to_ns)
		part.to_ns = cells->origin_ns + part.bins.end_bin * cells->width_ns;
	else if (to_ns)
		part.to_ns = profile_start_ns(p) + to_ns;
	return part;
}

static uint64_t length_of(const struct profile *p, const struct part *part)
{
	uint64_t start = profile_start_ns(p), end = start + profile_run_ns(p);

	start = part->from_ns > start ? part->from_ns : start;
	end = part->to_ns < end ? part->to_ns : end;
	return end > start ? end - start : 0;
}

struct gil {
	uint64_t held_ns, waited_ns;
};

// Each process has a lock of its own.
static int add_gil(const struct profile *p, struct account *account, struct error *err)
{
	const struct threads *t = profile_threads(p);
	cleanup_free struct gil *gils = calloc((size_t)t->process_count + 1, sizeof(*gils));
	const struct gil *most = gils;

	if (!gils)
		return error_set(err, ENOMEM, "could not account for the threads");
	for (size_t i = 0; i < t->thread_count; i++) {
		struct gil *gil = &gils[t->threads[i].process];
		gil->held_ns += t->threads[i].gil_held_ns;
		gil->waited_ns += t->threads[i].gil_waited_ns;
		account->gil_all_waited_ns += t->threads[i].gil_waited_ns;
		if (gil->waited_ns > most->waited_ns)
			most = gil;
	}
	account->gil_turns_ns = most->held_ns;
	return 0;
}

// Whom the thread in SLOT waited for longest; 0: nobody is known.
static uint32_t awaited_by(const struct profile *p, uint32_t slot)
{
	const struct wall_time *t = profile_wall_time(p);
	const struct wall_edge *most = NULL;

	for (size_t i = 0; i < t->edge_count; i++)
		if (t->edges[i].waiter == slot && t->edges[i].holder &&
		    (!most || t->edges[i].ns > most->ns))
			most = &t->edges[i];
	return most ? most->holder : 0;
}

int query_account_in(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                     struct account *account, struct error *err)
{
	const struct part part = part_of(p, from_ns, to_ns);
	cleanup_free struct seen *seen = add_up(p, &part);
	uint32_t main_slot = threads_first(profile_threads(p));

	if (!seen)
		return error_set(err, ENOMEM, "could not account for the threads");
	if (!main_slot)
		return error_set(err, 0, "the profile has no thread");
	struct account critical = account_of(p, main_slot, &seen[main_slot - 1], &part);
	critical.is_main = profile_thread(p, main_slot)->process == 1;
	const struct account first = critical;
	// What is looked at for a while has no end that its first thread would come to.
	bool look_further = mostly_waits_for_others(&critical) || profile_run(p)->attached_pid;
	for (uint32_t slot = 1; look_further && slot <= profile_threads(p)->thread_count; slot++) {
		if (slot == main_slot || !thread_is_apart(profile_thread(p, slot)))
			continue;
		struct account other = account_of(p, slot, &seen[slot - 1], &part);
		if (other.lifetime_ns >= length_of(p, &part) / 2 &&
		    other.ns[METRIC_ON_CPU] > critical.ns[METRIC_ON_CPU])
			critical = other;
	}
	// Where no thread works, which of them was on a CPU for longest is chance: one that answers
	// the others would be blamed for waiting for them.
	uint32_t awaited = mostly_waits_for_others(&first) && !profile_run(p)->attached_pid &&
	                                   !works(&critical)
	                           ? awaited_by(p, main_slot)
	                           : 0;
	if (awaited && awaited != main_slot && thread_is_apart(profile_thread(p, awaited))) {
		struct account other = account_of(p, awaited, &seen[awaited - 1], &part);
		if (other.lifetime_ns >= length_of(p, &part) / 2)
			critical = other;
	}
	*account = critical;
	return part.whole ? add_gil(p, account, err) : 0;
}

int query_account(const struct profile *p, struct account *account, struct error *err)
{
	return query_account_in(p, 0, 0, account, err);
}
