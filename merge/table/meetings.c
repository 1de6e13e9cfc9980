// SPDX-License-Identifier: MIT
#include "merge/table/meetings.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "merge/numbers/median.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void meetings_fini(struct meetings *m)
{
	free(m->items);
	*m = (struct meetings){ 0 };
}

bool meetings_add(struct meetings *m, const struct meeting *meeting)
{
	if (m->count >= MEETINGS_MAX ||
	    !array_reserve(&m->items, &m->capacity, (size_t)m->count + 1))
		return false;
	m->items[m->count++] = *meeting;
	return true;
}

// How many of OTHER are those of M, from the first on.
static uint32_t count_common(const struct meetings *m, const struct meetings *other)
{
	uint32_t count = 0;

	while (count < m->count && count < other->count &&
	       m->items[count].op == other->items[count].op)
		count++;
	return count;
}

bool meetings_clock(const struct meetings *m, const struct meetings *other,
                    struct meetings_clock *out)
{
	uint32_t count = count_common(m, other);
	cleanup_free double *values = calloc((size_t)count + 1, sizeof(*values));

	if (!values)
		return false;
	*out = (struct meetings_clock){ .count = count };
	if (count < MEETINGS_LEAST)
		return true;
	// Times are less than 2^53 ns apart.
	for (uint32_t i = 0; i < count; i++)
		values[i] = (double)(int64_t)(other->items[i].end_ns - m->items[i].end_ns);
	double ahead = median_in_place(values, count);
	for (uint32_t i = 0; i < count; i++)
		values[i] = fabs(values[i] - ahead); // in another order, which does not matter
	out->ahead_ns = (int64_t)ahead;
	out->residual_ns = (uint64_t)median_in_place(values, count);
	return true;
}

// Both are the same meeting: FROM says when others came to it.
static void join(struct meeting *to, const struct meeting *from)
{
	if (from->last_ns < to->last_ns) {
		to->last_ns = from->last_ns;
		to->last = from->last;
		to->step = from->step;
	}
	to->sum_ns += from->sum_ns;
	to->ranks += from->ranks;
}

bool meetings_join(struct meetings *m, const struct meetings *other)
{
	if (!other->count)
		return true;
	if (!m->begun) {
		m->begun = true;
		for (uint32_t i = 0; i < other->count; i++)
			if (!meetings_add(m, &other->items[i]))
				return false;
		return true;
	}
	m->count = count_common(m, other);
	for (uint32_t i = 0; i < m->count; i++) {
		struct meeting from = other->items[i];
		// When it began, by the end that all of M know.
		uint64_t later = m->items[i].end_ns - from.end_ns;
		int64_t last = (int64_t)(from.last_ns + later);
		int64_t sum = (int64_t)(from.sum_ns + later * from.ranks);
		from.last_ns = last > 0 ? (uint64_t)last : 0;
		from.sum_ns = sum > 0 ? (uint64_t)sum : 0;
		join(&m->items[i], &from);
	}
	return true;
}

uint64_t meeting_excess_ns(const struct meeting *meeting)
{
	if (meeting->ranks < 2 || meeting->sum_ns < meeting->last_ns)
		return 0;
	uint64_t others = (meeting->sum_ns - meeting->last_ns) / (meeting->ranks - 1);
	return others > meeting->last_ns ? others - meeting->last_ns : 0;
}

bool meeting_is_one(const char *op)
{
	static const char *const names[] = {
		"MPI_Barrier",    "MPI_Allreduce",      "MPI_Allgather",
		"MPI_Allgatherv", "MPI_Alltoall",       "MPI_Alltoallv",
		"MPI_Alltoallw",  "MPI_Reduce_scatter", "MPI_Reduce_scatter_block"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(op, names[i]) == 0)
			return true;
	return false;
}
