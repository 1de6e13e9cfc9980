// SPDX-License-Identifier: MIT
#include "merge/table/allocations.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKS_MIN 64

bool allocations_init(struct allocations *a)
{
	a->blocks_max = ALLOCATIONS_BLOCKS;
	return hash_init(&a->index, 64);
}

void allocations_fini(struct allocations *a)
{
	for (size_t i = 0; i < a->process_count; i++)
		free(a->processes[i].blocks);
	free(a->processes);
	free(a->sites);
	hash_fini(&a->index);
}

static uint32_t slot_of(const struct allocations *a, uint32_t node)
{
	uint32_t at = hash_start(&a->index, hash_mix(node));

	while (a->index.slots[at] && a->sites[a->index.slots[at] - 1].node != node)
		at = hash_next(&a->index, at);
	return at;
}

uint32_t allocations_find(const struct allocations *a, uint32_t node)
{
	return a->index.slots[slot_of(a, node)];
}

struct allocation_site *allocations_append(struct allocations *a, uint32_t node)
{
	if (!hash_make_room(&a->index) ||
	    !array_reserve(&a->sites, &a->site_capacity, (size_t)a->site_count + 1))
		return NULL;
	struct allocation_site *site = &a->sites[a->site_count++];
	*site = (struct allocation_site){ .node = node };
	hash_insert(&a->index, slot_of(a, node), hash_mix(node), a->site_count);
	return site;
}

struct allocation_site *allocations_site(struct allocations *a, uint32_t node)
{
	uint32_t known = allocations_find(a, node);

	return known ? &a->sites[known - 1] : allocations_append(a, node);
}

// NULL if there is none, and no memory for one.
static struct allocating_process *process_of(struct allocations *a, uint32_t slot)
{
	if (slot > a->process_count) {
		if (!array_reserve(&a->processes, &a->process_capacity, slot))
			return NULL;
		memset(a->processes + a->process_count, 0,
		       (slot - a->process_count) * sizeof(*a->processes));
		a->process_count = slot;
	}
	return slot ? &a->processes[slot - 1] : NULL;
}

static uint32_t start_of(const struct allocating_process *p, uint64_t address)
{
	return (uint32_t)hash_mix(address) & p->mask;
}

// Where ADDRESS is, or would be.
static uint32_t find_block(const struct allocating_process *p, uint64_t address)
{
	uint32_t at = start_of(p, address);

	while (p->blocks[at].address && p->blocks[at].address != address)
		at = (at + 1) & p->mask;
	return at;
}

static bool grow_blocks(struct allocating_process *p)
{
	struct allocating_process grown = *p;
	uint32_t size = p->blocks ? 2 * (p->mask + 1) : BLOCKS_MIN;

	if (p->blocks && 2 * p->used <= p->mask)
		return true;
	grown.blocks = calloc(size, sizeof(*grown.blocks));
	grown.mask = size - 1;
	if (!grown.blocks)
		return false;
	for (uint32_t i = 0; p->blocks && i <= p->mask; i++)
		if (p->blocks[i].address)
			grown.blocks[find_block(&grown, p->blocks[i].address)] = p->blocks[i];
	free(p->blocks);
	*p = grown;
	return true;
}

// Closes the gap at AT: what lies behind it must still be found.
static void remove_block(struct allocating_process *p, uint32_t at)
{
	for (uint32_t next = (at + 1) & p->mask; p->blocks[next].address;
	     next = (next + 1) & p->mask) {
		uint32_t start = start_of(p, p->blocks[next].address);
		if (((next - start) & p->mask) < ((next - at) & p->mask))
			continue;
		p->blocks[at] = p->blocks[next];
		at = next;
	}
	p->blocks[at].address = 0;
	p->used--;
}

/*
 * What is alive at a peak is noted before it changes: at once where the peak is more than a
 * percent higher than the one before, and else not more often than sites have changed, so that
 * noting them costs no more than changing them.
 */
static void leave_peak(struct allocations *a)
{
	a->changes++;
	if (!a->at_peak)
		return;
	a->at_peak = false;
	if (a->peak_bytes <= a->noted_bytes + a->noted_bytes / 100 && a->changes < a->site_count)
		return;
	for (uint32_t i = 0; i < a->site_count; i++)
		a->sites[i].peak_bytes = a->sites[i].live_bytes;
	a->noted_bytes = a->peak_bytes;
	a->changes = 0;
}

static void see_peak(struct allocations *a, uint64_t time_ns)
{
	if (a->live_bytes <= a->peak_bytes)
		return;
	a->peak_bytes = a->live_bytes;
	a->peak_ns = time_ns;
	a->at_peak = true;
}

static void drop_live(struct allocations *a, uint64_t bytes)
{
	a->live_bytes -= bytes < a->live_bytes ? bytes : a->live_bytes;
}

// What a package's libraries have, by samples.
static void change_package(struct allocations *a, uint32_t package, int64_t bytes, uint64_t at_ns)
{
	struct memory_curve *curve = package ? &a->curves.of[package - 1] : NULL;

	if (!curve)
		return;
	uint64_t less = bytes < 0 ? -(uint64_t)bytes : 0;
	uint64_t left = curve->last_bytes > less ? curve->last_bytes - less : 0;
	memory_curve_add(curve, at_ns, bytes < 0 ? left : curve->last_bytes + (uint64_t)bytes);
}

uint32_t allocations_package(struct allocations *a, const char *name)
{
	const struct memory_curve *curve = memory_curves_get(&a->curves, CURVE_PACKAGE, name);

	return curve ? (uint32_t)(curve - a->curves.of) + 1 : 0;
}

void allocations_draw(struct allocations *a, uint64_t at_ns)
{
	struct memory_curve *curve = memory_curves_get(&a->curves, CURVE_ALLOCATED, "host");

	if (curve)
		memory_curve_add(curve, at_ns, a->live_bytes);
}

void allocations_free(struct allocations *a, uint32_t process, uint64_t address)
{
	allocations_free_at(a, process, address, 0);
}

void allocations_free_at(struct allocations *a, uint32_t process, uint64_t address, uint64_t at_ns)
{
	struct allocating_process *p =
		process && process <= a->process_count ? &a->processes[process - 1] : NULL;

	if (!p || !p->blocks)
		return;
	uint32_t at = find_block(p, address);
	if (!p->blocks[at].address)
		return;
	leave_peak(a);
	change_package(a, p->blocks[at].package, -(int64_t)p->blocks[at].bytes, at_ns);
	a->sites[p->blocks[at].site - 1].live_bytes -= p->blocks[at].bytes;
	if (!a->exact)
		drop_live(a, p->blocks[at].bytes);
	remove_block(p, at);
	a->block_count--;
}

static bool track(struct allocations *a, uint32_t process, const struct alloc_event *event,
                  uint32_t site, uint32_t package)
{
	struct allocating_process *p = process_of(a, process);

	if (!p || !event->address || event->untracked || a->block_count >= a->blocks_max ||
	    !grow_blocks(p))
		return false;
	p->blocks[find_block(p, event->address)] =
		(struct allocation_block){ event->address, event->weight_bytes, site, package };
	p->used++;
	a->block_count++;
	return true;
}

void allocations_add(struct allocations *a, uint32_t process, uint32_t node,
                     const struct alloc_event *event)
{
	allocations_add_at(a, process, node, 0, 0, event);
}

void allocations_add_at(struct allocations *a, uint32_t process, uint32_t node, uint32_t package,
                        uint64_t at_ns, const struct alloc_event *event)
{
	struct allocation_site *site = allocations_site(a, node);

	if (!site) {
		a->lost++;
		return;
	}
	allocations_free_at(a, process, event->address, at_ns); // what was there is no more
	site->samples++;
	site->allocated_bytes += event->weight_bytes;
	if (!track(a, process, event, (uint32_t)(site - a->sites) + 1, package)) {
		a->untracked_bytes += event->weight_bytes;
		return;
	}
	a->changes++;
	change_package(a, package, (int64_t)event->weight_bytes, at_ns);
	site->live_bytes += event->weight_bytes;
	if (a->exact)
		return;
	a->live_bytes += event->weight_bytes;
	see_peak(a, event->time_ns);
}

static uint64_t positive(int64_t bytes)
{
	return bytes > 0 ? (uint64_t)bytes : 0;
}

// From now on, processes have counted: what samples have told until now was told twice.
static void begin_exact(struct allocations *a)
{
	if (a->exact)
		return;
	a->exact = true;
	a->live_bytes = a->peak_bytes = a->peak_ns = a->noted_bytes = 0;
	a->at_peak = false;
}

// What a process says may be anything: at the ends of the range it stays there.
static int64_t add_net(int64_t bytes, int64_t net)
{
	int64_t sum;

	if (__builtin_add_overflow(bytes, net, &sum))
		return net < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

void allocations_count(struct allocations *a, uint32_t process, const struct memory_event *event)
{
	struct allocating_process *p = process ? process_of(a, process) : NULL;
	int64_t net = (int64_t)(event->allocated_bytes - event->freed_bytes);

	begin_exact(a);
	a->allocations += event->allocations;
	a->frees += event->frees;
	a->allocated_bytes += event->allocated_bytes;
	a->freed_bytes += event->freed_bytes;
	a->allocations_variance += event->allocations_variance;
	a->bytes_variance += event->bytes_variance;
	if (!p) {
		a->end_bytes = add_net(a->end_bytes, net);
		return;
	}
	drop_live(a, positive(p->live_bytes));
	p->live_bytes = add_net(p->live_bytes, net);
	a->live_bytes += positive(p->live_bytes);
	if (a->live_bytes < a->peak_bytes)
		leave_peak(a);
	see_peak(a, event->time_ns);
}

void allocations_end_process(struct allocations *a, uint32_t process)
{
	if (!process || process > a->process_count)
		return;
	struct allocating_process *p = &a->processes[process - 1];
	if (p->used || p->live_bytes > 0)
		leave_peak(a);
	for (uint32_t i = 0; p->used && i <= p->mask; i++) {
		const struct allocation_block *block = &p->blocks[i];
		if (!block->address)
			continue;
		a->sites[block->site - 1].live_bytes -= block->bytes;
		a->sites[block->site - 1].end_bytes += block->bytes;
		if (!a->exact)
			drop_live(a, block->bytes);
	}
	if (a->exact)
		drop_live(a, positive(p->live_bytes));
	a->end_bytes = add_net(a->end_bytes, (int64_t)positive(p->live_bytes));
	a->block_count -= p->used;
	free(p->blocks);
	*p = (struct allocating_process){ 0 };
}

static void add_site(struct allocation_site *to, const struct allocation_site *by)
{
	to->samples += by->samples;
	to->allocated_bytes += by->allocated_bytes;
	to->live_bytes += by->live_bytes;
	to->peak_bytes += by->peak_bytes;
	to->end_bytes += by->end_bytes;
}

static void move_blocks(struct allocations *a, const uint32_t *sites)
{
	for (size_t i = 0; i < a->process_count; i++) {
		struct allocating_process *p = &a->processes[i];
		for (uint32_t at = 0; p->used && at <= p->mask; at++)
			if (p->blocks[at].address)
				p->blocks[at].site = sites[p->blocks[at].site - 1];
	}
}

void allocations_move_nodes(struct allocations *a, const uint32_t *map, uint32_t *room)
{
	uint32_t count = a->site_count;

	hash_clear(&a->index);
	a->site_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct allocation_site site = a->sites[i];
		site.node = map[site.node - 1];
		uint32_t at = slot_of(a, site.node);
		uint32_t known = a->index.slots[at];
		if (known) {
			add_site(&a->sites[known - 1], &site);
			room[i] = known;
			continue;
		}
		a->sites[a->site_count++] = site;
		hash_insert(&a->index, at, hash_mix(site.node), a->site_count);
		room[i] = a->site_count;
	}
	move_blocks(a, room);
}

uint64_t allocations_end_bytes(const struct allocations *a)
{
	int64_t bytes = a->end_bytes;

	for (size_t i = 0; i < a->process_count; i++)
		bytes += (int64_t)positive(a->processes[i].live_bytes);
	return positive(bytes);
}
