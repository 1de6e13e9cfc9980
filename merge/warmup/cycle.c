// SPDX-License-Identifier: MIT
#include "merge/warmup/cycle.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "merge/numbers/median.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STAY_MIN    3  // looks that a phase has to last to be told, in the median
#define LENGTH_MIN  6  // looks that a cycle has to last, in the median
#define USUAL_MAX   16 // looks: a phase that lasts for more is not told from one that lasts so long
#define BLURRED_MIN 3  // cycles one after the other: a phase does not grow at once
#define SAME_ORDER  0.80 // of the cycles, that have to have the usual phases
#define UNEVEN_MAX  0.20 // of a cycle, that its neighbour may differ …
#define EVEN_SHARE  0.25 // … in so many of the cycles: the others may have more to do
#define FEW_CYCLES  24   // fewer are as much alike by chance, when a machine is busy …
#define FEW_EVEN    0.5  // … unless so many of them are
#define SPREAD_MAX  3    // of a long cycle to a brief one, by the quartiles
#define LONG        4    // of the median: but for the first, such cycles …
#define LONG_SHARE  0.25 // … may hold so much of the time
#define NEAR        0.20 // of the most regular cycles, and …
#define NEAR_CYCLES 2    // … at least so many: what is only so much less regular is as good
#define CLEAR_AFTER 19   // series, which are enough …
#define CLEAR_SHARE 0.5  // … if the most regular of them is only so much so
#define BY_CHANCE   99   // series without a cycle, none of which may look as regular: below 1 %

// A phase, and for how long.
struct stay {
	uint32_t first, end; // looks
	uint8_t group;
};

struct finder {
	uint8_t *looks; // its own
	size_t look_count;
	uint8_t group[CYCLE_PHASES + 1]; // [phase]: of those taken together with it
	struct stay *stays;
	size_t count;
	double usual[CYCLE_PHASES +
	             1]; // [group]: how long it lasts at a time, in the median, up to …
	uint32_t times[CYCLE_PHASES + 1]; // [group]: how often
	double *scratch;                  // [look_count + 1]
	uint64_t *orders;                 // [look_count + 1]
	uint32_t *starts;                 // [look_count + 2]
	double best;                      // how regular the most regular cycles are
	double enough;   // as regular as that is taken; 0: none is, for best is not known yet
	double alike;    // how alike the cycles tried last are: 0 … 1
	double chosen;   // the same of those that were chosen
	double most;     // the same of the most alike cycles of …
	size_t at_least; // … so many and more
};

void cycle_fini(struct cycle *cycle)
{
	free(cycle->starts);
	*cycle = (struct cycle){ 0 };
}

static void finder_at_scope_end(struct finder *f)
{
	free(f->looks);
	free(f->stays);
	free(f->scratch);
	free(f->orders);
	free(f->starts);
}

static bool finder_init(struct finder *f, size_t count)
{
	*f = (struct finder){ .look_count = count };
	f->looks = calloc(count + 1, sizeof(*f->looks));
	f->stays = calloc(count + 1, sizeof(*f->stays));
	f->scratch = calloc(count + 1, sizeof(*f->scratch));
	f->orders = calloc(count + 1, sizeof(*f->orders));
	f->starts = calloc(count + 2, sizeof(*f->starts));
	return f->looks && f->stays && f->scratch && f->orders && f->starts;
}

// The K-th of the sorted lengths of which there are as many as TIMES says.
static double length_at(const uint32_t times[USUAL_MAX + 1], uint32_t k)
{
	uint32_t length = 1;

	for (uint32_t before = times[1]; before <= k && length < USUAL_MAX; before += times[length])
		length++;
	return length;
}

// Once for all groups: they are asked for each group that may begin a cycle.
static void note_usual(struct finder *f)
{
	uint32_t lengths[CYCLE_PHASES + 1][USUAL_MAX + 1] = { { 0 } };

	memset(f->times, 0, sizeof(f->times));
	for (size_t i = 0; i < f->count; i++) {
		uint32_t length = f->stays[i].end - f->stays[i].first;
		lengths[f->stays[i].group][length < USUAL_MAX ? length : USUAL_MAX]++;
		f->times[f->stays[i].group]++;
	}
	for (int group = 0; group <= CYCLE_PHASES; group++) {
		uint32_t count = f->times[group];
		f->usual[group] = count ? (length_at(lengths[group], (count - 1) / 2) +
		                           length_at(lengths[group], count / 2)) /
		                                  2
		                        : 0;
	}
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
	note_usual(f);
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
		double stay = f->group[i] == i ? f->usual[i] : 0;
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

static double quantile(struct finder *f, size_t count, double share)
{
	return nth_smallest(f->scratch, count, (size_t)(share * (double)(count - 1)));
}

// Whether the COUNT cycles that begin at LOOKS are of one kind by their length, but for a few.
static bool is_of_a_kind(struct finder *f, const uint32_t *looks, size_t count)
{
	double all = looks[count] - looks[1], in_long = 0;

	for (size_t i = 0; i < count; i++)
		f->scratch[i] = looks[i + 1] - looks[i];
	double usual = quantile(f, count, 0.5);
	for (size_t i = 1; i < count; i++)
		if (looks[i + 1] - looks[i] > LONG * usual)
			in_long += looks[i + 1] - looks[i];
	return usual >= LENGTH_MIN && in_long <= LONG_SHARE * all &&
	       quantile(f, count, 0.75) <= SPREAD_MAX * quantile(f, count, 0.25);
}

// By how many looks SHARE of the cycles differ at most from the next.
static double unevenness_of(struct finder *f, const uint32_t *looks, size_t count, double share)
{
	for (size_t i = 1; i < count; i++)
		f->scratch[i - 1] =
			fabs((double)(looks[i + 1] - looks[i]) - (double)(looks[i] - looks[i - 1]));
	return quantile(f, count - 1, share);
}

static bool is_even(double uneven, double usual)
{
	return uneven <= fmax(UNEVEN_MAX * usual, 1);
}

// How much one cycle differs from the next, of the usual length: 0 … 1, which is too much.
static double unevenness(struct finder *f, const uint32_t *looks, size_t count)
{
	if (!is_of_a_kind(f, looks, count))
		return 1;
	double usual = quantile(f, count, 0.5);
	double uneven = unevenness_of(f, looks, count, EVEN_SHARE);
	return is_even(uneven, usual) ? uneven / usual : 1;
}

// Whether there are enough cycles, or they are even enough, to be told from what a busy machine
// makes of work that does not repeat.
static bool is_sure(struct finder *f, const struct cycle *cycle)
{
	if (cycle->count >= FEW_CYCLES)
		return true;
	is_of_a_kind(f, cycle->starts, cycle->count);
	double usual = quantile(f, cycle->count, 0.5);
	return is_even(unevenness_of(f, cycle->starts, cycle->count, FEW_EVEN), usual);
}

// How alike neighbours are in length, of the COUNT cycles that begin at LOOKS: 0 … 1.
static double likeness(const uint32_t *looks, size_t count)
{
	double sum = 0;

	for (size_t i = 1; i < count; i++)
		sum += fabs(
			log((double)(looks[i + 1] - looks[i]) / (double)(looks[i] - looks[i - 1])));
	return exp(-sum / (double)(count - 1));
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
static bool is_blurred(const struct finder *f, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		double stay = f->stays[i].end - f->stays[i].first;
		if (stay < STAY_MIN && 2 * stay < f->usual[f->stays[i].group])
			return true;
	}
	return false;
}

// Where a phase grows from nothing, the first of its cycles cannot be distinguished, and seem to be
// a long one: that, and those in which it is hardly seen, are left out. Returns how many are left.
static size_t leave_blurred(const struct finder *f, uint32_t *starts, size_t count)
{
	size_t blurred = 0;

	while (blurred + 1 < count && is_blurred(f, starts[blurred], starts[blurred + 1]))
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

// The cycles that begin with GROUP, if these are any, in the finder's starts. REGULAR receives how
// many of them are as they usually are, but less if they are not even.
static size_t try_group(struct finder *f, uint8_t group, double *regular)
{
	size_t count, same;
	uint32_t last;

	if (f->times[group] < CYCLE_COUNT_MIN || f->usual[group] < STAY_MIN)
		return 0;
	count = leave_blurred(f, f->starts, starts_of(f, group, f->starts));
	if (count < CYCLE_COUNT_MIN)
		return 0;
	for (size_t i = 0; i + 1 < count; i++)
		f->orders[i] = order_of(f, f->starts[i], f->starts[i + 1]);
	uint64_t usual = most_frequent(f->orders, count - 1, &same);
	if ((double)same < SAME_ORDER * (double)(count - 1))
		return 0;
	count = leave_foreign(f, f->starts, count, usual);
	double usually = (double)same / (double)(count - 1);
	*regular = (double)same * usually;
	last = end_of_last(f, f->starts[count - 1], usual);
	for (size_t i = 0; i < count; i++)
		f->starts[i] = f->stays[f->starts[i]].first;
	if (last)
		f->starts[count++] = last;
	if (count <= CYCLE_COUNT_MIN)
		return 0;
	*regular *= 1 - unevenness(f, f->starts, count - 1);
	f->alike = usually * usually * likeness(f->starts, count - 1);
	return *regular > 0 ? count - 1 : 0;
}

static uint32_t phases_between(const uint8_t *looks, const struct cycle *cycle)
{
	uint32_t phases = 0;

	for (uint32_t i = cycle->starts[0]; i < cycle->starts[cycle->count]; i++)
		phases |= looks[i] ? UINT32_C(1) << (looks[i] - 1) : 0;
	return phases;
}

// Of all cycles that a group begins and that are regular enough, those that are first to begin.
static void choose(struct finder *f, struct cycle *cycle)
{
	for (uint8_t group = 1; group <= CYCLE_PHASES; group++) {
		double regular = 0;
		size_t count = try_group(f, group, &regular);
		f->best = fmax(f->best, regular);
		if (count >= f->at_least && count)
			f->most = fmax(f->most, f->alike);
		if (!count || !f->enough || regular < f->enough ||
		    (cycle->count && f->starts[0] >= cycle->starts[0]))
			continue;
		cycle->count = count;
		f->chosen = f->alike;
		memcpy(cycle->starts, f->starts, (count + 1) * sizeof(*f->starts));
	}
}

static void part_groups(struct finder *f)
{
	for (int phase = 0; phase <= CYCLE_PHASES; phase++)
		f->group[phase] = (uint8_t)phase;
}

// With phases as they are first, then with those that are too brief taken together, one by one.
static void find_in_groups(struct finder *f, struct cycle *cycle)
{
	part_groups(f);
	do {
		find_stays(f);
		choose(f, cycle);
	} while (f->count && join_briefest(f));
}

// Whether what is elsewhere is over before anything can be told, in the median.
static bool is_mostly_brief(struct finder *f)
{
	part_groups(f);
	find_stays(f);
	double stay = f->usual[CYCLE_ELSEWHERE];
	return stay > 0 && stay < STAY_MIN;
}

// Looks elsewhere that are over before anything can be told, or after which the thread is where it
// was before, are as if nothing was seen.
static void overlook_brief(struct finder *f)
{
	part_groups(f);
	find_stays(f);
	for (size_t i = 0; i < f->count; i++) {
		const struct stay *stay = &f->stays[i];
		size_t length = stay->end - stay->first;
		bool amid = i && i + 1 < f->count && stay[-1].group == stay[1].group;
		if (stay->group == CYCLE_ELSEWHERE && (amid || length < STAY_MIN))
			memset(f->looks + stay->first, CYCLE_NOTHING, length);
	}
}

static void find_in_both(struct finder *f, const uint8_t *looks, struct cycle *cycle)
{
	memcpy(f->looks, looks, f->look_count * sizeof(*looks));
	if (!is_mostly_brief(f))
		find_in_groups(f, cycle);
	overlook_brief(f);
	find_in_groups(f, cycle);
}

// Random numbers that are the same in each run: 0 … 1.
static double draw(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

// What chance is made of: how often there is a stay in a phase, and at how many looks.
struct chance {
	uint32_t stays[CYCLE_PHASES + 1], looks[CYCLE_PHASES + 1];
	uint64_t state;
};

static void measure(struct finder *f, const uint8_t *looks, struct chance *chance)
{
	*chance = (struct chance){ 0 };
	memcpy(f->looks, looks, f->look_count * sizeof(*looks));
	part_groups(f);
	find_stays(f);
	for (size_t i = 0; i < f->count; i++) {
		chance->stays[f->stays[i].group]++;
		chance->looks[f->stays[i].group] += f->stays[i].end - f->stays[i].first;
	}
}

// A phase other than LAST, as often as there are stays in it.
static uint8_t draw_phase(struct chance *chance, uint8_t last)
{
	double all = 0, at;
	uint8_t found = last;

	for (uint8_t phase = 1; phase <= CYCLE_PHASES; phase++)
		all += phase != last ? chance->stays[phase] : 0;
	at = all * draw(&chance->state);
	for (uint8_t phase = 1; phase <= CYCLE_PHASES && at >= 0; phase++) {
		if (phase == last || !chance->stays[phase])
			continue;
		found = phase;
		at -= chance->stays[phase];
	}
	return found;
}

// The same phases for as long in sum, but whatever happened before, a stay may end at any look, and
// any other phase may follow.
static void draw_looks(struct chance *chance, const uint8_t *looks, size_t count, uint8_t *drawn)
{
	uint8_t phase = 0;

	for (size_t i = 0; i < count; i++) {
		drawn[i] = CYCLE_NOTHING;
		if (phase && draw(&chance->state) * chance->looks[phase] >= chance->stays[phase]) {
			drawn[i] = looks[i] ? phase : CYCLE_NOTHING;
			continue;
		}
		if (!looks[i])
			continue;
		phase = draw_phase(chance, phase);
		drawn[i] = phase;
	}
}

// Whether looks without any cycle would seem to have cycles that are as much alike as those that
// were chosen, COUNT of them, and half as many at least. F's own state is lost. -1: no memory.
static int may_be_chance(struct finder *f, const uint8_t *looks, size_t count)
{
	double chosen = f->chosen;
	struct cycle none = { 0 };
	struct chance chance;
	uint8_t *drawn = calloc(f->look_count + 1, sizeof(*drawn));

	if (!drawn)
		return -1;
	measure(f, looks, &chance);
	f->enough = 0;
	f->most = 0;
	f->at_least = count / 2;
	for (int i = 0; i < BY_CHANCE && f->most < chosen; i++) {
		if (i == CLEAR_AFTER && f->most < CLEAR_SHARE * chosen)
			break;
		draw_looks(&chance, looks, f->look_count, drawn);
		find_in_both(f, drawn, &none);
	}
	free(drawn);
	return f->most >= chosen;
}

bool cycle_find(struct cycle *cycle, const uint8_t *looks, size_t count)
{
	cleanup(finder) struct finder f = { 0 };

	*cycle = (struct cycle){ .starts = calloc(count + 2, sizeof(*cycle->starts)) };
	if (!cycle->starts || !finder_init(&f, count)) {
		cycle_fini(cycle);
		return false;
	}
	find_in_both(&f, looks, cycle);
	f.enough = f.best - fmax(NEAR * f.best, NEAR_CYCLES);
	if (f.enough > 0)
		find_in_both(&f, looks, cycle);
	if (!cycle->count)
		return true;
	if (!is_sure(&f, cycle)) {
		cycle_fini(cycle);
		return true;
	}
	cycle->phases = phases_between(looks, cycle);
	int chance = may_be_chance(&f, looks, cycle->count);
	if (chance)
		cycle_fini(cycle);
	return chance >= 0;
}
