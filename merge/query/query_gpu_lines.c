// SPDX-License-Identifier: MIT
#include "merge/query/query_gpu_lines.h"

#include "base/error.h"
#include "merge/gpu/gpu_lines.h"
#include "merge/numbers/statistics.h"
#include "merge/profile/profile_parts.h"
#include "symbolize/frame/demangle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void gpu_line_rows_free(struct gpu_line_rows *rows)
{
	if (!rows)
		return;
	demangler_free(rows->names);
	free(rows->rows);
	free(rows);
}

// Instructions of one line lie beside each other; within it those with one reason.
static int compare_places(const struct gpu_pc *a, const struct gpu_pc *b)
{
	const uint32_t left[] = { a->function, a->file,      a->line,
		                  a->inlined,  a->call_file, a->call_line };
	const uint32_t right[] = { b->function, b->file,      b->line,
		                   b->inlined,  b->call_file, b->call_line };

	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

static int compare_samples(const void *a, const void *b, void *context)
{
	const struct gpu_lines *g = context;
	const struct gpu_pc_samples *left = &g->stalls[*(const uint32_t *)a];
	const struct gpu_pc_samples *right = &g->stalls[*(const uint32_t *)b];
	int order = compare_places(&g->pcs[left->pc - 1], &g->pcs[right->pc - 1]);

	return order ? order : (left->reason > right->reason) - (left->reason < right->reason);
}

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

// Total: the same profile gives the same order on every machine.
static int compare_rows(const void *a, const void *b)
{
	const struct gpu_line *left = a, *right = b;

	if (left->samples != right->samples)
		return left->samples > right->samples ? -1 : 1;
	int order = compare_texts(left->kernel, right->kernel);
	order = order ? order : compare_texts(left->file, right->file);
	if (order || left->line != right->line)
		return order ? order : left->line < right->line ? -1 : 1;
	order = compare_texts(left->inlined, right->inlined);
	order = order ? order : compare_texts(left->call_file, right->call_file);
	return order ? order
	             : (left->call_line > right->call_line) - (left->call_line < right->call_line);
}

static const char *readable(const struct gpu_line_rows *rows, const struct profile *p, uint32_t id)
{
	const char *mangled = profile_string(p, id);
	const char *name = mangled ? demangler_name(rows->names, mangled, strlen(mangled)) : NULL;

	return name ? name : mangled;
}

static struct gpu_line begin_row(const struct gpu_line_rows *rows, const struct profile *p,
                                 const struct gpu_pc *pc)
{
	return (struct gpu_line){
		.kernel = readable(rows, p, pc->function),
		.file = profile_string(p, pc->file),
		.line = pc->line,
		.inlined = readable(rows, p, pc->inlined),
		.call_file = profile_string(p, pc->call_file),
		.call_line = pc->call_line,
	};
}

static void fill_rows(const struct profile *p, const uint32_t *order, struct gpu_line_rows *rows)
{
	const struct gpu_lines *g = profile_gpu_lines(p);
	const struct gpu_pc *place = NULL;
	struct gpu_line *row = NULL;
	uint64_t of_reason = 0;
	uint32_t reason = 0;

	for (uint32_t i = 0; i < g->stall_count; i++) {
		const struct gpu_pc_samples *s = &g->stalls[order[i]];
		const struct gpu_pc *pc = &g->pcs[s->pc - 1];
		if (!place || compare_places(place, pc) != 0) {
			row = &rows->rows[rows->count++];
			*row = begin_row(rows, p, pc);
			place = pc;
			of_reason = 0;
		}
		of_reason = s->reason == reason ? of_reason + s->samples : s->samples;
		reason = s->reason;
		row->samples += s->samples;
		rows->samples += s->samples;
		rows->unnamed += pc->file ? 0 : s->samples;
		if (of_reason <= row->reason_samples)
			continue;
		row->reason_samples = of_reason;
		row->reason = profile_string(p, reason);
	}
}

static void finish_rows(struct gpu_line_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		double share = (double)rows->rows[i].samples / (double)rows->samples;
		rows->rows[i].margin = statistics_wilson(share, rows->samples).half;
	}
	if (rows->count)
		qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_rows);
}

struct gpu_line_rows *query_gpu_lines(const struct profile *p, struct error *err)
{
	const struct gpu_lines *g = profile_gpu_lines(p);
	cleanup(gpu_line_rows) struct gpu_line_rows *rows = calloc(1, sizeof(*rows));
	cleanup_free uint32_t *order = calloc(g->stall_count + 1, sizeof(*order));

	if (rows) {
		rows->rows = calloc(g->stall_count + 1, sizeof(*rows->rows));
		rows->names = demangler_new();
	}
	if (!rows || !rows->rows || !rows->names || !order) {
		error_set(err, ENOMEM, "could not list the lines of kernels");
		return NULL;
	}
	rows->dropped = g->dropped;
	rows->other = g->other;
	rows->lost = g->lost;
	for (uint32_t i = 0; i < g->stall_count; i++)
		order[i] = i;
	if (g->stall_count)
		qsort_r(order, g->stall_count, sizeof(*order), compare_samples, (void *)g);
	fill_rows(p, order, rows);
	finish_rows(rows);
	return steal(rows);
}
