// SPDX-License-Identifier: MIT
#include "merge/diff/diff.h"

#include "base/error.h"
#include "base/strings.h"
#include "merge/diff/diff_match.h"
#include "merge/numbers/statistics.h"
#include "merge/query/answer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static int take_all(struct comparison *c, const struct diff_side *base,
                    const struct diff_side *next, struct strings *texts, struct error *err)
{
	for (size_t i = 0; i < c->bases + c->nexts; i++) {
		bool is_base = i < c->bases;
		const struct diff_part *part =
			is_base ? &base->parts[i] : &next->parts[i - c->bases];
		c->runs[i].texts = texts;
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

// What RUN tells of its time of ITEM, NULL: none, and how sure that is.
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
