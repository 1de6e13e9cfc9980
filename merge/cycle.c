// SPDX-License-Identifier: MIT
#include "merge/cycle.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "merge/median.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STAY_MIN    3    // looks that a phase has to last, in the median
#define LENGTH_MIN  6    // looks that a cycle has to last, in the median
#define BLURRED_MIN 3    // cycles one after the other: a phase does not grow at once
#define SAME_ORDER  0.80 // of the cycles, that have to have the usual phases
#define UNEVEN_MAX  0.25 // of a cycle, that its neighbour may differ in the median

// A phase, and for how long.
struct stay {
	uint32_t first, end; // looks
	uint8_t group;
};

struct finder {
	const uint8_t *looks;
	size_t look_count;
	uint8_t group[CYCLE_PHASES + 1]; // [phase]: of those taken together with it
	struct stay *stays;
	size_t count;
	double *scratch;  // [look_count + 1]
	uint64_t *orders; // [look_count + 1]
};

void cycle_fini(struct cycle *cycle)
{
	free(cycle->starts);
	*cycle = (struct cycle){ 0 };
}

static void finder_at_scope_end(struct finder *f)
{
	free(f->stays);
	free(f->scratch);
	free(f->orders);
}

static bool finder_init(struct finder *f, const uint8_t *looks, size_t count)
{
	*f = (struct finder){ .looks = looks, .look_count = count };
	f->stays = calloc(count + 1, sizeof(*f->stays));
	f->scratch = calloc(count + 1, sizeof(*f->scratch));
	f->orders = calloc(count + 1, sizeof(*f->orders));
	for (int phase = 0; phase <= CYCLE_PHASES; phase++)
		f->group[phase] = (uint8_t)phase;
	return f->stays && f->scratch && f->orders;
}

static void find_stays(struct finder *f)
{
	f->count = 0;
	for (size_t i = 0; i < f->look_count; i++) {
		uint8_t group = f->group[f->looks[i]];
		struct stay *last = f->count ? &f->stays[f->count - 1] : NULL;
		if (last && (!f->looks[i] || last->group == group))
			last->end = (uint32_t)i + 1;
		else if (f->looks[i])
			f->stays[f->count++] = (struct stay){ (uint32_t)i, (uint32_t)i + 1, group };
	}
}

// How long GROUP lasts at a time, in the median; 0: it is not there.
static double usual_stay(struct finder *f, uint8_t group)
{
	size_t count = 0;

	for (size_t i = 0; i < f->count; i++)
		if (f->stays[i].group == group)
			f->scratch[count++] = f->stays[i].end - f->stays[i].first;
	return count ? median_in_place(f->scratch, count) : 0;
}

// What GROUP is beside most often; 0: there is no other.
static uint8_t neighbour(const struct finder *f, uint8_t group)
{
	uint32_t times[CYCLE_PHASES + 1] = { 0 };
	uint8_t best = 0;

	for (size_t i = 1; i < f->count; i++) {
		uint8_t before = f->stays[i - 1].group, after = f->stays[i].group;
		times[before] += after == group;
		times[after] += before == group;
	}
	for (uint8_t other = 1; other <= CYCLE_PHASES; other++)
		if (times[other] > times[best])
			best = other;
	return best;
}

// Takes the group that is seen most briefly together with its neighbour. False if none is brief.
static bool join_briefest(struct finder *f)
{
	double briefest = STAY_MIN;
	uint8_t group = 0, with;

	for (uint8_t i = 1; i <= CYCLE_PHASES; i++) {
		double stay = f->group[i] == i ? usual_stay(f, i) : 0;
		if (stay == 0 || stay >= briefest)
			continue;
		briefest = stay;
		group = i;
	}
	with = group ? neighbour(f, group) : 0;
	for (int phase = 1; with && phase <= CYCLE_PHASES; phase++)
		if (f->group[phase] == group)
			f->group[phase] = with;
	return with;
}

// Where the cycles that GROUP begins start: indices of stays, the end of the last among them.
static size_t starts_of(const struct finder *f, uint8_t group, uint32_t *starts)
{
	size_t count = 0;

	for (size_t i = 0; i < f->count; i++)
		if (f->stays[i].group == group)
			starts[count++] = (uint32_t)i;
	return count;
}

// The order of phases in the stays FIRST up to END, as a number.
static uint64_t order_of(const struct finder *f, uint32_t first, uint32_t end)
{
	uint64_t order = 0;

	for (uint32_t i = first; i < end; i++)
		order = hash_pair(order, f->stays[i].group);
	return order;
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

// The most frequent of COUNT ORDERS, which are sorted by it; TIMES receives how often.
static uint64_t most_frequent(uint64_t *orders, size_t count, size_t *times)
{
	uint64_t best = 0;
	size_t here = 0;

	*times = 0;
	qsort(orders, count, sizeof(*orders), compare);
	for (size_t i = 0; i < count; i++) {
		here = i && orders[i] == orders[i - 1] ? here + 1 : 1;
		if (here <= *times)
			continue;
		*times = here;
		best = orders[i];
	}
	return best;
}

static bool is_even(struct finder *f, const uint32_t *looks, size_t count)
{
	double usual, uneven;

	for (size_t i = 0; i < count; i++)
		f->scratch[i] = looks[i + 1] - looks[i];
	usual = median_in_place(f->scratch, count);
	for (size_t i = 1; i < count; i++)
		f->scratch[i - 1] =
			fabs((double)(looks[i + 1] - looks[i]) - (double)(looks[i] - looks[i - 1]));
	uneven = median_in_place(f->scratch, count - 1);
	return usual >= LENGTH_MIN && uneven <= fmax(UNEVEN_MAX * usual, 1);
}

// Where the last cycle, which begins with stay FIRST, ends, if it has the USUAL order: 0 if not.
static uint32_t end_of_last(const struct finder *f, uint32_t first, uint64_t usual)
{
	for (uint32_t end = first + 1; end <= f->count; end++)
		if (order_of(f, first, end) == usual)
			return f->stays[end - 1].end;
	return 0;
}

// Whether a phase of the stays FIRST up to END is over sooner than can be told, and sooner than it
// usually is.
static bool is_blurred(const struct finder *f, const double *usual, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		double stay = f->stays[i].end - f->stays[i].first;
		if (stay < STAY_MIN && 2 * stay < usual[f->stays[i].group])
			return true;
	}
	return false;
}

// Where a phase grows from nothing, the first of its cycles cannot be told apart, and seem to be a
// long one: that, and those in which it is hardly seen, are left out. Returns how many are left.
static size_t leave_blurred(struct finder *f, uint32_t *starts, size_t count)
{
	double usual[CYCLE_PHASES + 1] = { 0 };
	size_t blurred = 0;

	for (uint8_t group = 1; group <= CYCLE_PHASES; group++)
		usual[group] = usual_stay(f, group);
	while (blurred + 1 < count && is_blurred(f, usual, starts[blurred], starts[blurred + 1]))
		blurred++;
	if (blurred < BLURRED_MIN) // by chance
		return count;
	memmove(starts, starts + blurred, (count - blurred) * sizeof(*starts));
	return count - blurred;
}

// Whether the stays FIRST up to END have those of MODEL in their order, whatever else is between.
static bool has_all_of(const struct finder *f, const uint32_t model[2], uint32_t first,
                       uint32_t end)
{
	uint32_t at = model[0];

	for (uint32_t i = first; i < end && at < model[1]; i++)
		at += f->stays[i].group == f->stays[at].group;
	return at == model[1];
}

// What comes before the first of COUNT cycles that has all of the USUAL order may have been
// anything: it is left out. Returns how many are left.
static size_t leave_foreign(const struct finder *f, uint32_t *starts, size_t count, uint64_t usual)
{
	size_t model = 0, foreign = 0;

	while (model + 2 < count && order_of(f, starts[model], starts[model + 1]) != usual)
		model++;
	const uint32_t stays[] = { starts[model], starts[model + 1] };
	while (foreign < model && !has_all_of(f, stays, starts[foreign], starts[foreign + 1]))
		foreign++;
	memmove(starts, starts + foreign, (count - foreign) * sizeof(*starts));
	return count - foreign;
}

// The cycles that begin with GROUP, if these are any. STARTS: room for one more than stays.
static size_t try_group(struct finder *f, uint8_t group, uint32_t *starts)
{
	size_t count = leave_blurred(f, starts, starts_of(f, group, starts)), same;
	uint32_t last;

	if (count < CYCLE_COUNT_MIN)
		return 0;
	for (size_t i = 0; i + 1 < count; i++)
		f->orders[i] = order_of(f, starts[i], starts[i + 1]);
	uint64_t usual = most_frequent(f->orders, count - 1, &same);
	if ((double)same < SAME_ORDER * (double)(count - 1))
		return 0;
	count = leave_foreign(f, starts, count, usual);
	last = end_of_last(f, starts[count - 1], usual);
	for (size_t i = 0; i < count; i++)
		starts[i] = f->stays[starts[i]].first;
	if (last)
		starts[count++] = last;
	return count > CYCLE_COUNT_MIN && is_even(f, starts, count - 1) ? count - 1 : 0;
}

static uint32_t phases_between(const struct finder *f, const struct cycle *cycle)
{
	uint32_t phases = 0;

	for (uint32_t i = cycle->starts[0]; i < cycle->starts[cycle->count]; i++)
		phases |= f->looks[i] ? UINT32_C(1) << (f->looks[i] - 1) : 0;
	return phases;
}

// Of all groups, the one with most cycles; of those the first to begin.
static bool choose(struct finder *f, struct cycle *cycle)
{
	cleanup_free uint32_t *starts = calloc(f->count + 2, sizeof(*starts));

	cycle->starts = calloc(f->count + 2, sizeof(*starts));
	if (!starts || !cycle->starts)
		return false;
	for (uint8_t group = 1; group <= CYCLE_PHASES; group++) {
		size_t count = try_group(f, group, starts);
		if (count < cycle->count || !count ||
		    (count == cycle->count && starts[0] >= cycle->starts[0]))
			continue;
		cycle->count = count;
		memcpy(cycle->starts, starts, (count + 1) * sizeof(*starts));
	}
	if (cycle->count)
		cycle->phases = phases_between(f, cycle);
	return true;
}

bool cycle_find(struct cycle *cycle, const uint8_t *looks, size_t count)
{
	cleanup(finder) struct finder f;

	*cycle = (struct cycle){ 0 };
	if (!finder_init(&f, looks, count))
		return false;
	do
		find_stays(&f);
	while (f.count && join_briefest(&f));
	if (choose(&f, cycle))
		return true;
	cycle_fini(cycle);
	return false;
}
