// SPDX-License-Identifier: MIT
// What GPUs ran, how busy they were, and what they waited for.
#include "cli/export/tables.h"
#include "cli/report/sections.h"
#include "cli/report/view.h"
#include "merge/query/query_gpu.h"

#include <stdio.h>

static void put_device(struct sheet *s, const void *data)
{
	const struct gpu_device_row *row = data;

	sheet_count(s, "device", row->number);
	sheet_text(s, "name", row->name);
	sheet_count(s, "span_ns", row->span_ns);
	sheet_count(s, "busy_ns", row->busy_ns);
	sheet_count(s, "kernel_ns", row->kernel_ns);
	sheet_count(s, "copy_ns", row->copy_ns);
	sheet_count(s, "overlap_ns", row->overlap_ns);
	sheet_count(s, "copy_hidden_ns", row->copy_hidden_ns);
	sheet_count(s, "streams", row->streams);
	sheet_known(s, "multiprocessors", row->multiprocessors);
	sheet_known(s, "compute_major", row->compute_major);
	sheet_count(s, "compute_minor", row->compute_minor);
	sheet_known(s, "memory_bytes", row->memory_bytes);
	sheet_known(s, "memory_bytes_per_s", row->memory_bytes_per_s);
	sheet_known(s, "peak_bytes", row->peak_bytes);
	sheet_text(s, "process", row->process); // of a merged profile: its rank
}

static int write_devices(struct sheet *s, const struct exporting *e, struct error *err)
{
	const struct query query = view_query(e->view, BY_FUNCTION, SORT_SELF);
	cleanup(gpu_facts) struct gpu_facts *facts = query_gpu_facts(e->profile, &query, err);

	if (!facts)
		return -1;
	sheet_rows(s, put_device, facts->devices, facts->device_count, sizeof(*facts->devices),
	           &(struct gpu_device_row){ 0 });
	return 0;
}

static void put_three(struct sheet *s, const char *name, const uint32_t n[3], bool known)
{
	char text[48];

	snprintf(text, sizeof(text), "%ux%ux%u", n[0], n[1], n[2]);
	sheet_text(s, name, known ? text : NULL);
}

static const char *direction_name(enum gpu_copy_kind kind)
{
	static const char *const names[] = {
		[GPU_COPY_HOST_TO_DEVICE] = "host-to-device",
		[GPU_COPY_DEVICE_TO_HOST] = "device-to-host",
		[GPU_COPY_HOST_TO_ARRAY] = "host-to-array",
		[GPU_COPY_ARRAY_TO_HOST] = "array-to-host",
		[GPU_COPY_ARRAY_TO_ARRAY] = "array-to-array",
		[GPU_COPY_ARRAY_TO_DEVICE] = "array-to-device",
		[GPU_COPY_DEVICE_TO_ARRAY] = "device-to-array",
		[GPU_COPY_DEVICE_TO_DEVICE] = "device-to-device",
		[GPU_COPY_HOST_TO_HOST] = "host-to-host",
		[GPU_COPY_PEER] = "peer",
	};

	return (size_t)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : NULL;
}

static const char *memory_name(enum gpu_memory_kind kind)
{
	static const char *const names[] = {
		[GPU_MEMORY_PAGEABLE] = "pageable",
		[GPU_MEMORY_PINNED] = "pinned",
		[GPU_MEMORY_DEVICE] = "device",
		[GPU_MEMORY_ARRAY] = "array",
		[GPU_MEMORY_MANAGED] = "managed",
		[GPU_MEMORY_DEVICE_STATIC] = "device-static",
		[GPU_MEMORY_MANAGED_STATIC] = "managed-static",
	};

	return (size_t)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : NULL;
}

static const char *limit_name(enum gpu_limit limit)
{
	static const char *const names[] = {
		[GPU_LIMIT_WARPS] = "none",          [GPU_LIMIT_BLOCKS] = "blocks",
		[GPU_LIMIT_REGISTERS] = "registers", [GPU_LIMIT_SHARED] = "shared-memory",
		[GPU_LIMIT_GRID] = "grid",
	};

	return (size_t)limit < sizeof(names) / sizeof(names[0]) ? names[limit] : NULL;
}

static void put_work(struct sheet *s, const void *data)
{
	static const char *const kinds[GPU_WORK_KINDS] = {
		[GPU_WORK_KERNEL] = "kernel",
		[GPU_WORK_COPY] = "copy",
		[GPU_WORK_SET] = "set",
		[GPU_WORK_GRAPH] = "graph",
	};
	const struct gpu_row *row = data;
	bool copy = row->kind == GPU_WORK_COPY, launched = row->shape.block[0] != 0;

	sheet_text(s, "name", row->name);
	sheet_text(s, "kind", kinds[row->kind]);
	sheet_count(s, "calls", row->calls);
	sheet_count(s, "untimed_calls", row->untimed);
	sheet_count(s, "total_ns", row->total_ns);
	sheet_share(s, "share", row->total_ns, s->all);
	sheet_known(s, "average_ns", row->average_ns);
	sheet_known(s, "min_ns", row->min_ns);
	sheet_known(s, "median_ns", row->median_ns);
	sheet_known(s, "max_ns", row->max_ns);
	sheet_known(s, "bytes", row->bytes);
	sheet_text(s, "direction", copy ? direction_name(row->direction) : NULL);
	sheet_text(s, "from_memory", copy ? memory_name(row->from) : NULL);
	sheet_text(s, "to_memory", copy ? memory_name(row->to) : NULL);
	put_three(s, "grid", row->shape.grid, launched);
	put_three(s, "block", row->shape.block, launched);
	sheet_count(s, "launch_shapes", row->shapes);
	sheet_known(s, "registers", row->shape.registers);
	sheet_number(s, "occupancy", row->occupancy);
	sheet_text(s, "occupancy_limit", limit_name(row->limit));
	sheet_number(s, "multiprocessors_at_work", row->at_work);
	sheet_bool(s, "tensor_cores", row->tensor_cores);
	sheet_text(s, "function", row->function);
	sheet_text(s, "file", row->file);
	sheet_known(s, "line", row->line > 0 ? (uint64_t)row->line : 0);
}

static int write_works(struct sheet *s, const struct exporting *e, struct error *err)
{
	const struct query query = view_query(e->view, BY_FUNCTION, SORT_SELF);
	cleanup(gpu_rows) struct gpu_rows *rows = query_gpu(e->profile, &query, err);

	if (!rows)
		return -1;
	s->all = rows->total_ns;
	sheet_rows(s, put_work, rows->rows, rows->count, sizeof(*rows->rows),
	           &(struct gpu_row){ 0 });
	return 0;
}

static void put_idle(struct sheet *s, const void *data)
{
	const struct row *row = data;
	uint64_t waited = row->self - row->self_ns[METRIC_ON_CPU];

	sheet_text(s, "function", row->name);
	sheet_text(s, "file", row->file);
	sheet_known(s, "line", row->line > 0 ? (uint64_t)row->line : 0);
	sheet_text(s, "module", row->module);
	sheet_count(s, "idle_ns", row->self);
	sheet_share(s, "share", row->self, s->all);
	sheet_count(s, "on_cpu_ns", row->self_ns[METRIC_ON_CPU]);
	sheet_count(s, "waiting_ns", waited);
}

static int write_idle(struct sheet *s, const struct exporting *e, struct error *err)
{
	const struct query query = view_query(e->view, BY_FUNCTION, SORT_SELF);
	cleanup(gpu_wait) struct gpu_wait *wait = query_gpu_wait(e->profile, &query, err);

	if (!wait)
		return -1;
	s->all = wait->idle_ns;
	sheet_rows(s, put_idle, wait->functions->rows, wait->functions->count,
	           sizeof(*wait->functions->rows), &(struct row){ 0 });
	return 0;
}

static void put_stream(struct sheet *s, const void *data)
{
	const struct gpu_stream_row *row = data;

	sheet_count(s, "device", row->device);
	sheet_count(s, "context", row->context);
	sheet_count(s, "stream", row->number);
	sheet_known(s, "pid", row->pid);
	sheet_count(s, "works", row->works);
	sheet_count(s, "kernels", row->kernels);
	sheet_count(s, "busy_ns", row->busy_ns);
	sheet_count(s, "shared_ns", row->shared_ns);
	sheet_count(s, "span_ns", row->span_ns);
	sheet_text(s, "process", row->process); // of a merged profile: its rank
}

static int write_streams(struct sheet *s, const struct exporting *e, struct error *err)
{
	cleanup(gpu_stream_rows) struct gpu_stream_rows *rows = query_gpu_streams(e->profile, err);

	if (!rows)
		return -1;
	sheet_rows(s, put_stream, rows->rows, rows->count, sizeof(*rows->rows),
	           &(struct gpu_stream_row){ 0 });
	return 0;
}

const struct export_table tables_of_gpus[] = {
	{ "gpus", .write = write_devices },
	{ "gpu_work", .write = write_works },
	{ "gpu_idle", .write = write_idle },
	{ "gpu_streams", .write = write_streams },
	{ "gpu_lines", .make = section_all_gpu_lines },
	{ "gpu_managed", .make = section_gpu_managed },
	{ "gpu_faults", .make = section_gpu_faults },
	{ 0 },
};
