// SPDX-License-Identifier: MIT
// Page faults of managed memory by the code of the host that had them.
#include "base/error.h"
#include "merge/gpu/gpu.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/answer.h"
#include "merge/query/query_gpu.h"
#include "merge/scope/own_place.h"
#include "merge/scope/scope.h"

#include <errno.h>
#include <stdlib.h>

#define CALLERS_MAX 64u // rows whose callers are looked for

// A row, and what makes it one.
struct line {
	struct place place; // function, file, line
	uint32_t module, process;
	bool own;
	uint32_t caller; // node of the path that has most of the time; 0: none
	uint64_t caller_ns;
	uint32_t open; // while the tree is walked: the node that it was entered at
	uint64_t before_ns;
	struct gpu_fault_row row; // the sums
};

struct asking {
	const struct profile *profile;
	struct line *lines;
	size_t count;
	uint32_t *lines_at; // [location - 1]: index + 1 of the line whose function stands there
	uint64_t walked_ns;
};

void gpu_fault_rows_free(struct gpu_fault_rows *rows)
{
	if (rows)
		free(rows->rows);
	free(rows);
}

static void asking_at_scope_end(struct asking *a)
{
	free(a->lines);
	free(a->lines_at);
}

static struct line line_of(const struct profile *p, const struct gpu_managed *m)
{
	const struct location *location = profile_location(p, m->location);
	const struct place *places = profile_places(p, location);
	const struct place *own = own_place_at(p, location);
	struct line line = { .module = location->module, .process = m->process, .own = own };

	if (own || location->place_count)
		line.place = own ? *own : places[0];
	return line;
}

static bool is_same(const struct line *a, const struct line *b)
{
	return a->place.function == b->place.function && a->place.file == b->place.file &&
	       a->place.line == b->place.line && a->module == b->module && a->process == b->process;
}

static void add(struct asking *a, const struct gpu_managed *m)
{
	struct line line = line_of(a->profile, m);
	size_t at = 0;

	while (at < a->count && !is_same(&a->lines[at], &line))
		at++;
	if (at == a->count)
		a->lines[a->count++] = line;
	struct gpu_fault_row *row = &a->lines[at].row;
	if (m->kind == GPU_MANAGED_HOST_FAULT) {
		row->faults += m->count;
		row->reads += m->cause == GPU_MANAGED_READ ? m->count : 0;
		row->writes += m->cause == GPU_MANAGED_WRITE ? m->count : 0;
		return;
	}
	row->moves += m->count;
	row->bytes += m->value;
	row->ns += m->ns;
}

// Total: the same profile gives the same order on every machine.
static int compare_lines(const void *left, const void *right, void *context)
{
	const struct strings *strings = profile_strings(context);
	const struct line *a = left, *b = right;

	if (a->row.ns != b->row.ns)
		return a->row.ns < b->row.ns ? 1 : -1;
	if (a->row.faults != b->row.faults)
		return a->row.faults < b->row.faults ? 1 : -1;
	int order = compare_names(strings_get(strings, a->place.function),
	                          strings_get(strings, b->place.function));
	order = order ? order
	              : compare_names(strings_get(strings, a->place.file),
	                              strings_get(strings, b->place.file));
	if (order)
		return order;
	return a->place.line != b->place.line
	               ? (a->place.line > b->place.line) - (a->place.line < b->place.line)
	               : (a->process > b->process) - (a->process < b->process);
}

// Callers.

static uint32_t find_line(const struct asking *a, const struct location *location)
{
	const struct place *places = profile_places(a->profile, location);

	for (size_t i = 0; location->place_count && i < a->count && i < CALLERS_MAX; i++)
		if (!a->lines[i].own && a->lines[i].module == location->module &&
		    a->lines[i].place.function && a->lines[i].place.function == places[0].function)
			return (uint32_t)i + 1;
	return 0;
}

static uint32_t line_at(const struct asking *a, uint32_t node)
{
	const struct path_node *at = profile_node(a->profile, node);

	return at->parent ? a->lines_at[at->location - 1] : 0;
}

static void enter(struct asking *a, const struct scope *scope, uint32_t node)
{
	uint32_t number = line_at(a, node);
	struct line *line = number ? &a->lines[number - 1] : NULL;

	if (line && !line->open) {
		line->open = node;
		line->before_ns = a->walked_ns;
	}
	for (uint32_t i = scope->first_cell[node - 1]; i < scope->first_cell[node]; i++)
		a->walked_ns += scope_ns(scope, &scope->table->cells[scope->cells[i]]);
}

static void leave(struct asking *a, uint32_t node)
{
	uint32_t number = line_at(a, node);
	struct line *line = number ? &a->lines[number - 1] : NULL;

	if (!line || line->open != node)
		return;
	line->open = 0;
	if (a->walked_ns - line->before_ns <= line->caller_ns || !own_place_above(a->profile, node))
		return;
	line->caller_ns = a->walked_ns - line->before_ns;
	line->caller = node;
}

// An instruction tells nothing of its callers: who had most of its function's time has most of its
// faults.
static int find_callers(struct asking *a, struct error *err)
{
	const struct query query = { .by = BY_FUNCTION };
	const struct locations *locations = profile_locations(a->profile);
	cleanup(scope) struct scope scope = { 0 };

	a->lines_at = calloc((size_t)locations->count + 1, sizeof(*a->lines_at));
	if (!a->lines_at)
		return error_set(err, ENOMEM, "could not list page faults");
	for (uint32_t i = 0; i < locations->count; i++)
		a->lines_at[i] = find_line(a, &locations->locations[i]);
	if (scope_init(&scope, a->profile, &query, err) < 0)
		return -1;
	for (struct step step = scope_first(&scope); step.node; step = scope_next(&scope, step))
		if (step.entering)
			enter(a, &scope, step.node);
		else
			leave(a, step.node);
	return 0;
}

static struct gpu_fault_row row_of(const struct profile *p, const struct line *line)
{
	const struct module *module = profile_module(p, line->module);
	const struct place *caller = line->caller ? own_place_above(p, line->caller) : NULL;
	struct gpu_fault_row row = line->row;

	row.function = profile_string(p, line->place.function);
	row.file = profile_string(p, line->place.file);
	row.line = (int)line->place.line;
	row.module = module && module->path ? module->path : "";
	row.process = profile_owner(p, line->process);
	if (caller) {
		row.caller = profile_string(p, caller->function);
		row.caller_file = profile_string(p, caller->file);
		row.caller_line = (int)caller->line;
	}
	return row;
}

struct gpu_fault_rows *query_gpu_faults(const struct profile *p, struct error *err)
{
	const struct gpu *g = profile_gpu(p);
	cleanup(gpu_fault_rows) struct gpu_fault_rows *rows = calloc(1, sizeof(*rows));
	cleanup(asking) struct asking a = { .profile = p };

	a.lines = calloc((size_t)g->managed_count + 1, sizeof(*a.lines));
	for (uint32_t i = 0; a.lines && i < g->managed_count; i++)
		if (g->managed[i].location && g->managed[i].count)
			add(&a, &g->managed[i]);
	if (rows)
		rows->rows = calloc(a.count + 1, sizeof(*rows->rows));
	if (!rows || !rows->rows || !a.lines) {
		error_set(err, ENOMEM, "could not list page faults");
		return NULL;
	}
	if (a.count)
		qsort_r(a.lines, a.count, sizeof(*a.lines), compare_lines, (void *)p);
	if (a.count && find_callers(&a, err) < 0)
		return NULL;
	for (size_t i = 0; i < a.count; i++) {
		rows->rows[rows->count] = row_of(p, &a.lines[i]);
		rows->faults += rows->rows[rows->count].faults;
		rows->ns += rows->rows[rows->count++].ns;
	}
	return steal(rows);
}

void gpu_managed_rows_free(struct gpu_managed_rows *rows)
{
	if (rows)
		free(rows->rows);
	free(rows);
}

static void fill_row(const struct profile *p, const struct gpu_managed *m,
                     struct gpu_managed_row *row)
{
	const struct gpu_device *device =
		m->device ? &profile_gpu(p)->devices[m->device - 1] : NULL;
	const struct process_info *process = profile_process(p, m->process);
	bool groups = m->kind == GPU_MANAGED_DEVICE_FAULT;

	*row = (struct gpu_managed_row){
		.kind = m->kind,
		.cause = m->cause,
		.has_device = device != NULL,
		.device = device ? device->number : 0,
		.process = profile_owner(p, m->process),
		.pid = process ? process->pid : 0,
		.count = m->count,
		.ns = m->ns,
		.bytes = groups ? 0 : m->value,
		.groups = groups ? m->value : 0,
	};
	if (gpu_managed_moves(row->kind) && row->ns)
		row->bytes_per_s = (double)row->bytes / ((double)row->ns / 1e9);
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

// Total: the same profile gives the same order on every machine.
static int compare_rows(const void *a, const void *b)
{
	const struct gpu_managed_row *left = a, *right = b;
	const uint64_t keys[][2] = {
		{ right->ns, left->ns },         { right->count, left->count },
		{ left->kind, right->kind },     { left->cause, right->cause },
		{ left->device, right->device }, { left->pid, right->pid },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		int order = compare_u64(keys[i][0], keys[i][1]);
		if (order)
			return order;
	}
	return 0;
}

// Where the program was is another question: query_gpu_faults().
static bool sum_up(const struct gpu *g, struct gpu *sums)
{
	for (uint32_t i = 0; i < g->managed_count; i++) {
		struct gpu_managed m = g->managed[i];
		m.location = 0;
		if (m.count && !gpu_add_managed(sums, &m))
			return false;
	}
	return true;
}

struct gpu_managed_rows *query_gpu_managed(const struct profile *p, struct error *err)
{
	struct gpu sums = { 0 }; // of its tables this one alone
	cleanup(gpu_managed_rows) struct gpu_managed_rows *rows = calloc(1, sizeof(*rows));
	bool summed = sum_up(profile_gpu(p), &sums);
	cleanup_free struct gpu_managed *managed = sums.managed;

	if (rows)
		rows->rows = calloc((size_t)sums.managed_count + 1, sizeof(*rows->rows));
	if (!rows || !rows->rows || !summed) {
		error_set(err, ENOMEM, "could not list what was done with managed memory");
		return NULL;
	}
	for (uint32_t i = 0; i < sums.managed_count; i++)
		fill_row(p, &managed[i], &rows->rows[rows->count++]);
	if (rows->count)
		qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_rows);
	return steal(rows);
}
