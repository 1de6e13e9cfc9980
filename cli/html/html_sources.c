// SPDX-License-Identifier: MIT
// The source around the hottest lines, so that the page shows it wherever it is opened.
#include "cli/html/html_parts.h"

#include "base/error.h"
#include "cli/report/row_words.h"
#include "cli/report/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX  20
#define ROWS_MAX   400   // lines that are worth their surroundings
#define SHARE_MIN  0.001 // of all time, for that
#define AROUND     12    // lines before and behind
#define LINE_BYTES 400

struct hot {
	const struct row *row;
	size_t file; // rank of its file: by the first, which is the hottest, of its lines
};

static int compare_hot(const void *left, const void *right)
{
	const struct hot *a = left, *b = right;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return a->row->line < b->row->line ? -1 : a->row->line > b->row->line;
}

static size_t rank_of_file(const struct hot *hot, size_t count, const char *file, size_t *files)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(hot[i].row->file, file) == 0)
			return hot[i].file;
	return (*files)++;
}

// By file, hottest first, and line. Returns how many.
static size_t choose(const struct rows *rows, struct hot *hot)
{
	size_t count = 0, files = 0;

	for (size_t i = 0; i < rows->count && count < ROWS_MAX; i++) {
		const struct row *row = &rows->rows[i];
		if (!row->file || row->line <= 0 ||
		    (double)row->total < SHARE_MIN * (double)rows->all)
			continue;
		size_t rank = rank_of_file(hot, count, row->file, &files);
		if (rank < FILES_MAX)
			hot[count++] = (struct hot){ row, rank };
	}
	qsort(hot, count, sizeof(*hot), compare_hot);
	return count;
}

// [first line, its text, the next one's …] for each stretch of lines near one of HOT.
static void put_stretches(struct json *j, FILE *source, const struct hot *hot, size_t count)
{
	char text[LINE_BYTES];
	bool open = false;
	size_t next = 0; // of HOT: the first that may have LINE near

	for (int line = 1; next < count && source_next(source, text, sizeof(text)); line++) {
		while (next < count && hot[next].row->line + AROUND < line)
			next++;
		bool near = next < count && hot[next].row->line <= line + AROUND;
		if (open && !near)
			json_close(j);
		if (near && !open) {
			json_open(j, NULL, '[');
			json_put_integer(j, NULL, line);
		}
		open = near;
		if (near)
			json_put_text(j, NULL, text);
	}
	if (open)
		json_close(j);
}

static void put_file(const struct html *h, const struct hot *hot, size_t count)
{
	const struct row *row = hot->row;
	const struct source_scope scope = source_scope_of(h->profile, h->view);
	bool newer = false;
	cleanup_fclose FILE *source = source_open(&scope, row->file, row->module, &newer);

	if (!source)
		return;
	json_open(h->j, NULL, '{');
	json_put_text(h->j, "file", row->file);
	json_put_bool(h->j, "newer", newer);
	json_open(h->j, "stretches", '[');
	put_stretches(h->j, source, hot, count);
	json_close(h->j);
	json_close(h->j);
}

int html_sources(const struct html *h, struct error *err)
{
	cleanup(rows) struct rows *rows = rows_by_line(h->profile, h->view, SORT_SELF, NULL, err);
	cleanup_free struct hot *hot = calloc(ROWS_MAX, sizeof(*hot));

	if (!rows)
		return -1;
	if (!hot)
		return error_set(err, ENOMEM, "could not write the sources");
	size_t count = choose(rows, hot);
	json_open(h->j, "sources", '[');
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && hot[end].file == hot[first].file;)
			end++;
		put_file(h, &hot[first], end - first);
	}
	json_close(h->j);
	return 0;
}
