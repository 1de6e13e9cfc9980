// SPDX-License-Identifier: MIT
#include "tracer/agent/waits/waits_folded.h"

#include <stddef.h>

#define TRIES 4

void folded_add(struct folded_group *group, uint32_t tid, uint64_t ns)
{
	uint32_t i = 0;

	while (i < group->count && group->owners[i].tid != tid)
		i++;
	if (i == FOLDED_OWNERS) {
		// The last place is of all that found none.
		i = FOLDED_OWNERS - 1;
		group->owners[i].tid = 0;
	}
	if (i == group->count)
		group->owners[group->count++] = (struct folded_owner){ 0, tid };
	group->owners[i].ns += ns;
}

static void join(struct folded_group *to, const struct folded_group *from)
{
	// Of a place that two addresses share only one is known.
	if (to->tag != from->tag) {
		*to = *from;
		return;
	}
	to->to_ns = from->to_ns;
	for (uint32_t i = 0; i < from->count && i < FOLDED_OWNERS; i++)
		folded_add(to, from->owners[i].tid, from->owners[i].ns);
}

static void halve(struct waits_folded *f)
{
	for (size_t i = 0; i < FOLDED_GROUPS / 2; i++) {
		f->groups[i] = f->groups[2 * i];
		join(&f->groups[i], &f->groups[2 * i + 1]);
	}
	f->count = FOLDED_GROUPS / 2;
}

void folded_push(struct waits_folded *f, uint32_t place, const struct folded_group *group)
{
	uint32_t sequence = __atomic_load_n(&f->sequence, __ATOMIC_RELAXED);

	if (sequence & 1 || !__atomic_compare_exchange_n(&f->sequence, &sequence, sequence + 1,
	                                                 false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (f->place != place + 1) {
		f->place = place + 1;
		f->count = 0;
	}
	if (f->count == FOLDED_GROUPS)
		halve(f);
	f->groups[f->count++] = *group;
	__atomic_store_n(&f->sequence, sequence + 2, __ATOMIC_RELEASE);
}

static void add_share(const struct folded_group *group, struct folded_group *sum)
{
	uint64_t from = group->from_ns > sum->from_ns ? group->from_ns : sum->from_ns;
	uint64_t to = group->to_ns < sum->to_ns ? group->to_ns : sum->to_ns;

	if (group->tag != sum->tag || to <= from)
		return;
	double part = (double)(to - from) / (double)(group->to_ns - group->from_ns);
	for (uint32_t i = 0; i < group->count && i < FOLDED_OWNERS; i++)
		folded_add(sum, group->owners[i].tid,
		           (uint64_t)(part * (double)group->owners[i].ns));
}

bool folded_between(const struct waits_folded *f, uint32_t place, struct folded_group *sum)
{
	for (int try = 0; try < TRIES; try++) {
		uint32_t sequence = __atomic_load_n(&f->sequence, __ATOMIC_ACQUIRE);
		sum->count = 0;
		if (sequence & 1 || f->place != place + 1)
			continue;
		for (uint32_t i = 0; i < f->count && i < FOLDED_GROUPS; i++)
			add_share(&f->groups[i], sum);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&f->sequence, __ATOMIC_RELAXED) == sequence)
			return sum->count != 0;
	}
	sum->count = 0;
	return false;
}
