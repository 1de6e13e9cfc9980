// SPDX-License-Identifier: MIT
#include "merge/warmup/relative.h"

#include "base/cleanup.h"
#include "merge/numbers/median.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define RARE       3   // calls: a size with fewer has no level of its own
#define RARE_SHARE 0.1 // of the calls: more of them, and sizes rarely repeat
#define FIT_MIN    8   // calls
#define SPREAD_MIN 0.2 // of the logarithm of sizes: less tells no law
#define POWER_MAX  3.0

struct call {
	uint64_t size;
	size_t index;
	double ns;
};

// By size; calls of one size stay in their order.
static int compare(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

static size_t group_end(const struct call *calls, size_t count, size_t from)
{
	size_t to = from + 1;

	while (to < count && calls[to].size == calls[from].size)
		to++;
	return to;
}

static size_t rare_calls(const struct call *calls, size_t count)
{
	size_t rare = 0;

	for (size_t from = 0, to; from < count; from = to) {
		to = group_end(calls, count, from);
		rare += to - from < RARE ? to - from : 0;
	}
	return rare;
}

// The first ones may be warm-up themselves.
static double usual_of_group(const struct call *calls, size_t count, double *scratch)
{
	size_t skipped = count >= 6 ? count / 2 : count >= RARE ? 1 : 0;

	for (size_t i = skipped; i < count; i++)
		scratch[i - skipped] = calls[i].ns;
	return median_in_place(scratch, count - skipped);
}

static void usual_by_group(const struct call *calls, size_t count, double *usual, double *scratch)
{
	for (size_t from = 0, to; from < count; from = to) {
		to = group_end(calls, count, from);
		double of_group = usual_of_group(calls + from, to - from, scratch);
		for (size_t i = from; i < to; i++)
			usual[calls[i].index] = of_group;
	}
}

static double log_size(const struct call *call)
{
	return log(fmax(1, (double)call->size));
}

static double log_ns(const struct call *call)
{
	return log(fmax(1, call->ns));
}

static double median_by(const struct call *calls, size_t count, double get(const struct call *call),
                        double *scratch)
{
	for (size_t i = 0; i < count; i++)
		scratch[i] = get(&calls[i]);
	return median_in_place(scratch, count);
}

// ns = exp(c) * size^k through the medians of the smaller and of the larger calls of LATER.
static bool fit(const struct call *later, size_t count, double *k, double *c, double *scratch)
{
	size_t half = count / 2;

	if (half == 0)
		return false;
	const struct call *larger = later + half;
	double size = median_by(later, half, log_size, scratch);
	double ns = median_by(later, half, log_ns, scratch);
	double spread = median_by(larger, count - half, log_size, scratch) - size;
	if (spread < SPREAD_MIN)
		return false;
	double rise = median_by(larger, count - half, log_ns, scratch) - ns;
	*k = fmin(fmax(rise / spread, 0), POWER_MAX);
	for (size_t i = 0; i < count; i++)
		scratch[i] = log_ns(&later[i]) - *k * log_size(&later[i]);
	*c = median_in_place(scratch, count);
	return true;
}

static bool usual_by_law(const struct call *calls, size_t count, double *usual, double *scratch)
{
	cleanup_free struct call *later = reallocarray(NULL, count, sizeof(*later));
	size_t found = 0;
	double k, c;

	if (!later || count < FIT_MIN)
		return false;
	for (size_t i = 0; i < count; i++)
		if (calls[i].index >= count / 3 && calls[i].size > 0)
			later[found++] = calls[i];
	if (!fit(later, found, &k, &c, scratch))
		return false;
	for (size_t i = 0; i < count; i++)
		usual[calls[i].index] = exp(c + k * log_size(&calls[i]));
	return true;
}

enum relative relative_to_size(double *ns, const uint64_t *sizes, size_t count)
{
	cleanup_free struct call *calls = reallocarray(NULL, count, sizeof(*calls));
	cleanup_free double *room = reallocarray(NULL, 2 * count, sizeof(*room));

	if (!calls || !room)
		return RELATIVE_NO_MEMORY;
	for (size_t i = 0; i < count; i++)
		calls[i] = (struct call){ sizes[i], i, ns[i] };
	qsort(calls, count, sizeof(*calls), compare);

	double *usual = room, *scratch = room + count;
	if ((double)rare_calls(calls, count) <= RARE_SHARE * (double)count)
		usual_by_group(calls, count, usual, scratch);
	else if (!usual_by_law(calls, count, usual, scratch))
		return RELATIVE_UNKNOWN;
	double level = median(ns, count, scratch);
	for (size_t i = 0; i < count; i++)
		ns[i] = ns[i] / fmax(usual[i], 1) * level;
	return RELATIVE_DONE;
}
