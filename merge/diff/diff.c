// SPDX-License-Identifier: MIT
#include "merge/diff/diff.h"

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/strings.h"
#include "merge/diff/diff_items.h"
#include "merge/numbers/statistics.h"
#include "merge/query/answer.h"
#include "merge/query/query_wall.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Which rows of several runs are about the same thing.
//
// In turns, the strictest first, and where only one is left on each side that could be meant: by
// name, module and file; by name and module; by name and file; by name.

/* [row * runs + run]: index of the item + 1; 0: the run has no such row. */
struct diff_match {
	uint32_t *items;
	size_t count, capacity; /* rows; capacity of ITEMS */
	size_t runs;
};

/* NULL if RUN has none. */
static inline const struct diff_item *diff_match_item(const struct diff_match *match,
                                                      const struct diff_items *runs, size_t row,
                                                      size_t run)
{
	uint32_t item = match->items[row * match->runs + run];

	return item ? &runs[run].items[item - 1] : NULL;
}

static void diff_match_fini(struct diff_match *match)
{
	free(match->items);
}

static inline void diff_match_at_scope_end(struct diff_match *match)
{
	diff_match_fini(match);
}

enum turn {
	TURN_ALL,
	TURN_MODULE,
	TURN_FILE,
	TURN_NAME,
	TURNS
};

// What ITEM is matched by in TURN.
static uint64_t key_of_item(const struct diff_item *item, enum turn turn)
{
	bool module = turn == TURN_ALL || turn == TURN_MODULE;
	bool file = turn == TURN_ALL || turn == TURN_FILE;
	uint64_t key = hash_pair(item->plain, item->shape);

	key = hash_pair(key, (uint64_t)(unsigned)item->key_line);
	key = hash_pair(key, module ? item->module_base : UINT32_MAX);
	return hash_pair(key, file ? item->file_base : UINT32_MAX);
}

// A row, or an item, by its key.
struct keyed {
	uint64_t key;
	uint32_t index;
};

static int compare_keyed(const void *a, const void *b)
{
	const struct keyed *left = a, *right = b;

	if (left->key != right->key)
		return left->key < right->key ? -1 : 1;
	return left->index < right->index ? -1 : left->index > right->index;
}

static bool is_first(const struct keyed *keyed, size_t i)
{
	return !i || keyed[i - 1].key != keyed[i].key;
}

static bool is_only(const struct keyed *keyed, size_t count, size_t i)
{
	return is_first(keyed, i) && (i + 1 == count || keyed[i + 1].key != keyed[i].key);
}

static void add_item(struct diff_item *to, const struct diff_item *item)
{
	if (item->ns > to->ns) {
		to->line = item->line;
		to->median_ns = item->median_ns;
	}
	to->ns += item->ns;
	to->waiting_ns += item->waiting_ns;
	to->calls += item->calls;
	to->bytes += item->bytes;
	to->variance += item->variance;
	to->counted += item->counted;
}

// Items of one run that are called the same become the first of them.
static int join_items(struct diff_items *run)
{
	cleanup_free struct keyed *keyed = calloc(run->count + 1, sizeof(*keyed));
	cleanup_free bool *gone = calloc(run->count + 1, sizeof(*gone));
	size_t kept = 0;

	if (!keyed || !gone)
		return -1;
	for (size_t i = 0; i < run->count; i++)
		keyed[i] = (struct keyed){ key_of_item(&run->items[i], TURN_ALL), (uint32_t)i };
	qsort(keyed, run->count, sizeof(*keyed), compare_keyed);
	for (size_t i = 0, first = 0; i < run->count; i++) {
		if (is_first(keyed, i)) {
			first = i;
			continue;
		}
		add_item(&run->items[keyed[first].index], &run->items[keyed[i].index]);
		gone[keyed[i].index] = true;
	}
	for (size_t i = 0; i < run->count; i++)
		if (!gone[i])
			run->items[kept++] = run->items[i];
	run->count = kept;
	return 0;
}

// The item that stands for ROW: of the first run that has it.
static const struct diff_item *face_of_match(const struct diff_match *match,
                                             const struct diff_items *runs, size_t row)
{
	for (size_t run = 0; run < match->runs; run++)
		if (match->items[row * match->runs + run])
			return diff_match_item(match, runs, row, run);
	return NULL;
}

static bool add_row(struct diff_match *match, size_t run, size_t item)
{
	size_t at = match->count * match->runs;

	if (!array_reserve(&match->items, &match->capacity, at + match->runs))
		return false;
	memset(match->items + at, 0, match->runs * sizeof(*match->items));
	match->items[at + run] = (uint32_t)item + 1;
	match->count++;
	return true;
}

struct turn_lists {
	struct keyed *rows, *items;
	size_t row_count, item_count;
};

static void fill_lists(struct turn_lists *lists, const struct diff_match *match,
                       const struct diff_items *runs, size_t run, const bool *placed,
                       enum turn turn)
{
	lists->row_count = lists->item_count = 0;
	for (size_t row = 0; row < match->count; row++)
		if (!match->items[row * match->runs + run])
			lists->rows[lists->row_count++] =
				(struct keyed){ key_of_item(face_of_match(match, runs, row), turn),
				                (uint32_t)row };
	for (size_t i = 0; i < runs[run].count; i++)
		if (!placed[i])
			lists->items[lists->item_count++] =
				(struct keyed){ key_of_item(&runs[run].items[i], turn),
				                (uint32_t)i };
	qsort(lists->rows, lists->row_count, sizeof(*lists->rows), compare_keyed);
	qsort(lists->items, lists->item_count, sizeof(*lists->items), compare_keyed);
}

static void take_turn(struct turn_lists *lists, struct diff_match *match,
                      const struct diff_items *runs, size_t run, bool *placed, enum turn turn)
{
	size_t at = 0;

	fill_lists(lists, match, runs, run, placed, turn);
	for (size_t i = 0; i < lists->item_count; i++) {
		while (at < lists->row_count && lists->rows[at].key < lists->items[i].key)
			at++;
		if (at == lists->row_count)
			break;
		if (lists->rows[at].key != lists->items[i].key ||
		    !is_only(lists->rows, lists->row_count, at) ||
		    !is_only(lists->items, lists->item_count, i))
			continue;
		// Rows are those of match. NOLINTNEXTLINE(clang-analyzer-core.NullDereference)
		match->items[lists->rows[at].index * match->runs + run] = lists->items[i].index + 1;
		placed[lists->items[i].index] = true;
	}
}

static int match_run(struct diff_match *match, const struct diff_items *runs, size_t run)
{
	const struct diff_items *items = &runs[run];
	cleanup_free bool *placed = calloc(items->count + 1, sizeof(*placed));
	cleanup_free struct keyed *of_rows = calloc(match->count + 1, sizeof(*of_rows));
	cleanup_free struct keyed *of_items = calloc(items->count + 1, sizeof(*of_items));
	struct turn_lists lists = { .rows = of_rows, .items = of_items };

	if (!placed || !of_rows || !of_items)
		return -1;
	for (int turn = 0; turn < TURNS; turn++)
		take_turn(&lists, match, runs, run, placed, (enum turn)turn);
	for (size_t i = 0; i < items->count; i++)
		if (!placed[i] && !add_row(match, run, i))
			return -1;
	return 0;
}

#define SHIFT_LINES 16  // of a file that tell how far it has moved: those with most time
#define SHIFT_SURE  1.5 // so much more has to be found behind it than where it was

struct heavy {
	const struct diff_item *lines[SHIFT_LINES];
	size_t count;
};

// The lines of FILE with most time; runs come with most first.
static struct heavy heavy_of(const struct diff_items *run, uint32_t file)
{
	struct heavy heavy = { .count = 0 };

	for (size_t i = 0; i < run->count && heavy.count < SHIFT_LINES; i++)
		if (run->items[i].plain == file && run->items[i].key_line)
			heavy.lines[heavy.count++] = &run->items[i];
	return heavy;
}

// The time that is in both if lines of BASE are SHIFT further down in NEXT.
static double common_time(const struct heavy *base, const struct heavy *next, int shift)
{
	double sum = 0;

	for (size_t b = 0; b < base->count; b++)
		for (size_t n = 0; n < next->count; n++)
			if (base->lines[b]->line + shift == next->lines[n]->line)
				sum += fmin(base->lines[b]->ns, next->lines[n]->ns);
	return sum;
}

static int shift_of(const struct heavy *base, const struct heavy *next)
{
	double stayed = common_time(base, next, 0), most = SHIFT_SURE * stayed;
	int best = 0;

	for (size_t b = 0; b < base->count; b++)
		for (size_t n = 0; n < next->count; n++) {
			int shift = next->lines[n]->line - base->lines[b]->line;
			double time = common_time(base, next, shift);
			if (time > most) {
				most = time;
				best = shift;
			}
		}
	return best;
}

// Gives the lines of NEXT the numbers that they had in BASE.
static int shift_lines(const struct diff_items *base, struct diff_items *next)
{
	cleanup_free bool *done = calloc(next->count + 1, sizeof(*done));

	if (!done)
		return -1;
	for (size_t i = 0; i < next->count; i++) {
		uint32_t file = next->items[i].plain;
		if (done[i] || !next->items[i].key_line)
			continue;
		struct heavy was = heavy_of(base, file), is = heavy_of(next, file);
		int shift = shift_of(&was, &is);
		for (size_t j = i; j < next->count; j++) {
			if (next->items[j].plain != file || !next->items[j].key_line)
				continue;
			next->items[j].key_line = next->items[j].line - shift;
			done[j] = true;
		}
	}
	return 0;
}

// The first BASES of RUNS are of BASE. Rows of one run that are called the same become one. -1 if
// there is no memory.
static int diff_match_make(struct diff_match *match, struct diff_items *runs, size_t count,
                           size_t bases)
{
	*match = (struct diff_match){ .runs = count };
	for (size_t run = 0; run < count; run++) {
		if (join_items(&runs[run]) < 0)
			return -1;
		if (run >= bases && shift_lines(&runs[0], &runs[run]) < 0)
			return -1;
		if (match_run(match, runs, run) < 0)
			return -1;
	}
	return 0;
}

void diff_free(struct diff *diff)
{
	if (!diff)
		return;
	free(diff->rows);
	strings_free(diff->texts);
	free(diff);
}

// All that is known while a diff is made: the runs of BASE, then those of NEW.
struct comparison {
	const struct diff_query *query;
	struct diff_items *runs;
	size_t bases, nexts;
	struct diff_match match;
	struct noise_sample *samples; // [bases + nexts]: of the row that is being judged
	struct noise_test *tests;     // [row]
};

static void comparison_fini(struct comparison *c)
{
	for (size_t i = 0; c->runs && i < c->bases + c->nexts; i++)
		diff_items_fini(&c->runs[i]);
	free(c->runs);
	free(c->samples);
	free(c->tests);
	diff_match_fini(&c->match);
}

static void comparison_at_scope_end(struct comparison *c)
{
	comparison_fini(c);
}

static bool have_wall(const struct diff_side *side)
{
	for (size_t i = 0; i < side->count; i++)
		if (!query_wall_ns(side->parts[i].profile))
			return false;
	return true;
}

static int take_all(struct comparison *c, const struct diff_side *base,
                    const struct diff_side *next, struct strings *texts, struct error *err)
{
	bool by_wall = have_wall(base) && have_wall(next);

	for (size_t i = 0; i < c->bases + c->nexts; i++) {
		bool is_base = i < c->bases;
		const struct diff_part *part =
			is_base ? &base->parts[i] : &next->parts[i - c->bases];
		c->runs[i].texts = texts;
		c->runs[i].by_wall = by_wall;
		if (diff_items_take(&c->runs[i], part, c->query, err) < 0)
			return -1;
	}
	return 0;
}

static double mean_all(const struct diff_items *runs, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += runs[i].all_ns;
	return sum / (double)count;
}

static double machine_noise(const struct noise_level *noise, const struct diff_item *item)
{
	if (!item)
		return 0;
	return item->by_clock ? noise->wall : item->kernel ? noise->kernel : noise->own;
}

// RUN's time of ITEM (NULL: none), and how sure that is.
static struct noise_sample sample_of(const struct diff_items *run, const struct diff_item *item)
{
	double ns = item ? item->ns : 0;
	double machine = ns * machine_noise(&run->noise, item), quiet = ns * NOISE_QUIET;
	bool sampled = !item || !item->exact;
	double one = sampled ? run->sample_ns : NOISE_NS; // a count of none may have been one

	return (struct noise_sample){
		.value = ns,
		.variance = (item ? item->variance : 0) + machine * machine + one * one,
		.least = (item ? item->counted : 0) + quiet * quiet + one * one,
	};
}

static struct diff_value value_of(const struct comparison *c, size_t row, size_t from, size_t count)
{
	struct diff_value value = { 0 };
	double variance = 0;

	for (size_t i = from; i < from + count; i++) {
		const struct diff_item *item = diff_match_item(&c->match, c->runs, row, i);
		variance += c->samples[i].variance;
		if (!item)
			continue;
		value.runs++;
		value.ns += item->ns / (double)count;
		value.waiting_ns += item->waiting_ns / (double)count;
		value.calls += item->calls / (double)count;
		value.bytes += item->bytes / (double)count;
		value.median_ns += item->median_ns;
		value.line = value.line ? value.line : item->line;
	}
	if (value.runs)
		value.median_ns /= value.runs;
	value.spread_ns = sqrt(variance) / (double)count;
	return value;
}

// NEW's texts where it has the row: that is the program that somebody looks at now.
static const struct diff_item *face_of(const struct comparison *c, size_t row)
{
	for (size_t i = c->bases + c->nexts; i--;)
		if (diff_match_item(&c->match, c->runs, row, i))
			return diff_match_item(&c->match, c->runs, row, i);
	return NULL;
}

static void fill_row(const struct comparison *c, const struct diff *diff, size_t at,
                     struct diff_row *row)
{
	const struct diff_item *face = face_of(c, at);
	const char *domain = strings_get(diff->texts, face->domain);
	const char *shape = strings_get(diff->texts, face->shape);

	for (size_t i = 0; i < c->bases + c->nexts; i++)
		c->samples[i] = sample_of(&c->runs[i], diff_match_item(&c->match, c->runs, at, i));
	*row = (struct diff_row){
		.name = strings_get(diff->texts, face->name),
		.file = strings_get(diff->texts, face->file),
		.module = strings_get(diff->texts, face->module),
		.domain = domain ? domain : "",
		.shape = shape ? shape : "",
		.base = value_of(c, at, 0, c->bases),
		.next = value_of(c, at, c->bases, c->nexts),
		.python = face->python,
		.kernel = face->kernel,
		.exact = face->exact,
	};
}

static bool is_small(const struct diff *diff, const struct diff_row *row, double share)
{
	return row->base.ns < share * diff->base_ns && row->next.ns < share * diff->next_ns;
}

// Whether it is found by a rule, and not in all of the runs: its times say nothing then.
static bool is_missed(const struct comparison *c, size_t row)
{
	bool found = false, missing = false;

	for (size_t i = 0; i < c->bases + c->nexts; i++) {
		const struct diff_item *item = diff_match_item(&c->match, c->runs, row, i);
		found |= item && item->found;
		missing |= !item;
	}
	return found && missing;
}

static int fill_rows(struct comparison *c, struct diff *diff, struct error *err)
{
	diff->rows = calloc(c->match.count + 1, sizeof(*diff->rows));
	c->tests = calloc(c->match.count + 1, sizeof(*c->tests));
	if (!diff->rows || !c->tests)
		return error_set(err, ENOMEM, "could not compare the profiles");
	for (size_t i = 0; i < c->match.count; i++) {
		struct diff_row *row = &diff->rows[diff->count];
		fill_row(c, diff, i, row);
		if (is_missed(c, i) || is_small(diff, row, c->query->min_share)) {
			diff->left_out++;
			continue;
		}
		c->tests[diff->count++] =
			noise_compare(c->samples, c->bases, c->samples + c->bases, c->nexts);
	}
	return 0;
}

static enum diff_verdict verdict_of(const struct diff *diff, const struct diff_row *row,
                                    double alpha)
{
	double small = fmax(DIFF_SMALL_ROW * row->base.ns, DIFF_SMALL_ALL * diff->base_ns);

	if (row->p < alpha)
		return DIFF_CHANGED;
	return fabs(row->change_ns) + row->margin_ns <= small ? DIFF_SAME : DIFF_UNSURE;
}

static int judge(struct comparison *c, struct diff *diff, struct error *err)
{
	cleanup_free double *numbers = calloc(3 * diff->count + 1, sizeof(*numbers));
	double *p = numbers, *adjusted = numbers + diff->count, *level = adjusted + diff->count;
	double alpha = 1 - c->query->confidence;

	for (size_t i = 0; numbers && i < diff->count; i++)
		p[i] = c->tests[i].p;
	if (!numbers || noise_holm(p, diff->count, alpha, adjusted, level) < 0)
		return error_set(err, ENOMEM, "could not compare the profiles");
	for (size_t i = 0; i < diff->count; i++) {
		struct diff_row *row = &diff->rows[i];
		const struct noise_test *test = &c->tests[i];
		row->change_ns = test->change;
		row->margin_ns = test->error * statistics_student_t(level[i], test->freedom);
		row->error_ns = test->error;
		row->freedom = test->freedom;
		row->p = adjusted[i];
		row->verdict = verdict_of(diff, row, alpha);
	}
	return 0;
}

struct ranking {
	const struct diff_row *row;
	double key;
};

static double key_of(const struct diff_row *row, enum diff_sort sort)
{
	return sort == DIFF_BY_RATIO  ? fabs(log((row->next.ns + 1) / (row->base.ns + 1)))
	       : sort == DIFF_BY_BASE ? row->base.ns
	       : sort == DIFF_BY_NEW  ? row->next.ns
	                              : fabs(row->change_ns);
}

// Total: the same profiles give the same order on every machine.
static int compare_ranking(const void *a, const void *b)
{
	const struct ranking *left = a, *right = b;

	if (left->key != right->key)
		return left->key > right->key ? -1 : 1;
	int order = strcmp(left->row->name, right->row->name);
	order = order ? order : compare_names(left->row->module, right->row->module);
	order = order ? order : compare_names(left->row->file, right->row->file);
	order = order ? order : strcmp(left->row->shape, right->row->shape);
	return order ? order : left->row->next.line - right->row->next.line;
}

static int sort_rows(struct diff *diff, enum diff_sort sort, struct error *err)
{
	cleanup_free struct ranking *ranking = calloc(diff->count + 1, sizeof(*ranking));
	struct diff_row *sorted = calloc(diff->count + 1, sizeof(*sorted));

	if (!ranking || !sorted) {
		free(sorted);
		return error_set(err, ENOMEM, "could not compare the profiles");
	}
	for (size_t i = 0; i < diff->count; i++)
		ranking[i] = (struct ranking){ &diff->rows[i], key_of(&diff->rows[i], sort) };
	qsort(ranking, diff->count, sizeof(*ranking), compare_ranking);
	for (size_t i = 0; i < diff->count; i++)
		sorted[i] = *ranking[i].row;
	free(diff->rows);
	diff->rows = sorted;
	return 0;
}

static int compare(struct comparison *c, struct diff *diff, struct error *err)
{
	size_t count = c->bases + c->nexts;

	if (diff_match_make(&c->match, c->runs, count, c->bases) < 0)
		return error_set(err, ENOMEM, "could not compare the profiles");
	diff->base_ns = mean_all(c->runs, c->bases);
	diff->next_ns = mean_all(c->runs + c->bases, c->nexts);
	if (fill_rows(c, diff, err) < 0 || judge(c, diff, err) < 0)
		return -1;
	if (c->query->by == DIFF_RUN)
		return 0; // they have an order of their own
	return sort_rows(diff, c->query->sort, err);
}

struct diff *diff_new(const struct diff_side *base, const struct diff_side *next,
                      const struct diff_query *query, struct error *err)
{
	cleanup(diff) struct diff *diff = calloc(1, sizeof(*diff));
	cleanup(comparison) struct comparison c = {
		.query = query,
		.bases = base->count,
		.nexts = next->count,
		.runs = calloc(base->count + next->count, sizeof(*c.runs)),
		.samples = calloc(base->count + next->count, sizeof(*c.samples)),
	};

	if (diff)
		diff->texts = strings_new();
	if (!diff || !diff->texts || !c.runs || !c.samples) {
		error_set(err, ENOMEM, "could not compare the profiles");
		return NULL;
	}
	if (take_all(&c, base, next, diff->texts, err) < 0 || compare(&c, diff, err) < 0)
		return NULL;
	return steal(diff);
}
