// SPDX-License-Identifier: MIT
#include "merge/warmup/warmup.h"

#include "base/cleanup.h"
#include "merge/numbers/median.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Durations of calls that had more or less to do, made comparable.
//
// Where a law has to be fitted it is ns = exp(c) * size^k, in logarithms a line through the medians
// of the smaller and of the larger half of the calls, as J. W. Tukey's resistant line is
// (Exploratory Data Analysis, 1977), with two groups for his three.

enum relative {
	RELATIVE_DONE,
	RELATIVE_UNKNOWN, /* sizes hardly repeat, and no law is seen in them */
	RELATIVE_NO_MEMORY
};

/*
 * Divides each of COUNT durations by what is usual for its size, and gives the whole its old level.
 * Usual is the median of the later calls of the same size; where sizes rarely repeat, a power of
 * the size that fits. The durations are changed only if RELATIVE_DONE.
 */
enum relative relative_to_size(double *ns, const uint64_t *sizes, size_t count);

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

// Tuned on the development half of a corpus of 1,847 series; none of them is sharp.
#define RATIO      1.5  // of a slow call to a steady one …
#define DEVIATIONS 4    // … and how far it is above it
#define MEAN       0.5  // excess of a slow call, in steady calls
#define RIVAL      0.6  // of the excess: as much elsewhere is no warm-up
#define LATE       0.34 // of the calls: later ends need more evidence
#define CLEAR      5    // steady calls: what is as slow needs less
#define FALL       0.25 // from quarter to quarter: not steady
#define PLUNGE     0.75 // of the third quarter: the fourth is all below where work shrinks
#define STEP       1.10
#define DECAY      1.15 // the steady level above which a decay still goes on
#define WINDOW     5    // calls whose median tells that
#define MANY       12   // calls that have quarters

struct series {
	const double *ns;
	size_t count;
	double total;
	double steady, deviation;
	double slow;          // what is above is slow
	double above_95;      // a tenth above the 95th percentile of the second half
	const double *excess; // [i]: of call i
	const double *sums;   // [i]: of the excess of calls before i
	double *scratch;      // [count]
	size_t late, half;    // ends of prefixes
};

struct prefix {
	size_t first; // calls of its first stretch
	size_t end;   // with what belongs to it later
};

static double largest(const double *values, size_t count)
{
	double most = 0;

	for (size_t i = 0; i < count; i++)
		most = values[i] > most ? values[i] : most;
	return most;
}

static double median_of(const struct series *s, size_t from, size_t to)
{
	return median(s->ns + from, to - from, s->scratch);
}

static void find_level(struct series *s)
{
	size_t from = s->count >= 6 ? s->count / 2 : 1;
	size_t count = s->count - from;
	double deviation;

	s->steady = median_of(s, from, s->count);
	s->above_95 = 1.1 * nth_smallest(s->scratch, count, (size_t)(0.95 * (double)count));
	for (size_t i = 0; i < count; i++)
		s->scratch[i] = fabs(s->ns[from + i] - s->steady);
	deviation = 1.4826 * median_in_place(s->scratch, count);
	s->deviation = fmax(deviation, 0.01 * s->steady);
	s->slow = fmax(RATIO * s->steady, s->steady + DEVIATIONS * s->deviation);
}

// The end of the slow stretch at the start, in which a few calls may be fast, but most are slow.
static size_t prefix_end(const struct series *s, double slow)
{
	size_t fiftieth = s->count / 50 > 1 ? s->count / 50 : 1;
	size_t tolerated = fiftieth > 3 ? fiftieth : 3; // and no more than were slow
	size_t last = s->half + fiftieth + 1 < s->count ? s->half + fiftieth + 1 : s->count;
	size_t end = 0, fast = 0, all_slow = 0;

	for (size_t i = 0; i < last; i++) {
		if (s->ns[i] > slow) {
			if (2 * ++all_slow < i + 1)
				break;
			end = i + 1;
			fast = 0;
			continue;
		}
		if (++fast > (end < 1 ? 1 : end < tolerated ? end : tolerated))
			break;
	}
	return end;
}

// Later spikes as large as the first ones belong to them: something was compiled again.
static size_t past_recompilations(const struct series *s, size_t end)
{
	double first = largest(s->excess, end);
	size_t fifth = s->count / 5, found = end;

	for (size_t i = end; i < fifth; i++)
		if (s->excess[i] > 0.25 * first && s->ns[i] > CLEAR * s->steady)
			found = i + 1;
	return found;
}

// The end of a decay is no longer slow call by call, but still above the level.
static size_t past_decay(const struct series *s, size_t end)
{
	double level = fmax(DECAY * s->steady, s->steady + s->deviation);

	if (s->count < 20 || end < 4)
		return end;
	while (end + WINDOW <= s->half && median_of(s, end, end + WINDOW) > level)
		end++;
	return end;
}

static struct prefix find_prefix(const struct series *s, double slow)
{
	struct prefix p = { .first = prefix_end(s, slow) };

	p.end = p.first ? past_decay(s, past_recompilations(s, p.first)) : 0;
	return p;
}

static size_t slow_calls_after(const struct series *s, size_t end)
{
	size_t slow = 0;

	for (size_t i = end; i < s->count; i++)
		slow += s->ns[i] > s->slow;
	return slow;
}

// A prefix that ends late may be warm-up of a short run, if the rest is clearly different.
static bool is_short_run(const struct series *s, size_t end, double ratio)
{
	return ratio >= CLEAR && end <= s->half && s->count - end >= 3 &&
	       slow_calls_after(s, end) <= (s->count - end) / 10;
}

// Medians; of the second quarter only what is behind END, or as the third if that is too little.
struct quarters {
	double q2, q3, q4;
};

static struct quarters quarters_behind(const struct series *s, size_t end)
{
	size_t half = s->count / 2, third = s->count * 3 / 4;
	size_t quarter = end > s->count / 4 ? end : s->count / 4;
	struct quarters q = { .q3 = median_of(s, half, third),
		              .q4 = median_of(s, third, s->count) };

	q.q2 = half >= quarter + 3 ? median_of(s, quarter, half) : q.q3;
	return q;
}

static bool keeps_falling(const struct series *s, size_t end)
{
	struct quarters q = quarters_behind(s, end);

	return q.q4 < q.q3 * (1 - FALL) || (q.q2 > q.q3 * STEP && q.q3 > q.q4 * STEP);
}

// Work that shrinks to the end: the last quarter is all below the one before, by what is not little
// beside the excess of the prefix, however clear that is.
static bool shrinks(const struct series *s, size_t end)
{
	size_t third = s->count * 3 / 4, half = s->count - s->count / 2;
	struct quarters q = quarters_behind(s, end);

	return q.q2 >= q.q3 && largest(s->ns + third, s->count - third) < PLUNGE * q.q3 &&
	       (q.q3 - q.q4) * (double)half > WARMUP_SHARE * s->sums[end];
}

static bool keeps_rising(const struct series *s)
{
	size_t quarter = s->count / 4, half = s->count / 2, third = s->count * 3 / 4;

	if (s->count < MANY)
		return false;
	double q2 = median_of(s, quarter, half), q3 = median_of(s, half, third);
	double q4 = median_of(s, third, s->count);
	return q4 > q2 * (1 + FALL) && q3 > q2 * (1 + FALL / 4) && q4 > q3 * (1 + FALL / 4);
}

// How many times LENGTH calls behind END have as much excess as the first LENGTH, at most TIMES.
static int comes_again(const struct series *s, size_t length, size_t end, int times)
{
	int found = 0;

	for (size_t i = end; found < times && i + length <= s->count;) {
		bool again = s->sums[i + length] - s->sums[i] > RIVAL * s->sums[length];
		found += again;
		i += again ? length : 1;
	}
	return found;
}

// Whether as much excess in as few calls appears later as well, or, twice, as much as in the
// stretch that they begin with.
static bool has_rival(const struct series *s, const struct prefix *p)
{
	if (comes_again(s, p->first, p->end, 2) == 2)
		return true;
	if (s->count - p->end < p->end)
		return largest(s->excess + p->end, s->count - p->end) >
		       RIVAL * largest(s->excess, p->end);
	return comes_again(s, p->end, p->end, 1);
}

static enum warmup_verdict judge_prefix(const struct series *s, const struct prefix *p,
                                        const struct warmup *w)
{
	double mean = s->sums[w->calls] / (double)w->calls / s->steady;
	bool late = w->calls > s->late;

	if (w->excess < WARMUP_SHARE || mean < MEAN)
		return WARMUP_NONE;
	if (late && !is_short_run(s, w->calls, w->ratio))
		return WARMUP_NO_STEADY_STATE;
	if (s->count >= MANY && (mean < CLEAR ? keeps_falling(s, w->calls) : shrinks(s, w->calls)))
		return WARMUP_NO_STEADY_STATE;
	if (has_rival(s, p))
		return WARMUP_NONE;
	return late ? WARMUP_TOO_SHORT : WARMUP_INCLUDED;
}

// Where prefixes could end: by two ideas of slow, and after the first call.
static size_t find_candidates(const struct series *s, struct prefix found[3])
{
	size_t count = 0;
	struct prefix p = find_prefix(s, s->slow);

	if (p.end)
		found[count++] = p;
	if (s->count >= 8 && s->above_95 > s->slow) {
		p = find_prefix(s, s->above_95);
		if (p.end && (count == 0 || found[0].end != p.end))
			found[count++] = p;
	}
	for (size_t i = 0; i < count; i++)
		if (found[i].end == 1)
			return count;
	if (count && s->ns[0] > s->slow)
		found[count++] = (struct prefix){ 1, 1 };
	return count;
}

// The first candidate that is warm-up; else the one with the most excess.
static void judge(const struct series *s, struct warmup *w)
{
	struct prefix found[3];
	size_t count = find_candidates(s, found);
	bool unsteady = false;

	for (size_t i = 0; i < count && !warmup_is_included(w->verdict); i++) {
		struct warmup candidate = {
			.calls = found[i].end,
			.excess = s->sums[found[i].end] / s->total,
			.ratio = median_of(s, 0, found[i].end) / s->steady,
			.steady_ns = s->steady,
		};
		candidate.verdict = judge_prefix(s, &found[i], &candidate);
		unsteady |= candidate.verdict == WARMUP_NO_STEADY_STATE;
		if (warmup_is_included(candidate.verdict) || i == 0 || candidate.excess > w->excess)
			*w = candidate;
	}
	if (warmup_is_included(w->verdict))
		return;
	w->verdict = unsteady          ? WARMUP_NO_STEADY_STATE
	             : keeps_rising(s) ? WARMUP_SLOWS_DOWN
	                               : WARMUP_NONE;
}

static void sum_up(struct series *s, double *excess, double *sums)
{
	sums[0] = 0;
	for (size_t i = 0; i < s->count; i++) {
		excess[i] = fmax(0, s->ns[i] - s->steady);
		sums[i + 1] = sums[i] + excess[i];
		s->total += s->ns[i];
	}
	s->excess = excess;
	s->sums = sums;
}

static void judge_series(struct warmup *w, const double *ns, size_t count, double *room)
{
	struct series s = { .ns = ns, .count = count, .scratch = room };

	s.late = (size_t)((double)count * LATE);
	s.half = count / 2;
	if (count < 6) {
		s.late = count / 3;
		s.half = count - 3;
	}
	s.late = s.late ? s.late : 1;
	s.half = s.half ? s.half : 1;
	find_level(&s);
	w->steady_ns = s.steady;
	if (!(s.steady > 0))
		return;
	sum_up(&s, room + count, room + 2 * count);
	judge(&s, w);
}

static bool vary(const uint64_t *sizes, size_t count)
{
	for (size_t i = 1; sizes && i < count; i++)
		if (sizes[i] != sizes[0])
			return true;
	return false;
}

bool warmup_judge(struct warmup *w, const uint64_t *ns, const uint64_t *sizes, size_t count)
{
	*w = (struct warmup){ 0 };
	if (count < 3)
		return true;

	cleanup_free double *values = reallocarray(NULL, 4 * count + 1, sizeof(*values));
	if (!values)
		return false;
	for (size_t i = 0; i < count; i++)
		values[i] = (double)ns[i];
	if (vary(sizes, count)) {
		enum relative relative = relative_to_size(values, sizes, count);
		if (relative != RELATIVE_DONE)
			return relative == RELATIVE_UNKNOWN;
	}
	judge_series(w, values, count, values + count);
	return true;
}

const char *warmup_verdict_name(enum warmup_verdict verdict)
{
	static const char *const names[] = {
		[WARMUP_NONE] = "none",
		[WARMUP_INCLUDED] = "includes-warm-up",
		[WARMUP_TOO_SHORT] = "run-too-short",
		[WARMUP_NO_STEADY_STATE] = "no-steady-state",
		[WARMUP_SLOWS_DOWN] = "slows-down",
	};

	return names[verdict];
}
