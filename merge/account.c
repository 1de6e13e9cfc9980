// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "merge/profile_data.h"
#include "merge/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// What the stacks say about one thread.
struct seen {
	uint64_t ns[METRIC_COUNT];
	uint64_t kernel_ns; // of on-CPU
};

// The slot of the thread that each node belongs to [node - 1].
static uint32_t *slots_of_nodes(const struct profile *p)
{
	uint32_t *slots = calloc((size_t)p->paths.count + 1, sizeof(*slots));

	for (uint32_t id = 1; slots && id <= p->paths.count; id++) {
		const struct path_node *node = paths_node(&p->paths, id);
		slots[id - 1] = node->parent ? slots[node->parent - 1] : node->location;
	}
	return slots;
}

static bool is_kernel_node(const struct profile *p, uint32_t id)
{
	const struct path_node *node = paths_node(&p->paths, id);

	return node->parent && profile_is_kernel(p, locations_get(&p->locations, node->location));
}

// By slot [slot - 1]. NULL if there is no memory.
static struct seen *add_up(const struct profile *p)
{
	cleanup_free uint32_t *slots = slots_of_nodes(p);
	struct seen *seen = calloc(p->threads.thread_count + 1, sizeof(*seen));

	if (!slots || !seen) {
		free(seen);
		return NULL;
	}
	for (uint32_t i = 0; i < p->cells.count; i++) {
		const struct cell *cell = &p->cells.cells[i];
		struct seen *thread = &seen[slots[cell->node - 1] - 1];
		uint64_t ns = cells_whole(&p->cells, cell);
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

static uint64_t lifetime_of(const struct profile *p, const struct thread_info *info)
{
	uint64_t end = info->end_ns ? info->end_ns : p->last_ns;

	return end > info->start_ns ? end - info->start_ns : 0;
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

static struct account account_of(const struct profile *p, uint32_t slot, const struct seen *seen)
{
	const struct thread_info *info = threads_get(&p->threads, slot);
	const struct process_info *process = threads_process(&p->threads, info->process);
	const char *command = process ? strings_get(p->strings, process->command) : NULL;
	struct account account = {
		.thread = strings_get(p->strings, info->name),
		.process = command ? command : "",
		.tid = info->tid,
		.slot = slot,
		.pid = process ? process->pid : 0,
		.exact = thread_is_exact(info),
		.lifetime_ns = lifetime_of(p, info),
		.gil_held_ns = info->gil_held_ns,
		.gil_waited_ns = info->gil_waited_ns,
	};

	memcpy(account.ns, account.exact ? info->ns : seen->ns, sizeof(account.ns));
	balance(&account);
	account.kernel_ns =
		scale(seen->kernel_ns, account.ns[METRIC_ON_CPU], seen->ns[METRIC_ON_CPU]);
	return account;
}

static bool has_account(const struct thread_info *info)
{
	return info->merged == 1 && info->name;
}

// The first thread of the first process; else the first thread there is. 0 if there is none.
static uint32_t find_main(const struct profile *p)
{
	const struct threads *t = &p->threads;
	uint32_t first = 0;

	for (uint32_t slot = 1; slot <= t->thread_count; slot++) {
		if (!has_account(threads_get(t, slot)))
			continue;
		if (threads_get(t, slot)->process == 1)
			return slot;
		first = first ? first : slot;
	}
	return first;
}

static bool mostly_waits_for_others(const struct account *account)
{
	return account->ns[METRIC_OFF_LOCK] + account->ns[METRIC_OFF_CHILD] >
	       account->lifetime_ns / 2;
}

static uint64_t run_length(const struct profile *p)
{
	uint64_t start = profile_start_ns(p);

	if (p->run.wall_ns)
		return p->run.wall_ns;
	return p->last_ns > start ? p->last_ns - start : 0;
}

int query_account(const struct profile *p, struct account *account, struct error *err)
{
	cleanup_free struct seen *seen = add_up(p);
	uint32_t main_slot = find_main(p);

	if (!seen)
		return error_set(err, ENOMEM, "could not account for the threads");
	if (!main_slot)
		return error_set(err, 0, "the profile has no thread");
	struct account critical = account_of(p, main_slot, &seen[main_slot - 1]);
	critical.is_main = threads_get(&p->threads, main_slot)->process == 1;
	bool look_further = mostly_waits_for_others(&critical);
	for (uint32_t slot = 1; look_further && slot <= p->threads.thread_count; slot++) {
		if (slot == main_slot || !has_account(threads_get(&p->threads, slot)))
			continue;
		struct account other = account_of(p, slot, &seen[slot - 1]);
		if (other.lifetime_ns >= run_length(p) / 2 &&
		    other.ns[METRIC_ON_CPU] > critical.ns[METRIC_ON_CPU])
			critical = other;
	}
	*account = critical;
	return 0;
}
