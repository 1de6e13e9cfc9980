// SPDX-License-Identifier: MIT
#include "merge/diff/diff_match.h"

#include "base/array.h"
#include "base/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum turn {
	TURN_ALL,
	TURN_MODULE,
	TURN_FILE,
	TURN_NAME,
	TURNS
};

void diff_match_fini(struct diff_match *match)
{
	free(match->items);
}

// What ITEM is matched by in TURN.
static uint64_t key_of(const struct diff_item *item, enum turn turn)
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
		keyed[i] = (struct keyed){ key_of(&run->items[i], TURN_ALL), (uint32_t)i };
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
static const struct diff_item *face_of(const struct diff_match *match,
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
				(struct keyed){ key_of(face_of(match, runs, row), turn),
				                (uint32_t)row };
	for (size_t i = 0; i < runs[run].count; i++)
		if (!placed[i])
			lists->items[lists->item_count++] =
				(struct keyed){ key_of(&runs[run].items[i], turn), (uint32_t)i };
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

int diff_match_make(struct diff_match *match, struct diff_items *runs, size_t count, size_t bases)
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
