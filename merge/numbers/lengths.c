// SPDX-License-Identifier: MIT
#include "merge/numbers/lengths.h"

#include "base/cleanup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MIN  10
#define RARE_MIN   3    // of the rarer length, if they come at a fixed distance
#define RARE_ANY   5    // and if not, where they are also …
#define RARE_SHARE 0.05 // … such a share of all
#define RATIO      1.3  // of the medians, at least
#define RATIO_ANY  1.5  // without a fixed distance: others on the machine can do a lot
#define SPREAD_SHARE                                                                               \
	0.25        // of the medians' difference, that the middle half of either may take,
	            // and without a fixed distance the middle four fifths
#define BETWEEN 0.1 // of the rarer ones, as many values may lie between
#define FIXED   0.8 // of the distances, that are the same
#define SPAN    0.5 // of the run, over which the rarer ones are spread

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

// Index in the sorted VALUES of the first lengthy one; 0: there is nothing to split.
static size_t split(const double *values, size_t count)
{
	double all = 0, below = 0, best = 0;
	size_t at = 0;

	for (size_t i = 0; i < count; i++)
		all += log(values[i]);
	for (size_t i = 1; i < count; i++) {
		below += log(values[i - 1]);
		double share = (double)i / (double)count;
		double apart = (all - below) / (double)(count - i) - below / (double)i;
		double variance = share * (1 - share) * apart * apart;
		if (i < RARE_MIN || count - i < RARE_MIN || variance <= best)
			continue;
		best = variance;
		at = i;
	}
	return at;
}

static struct length length_of(const double *sorted, size_t count)
{
	return (struct length){ .count = count,
		                .q1 = sorted[(count - 1) / 4],
		                .median = sorted[(count - 1) / 2],
		                .q3 = sorted[(count - 1) * 3 / 4] };
}

// Whether the sorted VALUES are as far apart as those of two lengths.
static bool are_apart(const double *values, size_t count, const struct two_lengths *l)
{
	double ratio = l->lengthy.median / l->brief.median;
	double apart = l->lengthy.median - l->brief.median;
	double from = l->brief.median * cbrt(ratio), to = l->brief.median * cbrt(ratio * ratio);
	size_t rarer = l->brief.count < l->lengthy.count ? l->brief.count : l->lengthy.count;
	size_t between = 0;

	for (size_t i = 0; i < count; i++)
		between += values[i] > from && values[i] < to;
	return ratio >= RATIO && l->brief.q3 - l->brief.q1 <= SPREAD_SHARE * apart &&
	       l->lengthy.q3 - l->lengthy.q1 <= SPREAD_SHARE * apart &&
	       between <= (size_t)(BETWEEN * (double)rarer + 0.5);
}

static bool is_tight(const double *sorted, size_t count, double apart)
{
	return sorted[(count - 1) - (count - 1) / 10] - sorted[(count - 1) / 10] <=
	       SPREAD_SHARE * apart;
}

// Whether there are enough to be told without a fixed distance, from steps that others on the
// machine make longer.
static bool are_many(const double *sorted, size_t count, const struct two_lengths *l)
{
	size_t brief = l->brief.count, lengthy = l->lengthy.count;
	size_t rarer = brief < lengthy ? brief : lengthy;
	double apart = l->lengthy.median - l->brief.median;

	return rarer >= RARE_ANY && (double)rarer >= RARE_SHARE * (double)count &&
	       l->lengthy.median >= RATIO_ANY * l->brief.median && is_tight(sorted, brief, apart) &&
	       is_tight(sorted + brief, lengthy, apart);
}

// Where the rarer ones are among VALUES, in order: the first, their span and the distance that most
// of them have.
static bool place(const double *values, size_t count, bool many, struct two_lengths *l)
{
	cleanup_free size_t *distances = calloc(count + 1, sizeof(*distances));
	bool lengthy = l->lengthy.count <= l->brief.count;
	size_t rarer = 0, last = 0, most = 0, distance = 0;

	if (!distances)
		return false;
	for (size_t i = 0; i < count; i++) {
		if ((values[i] >= l->limit) != lengthy)
			continue;
		if (!rarer++)
			l->rarer = i;
		else if (++distances[i - last] > most) {
			most = distances[i - last];
			distance = i - last;
		}
		last = i;
	}
	bool fixed = distance > 1 && (double)most >= FIXED * (double)(rarer - 1);
	l->every = fixed ? distance : 0;
	if (!(fixed || many) || (double)(last - l->rarer) < SPAN * (double)count)
		*l = (struct two_lengths){ 0 };
	return true;
}

bool two_lengths_of(const double *values, size_t count, struct two_lengths *out)
{
	cleanup_free double *sorted = calloc(count + 1, sizeof(*sorted));

	*out = (struct two_lengths){ 0 };
	if (!sorted)
		return false;
	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare);
	if (count < COUNT_MIN || sorted[0] <= 0)
		return true;
	size_t at = split(sorted, count);
	if (!at)
		return true;
	struct two_lengths l = { .brief = length_of(sorted, at),
		                 .lengthy = length_of(sorted + at, count - at),
		                 .limit = sorted[at] };
	if (!are_apart(sorted, count, &l))
		return true;
	if (!place(values, count, are_many(sorted, count, &l), &l))
		return false;
	*out = l;
	return true;
}
