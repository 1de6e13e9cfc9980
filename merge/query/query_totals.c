// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "merge/op/call_counts.h"
#include "merge/op/op_table.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query.h"
#include "merge/query/query_wall.h"
#include "merge/scope/scope.h"
#include "merge/scope/window.h"
#include "merge/table/cells.h"
#include "merge/table/slices.h"
#include "symbolize/symbolizer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct location *location_of_node(const struct profile *p, uint32_t id)
{
	const struct path_node *node = profile_node(p, id);

	return node->parent ? profile_location(p, node->location) : NULL;
}

// It stands for a path, or is what remains of one.
static bool is_folded(const struct profile *p, uint32_t id)
{
	for (int level = 0; level < 2 && id; level++) {
		const struct location *location = location_of_node(p, id);
		if (location && location_is_mark(location, MARK_FOLDED))
			return true;
		id = profile_node(p, id)->parent;
	}
	return false;
}

static bool is_callless(const struct profile *p, uint32_t id)
{
	const struct location *location = location_of_node(p, id);

	return location && location_is_mark(location, MARK_KERNEL) &&
	       !location_of_node(p, profile_node(p, id)->parent);
}

static uint64_t timeless_calls(const struct op_table *t)
{
	uint64_t calls = 0;

	for (uint32_t i = 0; i < t->count; i++)
		calls += t->entries[i].sums.timeless;
	return calls;
}

void query_totals(const struct profile *p, struct totals *totals)
{
	const struct call_counts *call_counts = profile_call_counts(p);
	const struct slices *slices = profile_slices(p);
	const struct cells *cells = profile_cells(p);

	*totals = (struct totals){
		.processes = (uint32_t)profile_threads(p)->processes_seen,
		.threads = (uint32_t)profile_threads(p)->threads_seen,
		.bin_ns = cells->width_ns,
		.lost_events = profile_lost(p),
		.lost_ns = profile_lost_ns(p),
		.counters = call_counts->begun,
		.uncounted = call_counts->begun - call_counts->ended,
		.timeless = timeless_calls(profile_op_table(p)),
		.slices = slices->kept,
		.slices_dropped = slices->dropped,
		.slices_until_ns = slices->cut_ns > profile_start_ns(p)
		                           ? slices->cut_ns - profile_start_ns(p)
		                           : 0,
	};
	for (uint32_t i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		uint64_t ns = cells_whole(cells, cell);
		if (metric_is_off_cpu(cell->metric))
			totals->off_cpu_ns += ns;
		else
			totals->on_cpu_ns += ns;
		if (cell->metric == METRIC_OFF_RUNNABLE)
			totals->runnable_ns += ns;
		if (is_callless(p, cell->node))
			totals->callless_ns += ns;
		if (is_folded(p, cell->node))
			totals->folded_ns += ns;
	}
}

uint64_t query_on_cpu_ns(const struct profile *p, uint64_t from_ns, uint64_t to_ns)
{
	const struct cells *cells = profile_cells(p);
	struct window window = window_of(p, from_ns, to_ns);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < cells->count; i++)
		if (cells->cells[i].metric == METRIC_ON_CPU)
			sum += cells_between(cells, &cells->cells[i], window.first_bin,
			                     window.end_bin);
	return sum;
}

bool query_is_fork(const struct profile *p, uint32_t pid)
{
	const struct threads *threads = profile_threads(p);

	for (uint32_t slot = 1; slot <= threads->process_count; slot++) {
		const struct process_info *process = profile_process(p, slot);
		if (process->pid == pid && process->parent)
			return profile_process(p, process->parent)->command == process->command;
	}
	return false;
}

uint32_t query_runs_of(const struct profile *p, const char *program, size_t length)
{
	const struct threads *threads = profile_threads(p);
	uint32_t runs = 0;

	for (uint32_t slot = 1; slot <= threads->process_count; slot++) {
		const struct process_info *process = profile_process(p, slot);
		const char *command = profile_string(p, process->command);
		if (command && strlen(command) == length && memcmp(command, program, length) == 0)
			runs += process->merged;
	}
	return runs;
}

static int compare_modules(const void *a, const void *b)
{
	const struct module_row *left = a, *right = b;

	if (left->part_ns != right->part_ns)
		return left->part_ns < right->part_ns ? 1 : -1;
	if (left->self_ns != right->self_ns)
		return left->self_ns < right->self_ns ? 1 : -1;
	return strcmp(left->path, right->path);
}

static const char *text_or_empty(const struct profile *p, uint32_t id)
{
	const char *text = profile_string(p, id);

	return text ? text : "";
}

// Those that code was seen in, even if only in callers.
static size_t list_modules(const struct profile *p, const uint64_t *self_ns,
                           const uint64_t *part_ns, const bool *used, struct module_row *rows)
{
	size_t count = 0;

	for (uint32_t id = 1; id <= modules_count(profile_modules(p)); id++) {
		struct module_facts facts = profile_module_facts(p, id);
		if (!used[id])
			continue;
		rows[count++] = (struct module_row){
			.path = profile_module(p, id)->path,
			.self_ns = self_ns[id],
			.part_ns = part_ns[id],
			.level = facts.level,
			.reason = text_or_empty(p, facts.reason),
			.remedy = text_or_empty(p, facts.remedy),
		};
		if (facts.level == DEBUG_LINES ||
		    !query_lacks_agent(profile_run(p), rows[count - 1].path))
			continue;
		rows[count - 1].reason = "its Python functions are missing";
		rows[count - 1].remedy = "the agent was not loaded, see the notes on processes";
	}
	return count;
}

// Code that an interpreter has made for a Python function is known by the name of that.
static bool has_module(const struct profile *p, const struct location *location)
{
	if (!location || location->kind == FRAME_MARK ||
	    location->module > modules_count(profile_modules(p)))
		return false;
	const struct module *module = profile_module(p, location->module);
	return !module || module->kind != MODULE_JIT ||
	       (location->kind != FRAME_INTERPRETER_EXACT &&
	        location->kind != FRAME_INTERPRETER_RETURN);
}

static void add_up(const struct profile *p, uint64_t *self_ns, bool *used)
{
	const struct cells *cells = profile_cells(p);

	for (uint32_t i = 0; i < profile_locations(p)->count; i++) {
		const struct location *location = &profile_locations(p)->locations[i];
		if (has_module(p, location))
			used[location->module] = true;
	}
	for (uint32_t i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		const struct location *location = location_of_node(p, cell->node);
		if (has_module(p, location))
			self_ns[location->module] += cells_whole(cells, cell);
	}
}

// On CPUs, of what shares are of; that in ANSWER.
static int weigh(const struct profile *p, uint64_t *part_ns, struct module_rows *answer,
                 struct error *err)
{
	struct query query = { .by = BY_MODULE, .on_cpu = true };
	cleanup(scope) struct scope scope = { 0 };
	struct wall_account wall;
	uint64_t cpu_ns = 0;
	bool without_queue = false;

	if (query_wall_account(p, &(struct query){ .by = BY_FUNCTION }, &wall, err) < 0)
		return -1;
	query.of = wall.ranks ? QUERY_WALL : QUERY_THREADS;
	if (scope_init(&scope, p, &query, err) < 0)
		return -1;
	for (uint32_t i = 0; i < scope.first_cell[profile_paths(p)->count]; i++) {
		const struct cell *cell = &scope.table->cells[scope.cells[i]];
		const struct location *location = location_of_node(p, cell->node);
		if (!scope_counts(&scope, cell))
			continue;
		cpu_ns += scope_ns(&scope, cell);
		if (has_module(p, location))
			part_ns[location->module] += scope_ns(&scope, cell);
	}
	answer->all_ns = wall.ranks ? query_wall_share_ns(&wall, &without_queue) : cpu_ns;
	answer->of = !wall.ranks     ? "the CPU time"
	             : without_queue ? "wall time excluding waits for a CPU"
	                             : "wall time";
	return 0;
}

struct module_rows *query_modules(const struct profile *p, struct error *err)
{
	size_t most = (size_t)modules_count(profile_modules(p)) + 1; // by id; 0 stands for none
	cleanup_free uint64_t *self_ns = calloc(most, sizeof(*self_ns));
	cleanup_free uint64_t *part_ns = calloc(most, sizeof(*part_ns));
	cleanup_free bool *used = calloc(most, sizeof(*used));
	cleanup(module_rows) struct module_rows *answer = calloc(1, sizeof(*answer));

	if (answer)
		answer->rows = calloc(most, sizeof(*answer->rows));
	if (!self_ns || !part_ns || !used || !answer || !answer->rows) {
		error_set(err, ENOMEM, "could not list the modules");
		return NULL;
	}
	add_up(p, self_ns, used);
	if (weigh(p, part_ns, answer, err) < 0)
		return NULL;
	answer->count = list_modules(p, self_ns, part_ns, used, answer->rows);
	qsort(answer->rows, answer->count, sizeof(*answer->rows), compare_modules);
	return steal(answer);
}

void module_rows_free(struct module_rows *rows)
{
	if (!rows)
		return;
	free(rows->rows);
	free(rows);
}
