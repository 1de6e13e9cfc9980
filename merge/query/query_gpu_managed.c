// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "merge/profile/profile_data.h"
#include "merge/query/query_gpu.h"

#include <errno.h>
#include <stdlib.h>

void gpu_managed_rows_free(struct gpu_managed_rows *rows)
{
	if (rows)
		free(rows->rows);
	free(rows);
}

static void fill_row(const struct profile *p, const struct gpu_managed *m,
                     struct gpu_managed_row *row)
{
	const struct gpu_device *device = m->device ? &p->gpu.devices[m->device - 1] : NULL;
	const struct process_info *process = threads_process(&p->threads, m->process);
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
	bool summed = sum_up(&p->gpu, &sums);
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
