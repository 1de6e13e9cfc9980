// SPDX-License-Identifier: MIT
#include "merge/query/query_devices.h"

#include "base/error.h"
#include "merge/gpu/gpu.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/scope.h"
#include "merge/table/counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void device_rows_free(struct device_rows *rows)
{
	if (rows)
		free(rows->rows);
	free(rows);
}

static int compare_rows(const void *a, const void *b)
{
	const struct device_row *left = a, *right = b;
	int order = strcmp(left->device, right->device);

	return order ? order : (left->process > right->process) - (left->process < right->process);
}

static struct device_row *row_of(struct device_rows *rows, const char *device, uint32_t process)
{
	size_t i = 0;

	while (i < rows->count &&
	       (rows->rows[i].process != process || strcmp(rows->rows[i].device, device) != 0))
		i++;
	rows->count += i == rows->count;
	rows->rows[i].device = device;
	rows->rows[i].process = process;
	return &rows->rows[i];
}

// What is told is whole bytes; a file may hold anything.
static uint64_t whole(double bytes)
{
	return bytes > 0 && bytes < 0x1p63 ? (uint64_t)bytes : 0;
}

static void add(struct device_row *row, const struct op *op, const struct counter_sums *sums)
{
	uint64_t most = whole(sums->max);

	if (strcmp(op->name, OP_TORCH_RESERVED) == 0) {
		if (most > row->peak_reserved_bytes)
			row->peak_reserved_bytes = most;
		return;
	}
	if (most > row->peak_bytes)
		row->peak_bytes = most;
	if (sums->last_ns < row->last_ns)
		return;
	row->last_ns = sums->last_ns;
	row->last_bytes = whole(sums->last);
}

static void name_process(const struct profile *p, struct device_row *row)
{
	const struct process_info *process = profile_process(p, row->process);
	const char *command = process ? profile_string(p, process->command) : NULL;

	row->pid = process ? process->pid : 0;
	row->command = command ? command : "";
}

// By CUDA's number in that process, of which CUPTI has told; "cuda:1" is PyTorch's for it.
static void find_capacity(const struct profile *p, struct device_row *row)
{
	const char *number = strchr(row->device, ':');

	for (uint32_t i = 0; number && i < profile_gpu(p)->device_count; i++) {
		const struct gpu_device *device = &profile_gpu(p)->devices[i];
		if (device->process == row->process &&
		    device->number == strtoul(number + 1, NULL, 10))
			row->capacity_bytes = device->memory_bytes;
	}
}

static bool fill_rows(const struct scope *scope, struct device_rows *rows)
{
	const struct profile *p = scope->profile;
	const struct counters *c = profile_counters(p);

	rows->rows = calloc((size_t)c->count + 1, sizeof(*rows->rows));
	if (!rows->rows)
		return false;
	for (uint32_t i = 0; i < c->count; i++) {
		const struct counter_entry *entry = &c->entries[i];
		const struct op *op = profile_op(p, entry->op);
		if (!scope->threads[entry->thread - 1] || !entry->sums.values ||
		    op->provider != OP_TORCH)
			continue;
		uint32_t process = profile_thread(p, entry->thread)->process;
		add(row_of(rows, op->domain, process), op, &entry->sums);
	}
	for (size_t i = 0; i < rows->count; i++) {
		name_process(p, &rows->rows[i]);
		find_capacity(p, &rows->rows[i]);
	}
	if (rows->count)
		qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_rows);
	return true;
}

struct device_rows *query_devices(const struct profile *p, const struct query *query,
                                  struct error *err)
{
	cleanup(scope) struct scope scope = { 0 };
	cleanup(device_rows) struct device_rows *rows = calloc(1, sizeof(*rows));

	if (rows && scope_init(&scope, p, query, err) < 0)
		return NULL;
	if (rows && fill_rows(&scope, rows))
		return steal(rows);
	error_set(err, ENOMEM, "could not list the memory of GPUs");
	return NULL;
}
