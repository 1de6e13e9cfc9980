// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "merge/gpu/gpu.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query_gpu.h"
#include "merge/scope/keys.h"
#include "merge/scope/scope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void gpu_wait_free(struct gpu_wait *wait)
{
	if (!wait)
		return;
	rows_free(wait->functions);
	rows_free(wait->threads);
	free(wait);
}

static bool contains(const char *name, const char *part)
{
	return strstr(name, part) != NULL;
}

enum gpu_call_kind gpu_call_kind(const char *name)
{
	if (contains(name, "Launch"))
		return GPU_CALL_LAUNCH;
	if (contains(name, "Synchronize"))
		return GPU_CALL_SYNC;
	if (contains(name, "Memcpy") || contains(name, "Memset") || contains(name, "Prefetch"))
		return GPU_CALL_COPY;
	if (contains(name, "Malloc") || contains(name, "Free") || contains(name, "Alloc"))
		return GPU_CALL_MEMORY;
	return GPU_CALL_OTHER;
}

// The innermost call of CUDA's that NODE is in.
static enum gpu_call_kind kind_at(const struct profile *p, uint32_t node)
{
	for (; node && profile_node(p, node)->parent; node = profile_node(p, node)->parent) {
		const struct location *location =
			profile_location(p, profile_node(p, node)->location);
		const struct op *op =
			location->kind == FRAME_OP ? profile_op(p, location->address) : NULL;
		if (op && op->provider == OP_CUDA)
			return gpu_call_kind(op->name);
	}
	return GPU_CALL_NONE;
}

static void add_calls(const struct scope *scope, struct gpu_wait *wait)
{
	for (struct step step = scope_first(scope); step.node; step = scope_next(scope, step)) {
		uint32_t first = scope->first_cell[step.node - 1];
		uint32_t end = scope->first_cell[step.node];
		if (!step.entering || first == end)
			continue;
		enum gpu_call_kind kind = kind_at(scope->profile, step.node);
		for (uint32_t i = first; i < end; i++) {
			const struct cell *cell = &scope->table->cells[scope->cells[i]];
			bool runnable = scope_metric(cell) == METRIC_OFF_RUNNABLE;
			*(runnable ? &wait->runnable_ns : &wait->call_ns[kind]) +=
				scope_ns(scope, cell);
		}
	}
}

// Without lines nobody's own code is known: then the innermost functions tell more.
static bool tells_nothing(const struct rows *rows)
{
	return rows->count && strcmp(rows->rows[0].name, KEY_OUTSIDE_NAME) == 0;
}

static struct rows *functions_of(const struct profile *p, const struct query *idle,
                                 struct error *err)
{
	struct query own = *idle;

	if (!own.user_code)
		own.user_code = QUERY_OWN_CODE;
	struct rows *rows = query_run(p, &own, err);
	if (!rows || idle->user_code || !tells_nothing(rows))
		return rows;
	rows_free(rows);
	return query_run(p, idle, err);
}

static int add_rows(const struct profile *p, const struct query *query, struct gpu_wait *wait,
                    struct error *err)
{
	struct query idle = *query;

	idle.of = QUERY_GPU_IDLE;
	idle.sort = SORT_SELF;
	idle.without_others = true;
	idle.by = BY_THREAD;
	wait->threads = query_run(p, &idle, err);
	idle.by = BY_FUNCTION;
	wait->functions = wait->threads ? functions_of(p, &idle, err) : NULL;
	return wait->functions ? 0 : -1;
}

static bool is_first_of_process(const struct profile *p, uint32_t tid)
{
	for (size_t i = 0; i < profile_threads(p)->process_count; i++)
		if (profile_threads(p)->processes[i].pid == tid)
			return true;
	return false;
}

static int add_facts(const struct profile *p, const struct query *query, struct gpu_wait *wait,
                     struct error *err)
{
	const struct gpu *gpu = profile_gpu(p);
	cleanup(gpu_facts) struct gpu_facts *facts = query_gpu_facts(p, query, err);

	if (!facts)
		return -1;
	uint64_t busy_ns = 0;
	for (uint32_t i = 0; i < gpu->device_count; i++) {
		if (query->gpu && query->gpu - 1 != i)
			continue;
		wait->span_ns += facts->devices[i].span_ns;
		busy_ns += facts->devices[i].busy_ns;
		if (gpu->devices[i].longest_gap_ns > wait->longest_ns)
			wait->longest_ns = gpu->devices[i].longest_gap_ns;
	}
	wait->idle_ns = wait->span_ns > busy_ns ? wait->span_ns - busy_ns : 0;
	return 0;
}

struct gpu_wait *query_gpu_wait(const struct profile *p, const struct query *query,
                                struct error *err)
{
	struct query idle = *query;
	cleanup(scope) struct scope scope = { 0 };
	cleanup(gpu_wait) struct gpu_wait *wait = calloc(1, sizeof(*wait));

	idle.of = QUERY_GPU_IDLE;
	if (!wait) {
		error_set(err, ENOMEM, "could not say what the GPU waited for");
		return NULL;
	}
	if (scope_init(&scope, p, &idle, err) < 0 || add_rows(p, query, wait, err) < 0 ||
	    add_facts(p, query, wait, err) < 0)
		return NULL;
	add_calls(&scope, wait);
	wait->told_ns = wait->functions->all;
	wait->main_thread =
		wait->threads->count && is_first_of_process(p, wait->threads->rows[0].id);
	return steal(wait);
}
