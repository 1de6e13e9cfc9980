// SPDX-License-Identifier: MIT
#include "cli/report/row_words.h"

#include "base/format.h"
#include "base/origin.h"
#include "base/path.h"
#include "base/strings.h"
#include "cli/report/section.h"
#include "cli/report/view.h"
#include "merge/profile/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The rows of a table. A process that waits for its children spends their time a second time: a
// make would rank wait4() above the compiler. And where a thread stood when another took its CPU is
// chance: on a busy machine that would rank whom it hit. So these waits count only where waiting is
// asked for.
static struct rows *rank(const struct profile *profile, struct query query, struct error *err)
{
	query.without_others = query.with_wall = true;
	struct rows *rows = query_run(profile, &query, err);

	if (!rows || rows->all)
		return rows;
	// Nothing but that: then it is the answer.
	rows_free(rows);
	query.without_others = false;
	return query_run(profile, &query, err);
}

struct rows *rows_shown(const struct profile *profile, const struct view *view, enum query_by by,
                        enum query_sort sort, struct error *err)
{
	return rank(profile, view_query(view, by, sort), err);
}

static bool have_own_lines(const struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];
		if (row->file && row->line && !origin_is_foreign(row->module, row->file))
			return true;
	}
	return false;
}

// A line often costs what it calls: where any are the user's own, a line has that, too, down to the
// next line of the user's own.
static struct rows *rank_lines(const struct profile *profile, struct query query, bool *own_code,
                               struct error *err)
{
	struct rows *rows = rank(profile, query, err);
	bool found = rows && !query.user_code && have_own_lines(rows);

	if (own_code)
		*own_code = found;
	if (!found)
		return rows;
	rows_free(rows);
	query.user_code = QUERY_OWN_CODE;
	return rank(profile, query, err);
}

struct ranked_line {
	struct row row;
	uint64_t rank;
	size_t at; // those of equal rank keep the query's order
};

static int compare_places(const void *a, const void *b)
{
	const struct ranked_line *x = a, *y = b;
	int order = strcmp(x->row.file ? x->row.file : "", y->row.file ? y->row.file : "");

	if (!order)
		order = (x->row.line > y->row.line) - (x->row.line < y->row.line);
	return order ? order : (x->at > y->at) - (x->at < y->at);
}

static int compare_ranks(const void *a, const void *b)
{
	const struct ranked_line *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? 1 : -1;
	return (x->at > y->at) - (x->at < y->at);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

// One function of a line may be within the other: the time with callees is not the sum.
static void add_line(struct row *to, const struct row *row)
{
	for (int m = 0; m < METRIC_COUNT; m++) {
		to->self_ns[m] += row->self_ns[m];
		to->total_ns[m] = larger(to->total_ns[m], row->total_ns[m]);
	}
	to->self += row->self;
	to->total = larger(to->total, row->total);
	to->gpu_self_ns += row->gpu_self_ns;
	to->gpu_total_ns = larger(to->gpu_total_ns, row->gpu_total_ns);
	to->wall_self_ns += row->wall_self_ns;
	to->wall_total_ns = larger(to->wall_total_ns, row->wall_total_ns);
	to->self_samples += row->self_samples;
	to->total_samples = larger(to->total_samples, row->total_samples);
}

// A line that has a function within it, as a comparison that is given to a sort, is one line.
static void join_lines(struct rows *rows, enum query_sort sort)
{
	struct ranked_line *lines = calloc(rows->count, sizeof(*lines));
	size_t used = 0;

	if (!lines)
		return;
	for (size_t i = 0; i < rows->count; i++)
		lines[i] = (struct ranked_line){ .row = rows->rows[i], .at = i };
	qsort(lines, rows->count, sizeof(*lines), compare_places);
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &lines[i].row, *last = used ? &lines[used - 1].row : NULL;
		if (last && row->file && row->line && row->line == last->line &&
		    strings_same(row->file, last->file))
			add_line(&lines[used - 1].row, row);
		else
			lines[used++] = lines[i];
	}
	for (size_t i = 0; i < used; i++)
		lines[i].rank = query_rank(&lines[i].row, sort);
	qsort(lines, used, sizeof(*lines), compare_ranks);
	for (size_t i = 0; i < used; i++)
		rows->rows[i] = lines[i].row;
	rows->count = used;
	free(lines);
}

struct rows *rows_by_line(const struct profile *profile, const struct view *view,
                          enum query_sort sort, bool *own_code, struct error *err)
{
	struct rows *rows = rank_lines(profile, view_query(view, BY_LINE, sort), own_code, err);

	if (rows && rows->count)
		join_lines(rows, sort);
	return rows;
}

struct rows *rows_all(const struct profile *profile, const struct view *view, enum query_by by,
                      struct error *err)
{
	struct query query = view_query(view, by, SORT_SELF);

	query.keep_others = true;
	return by == BY_LINE ? rank_lines(profile, query, NULL, err) : rank(profile, query, err);
}

bool rows_have_python(const struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].python)
			return true;
	return false;
}

bool row_is_startup(const char *function)
{
	static const char *const names[] = {
		"_start",
		"__libc_start_main",
		"__libc_start_main_impl",
		"__libc_start_main_alias_2",
		"__libc_start_call_main",
		"_dl_start",
		"_dl_sysdep_start",
		"node::Start(int, char**)",
		"runtime.goexit",
		"runtime.main",
		"start_thread",
		"clone",
		"clone3",
		"__clone3",
		"Py_BytesMain",
		"Py_RunMain",
		"entry_SYSCALL_64_after_hwframe",
		"do_syscall_64",
		"x64_sys_call",
		"asm_exc_page_fault",
		"ret_from_fork",
		"ret_from_fork_asm",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(function, names[i]) == 0)
			return true;
	return false;
}

const char *wait_words(enum metric metric)
{
	static const char *const kinds[METRIC_COUNT] = {
		[METRIC_ON_CPU] = "",
		[METRIC_OFF_RUNNABLE] = "cpu wait",
		[METRIC_OFF_LOCK] = "lock wait",
		[METRIC_OFF_FILE] = "file wait",
		[METRIC_OFF_NET] = "net wait",
		[METRIC_OFF_PIPE] = "pipe wait",
		[METRIC_OFF_SLEEP] = "sleep",
		[METRIC_OFF_FAULT] = "page wait",
		[METRIC_OFF_CHILD] = "child wait",
		[METRIC_OFF_GPU] = "GPU wait",
		[METRIC_OFF_STOPPED] = "stopped",
		[METRIC_OFF_OTHER] = "wait",
	};

	return (unsigned)metric < METRIC_COUNT ? kinds[metric] : "";
}

const char *row_kind_words(const struct row *row)
{
	// Waiting for a CPU is the lot of code that runs, and of who was woken: not what either is
	// for.
	uint64_t most = row->self_ns[METRIC_ON_CPU];
	enum metric kind = METRIC_ON_CPU;

	for (int m = METRIC_OFF_RUNNABLE + 1; m < METRIC_COUNT; m++) {
		if (row->self_ns[m] > most) {
			most = row->self_ns[m];
			kind = (enum metric)m;
		}
	}
	if (kind != METRIC_ON_CPU)
		return wait_words(kind);
	if (!row->module && !row->file)
		return row->kernel ? "kernel" : ""; // a mark: not code of the program's
	if (row->python)
		return "python";
	if (row->called)
		return "python C";
	return row->kernel ? "kernel" : row->inlined ? "inline" : "native";
}

void place_words(const char *file, int line, const char *module, char *buffer, size_t size)
{
	if (file && line > 0)
		snprintf(buffer, size, "%s:%d", path_base(file), line);
	else if (file)
		snprintf(buffer, size, "%s", path_base(file));
	else if (module && module[0] == '[')
		snprintf(buffer, size, "%s", module);
	else if (module)
		snprintf(buffer, size, "[%s]", path_base(module));
	else
		buffer[0] = '\0';
}

const char *range_words(struct report *r, uint64_t low_ns, uint64_t high_ns, uint64_t largest_ns)
{
	struct time_unit unit = format_time_unit(largest_ns);
	struct short_text low = format_time(low_ns, unit), high = format_time(high_ns, unit);

	if (strcmp(low.text, high.text) == 0)
		return "";
	*strchr(low.text, ' ') = '\0';
	return report_say(r, "%s to %s", low.text, high.text);
}

const char *place_beside(const char *name, const char *place)
{
	if (strcmp(place, name) != 0)
		return place;
	bool kernel = strcmp(name, "[kernel]") == 0 || strcmp(name, "[page fault]") == 0;
	return kernel ? "" : "no symbols";
}
