// SPDX-License-Identifier: MIT
// What GPUs ran, how busy they were, and what they waited for.
#include "cli/export/tables.h"
#include "cli/report/view.h"
#include "merge/query/query_gpu.h"
#include "merge/query/query_gpu_lines.h"

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

static const char *cause_of(const struct gpu_managed_row *row)
{
	static const char *const moves[GPU_MANAGED_CAUSES] = {
		[GPU_MANAGED_ASKED] = "program",    [GPU_MANAGED_ACCESS] = "fault",
		[GPU_MANAGED_AHEAD] = "foresight",  [GPU_MANAGED_EVICTED] = "eviction",
		[GPU_MANAGED_OFTEN] = "used-often",
	};
	static const char *const accesses[GPU_MANAGED_CAUSES] = {
		[GPU_MANAGED_READ] = "read",
		[GPU_MANAGED_WRITE] = "write",
		[GPU_MANAGED_ATOMIC] = "atomic",
		[GPU_MANAGED_PREFETCH] = "prefetch",
	};
	static const char *const maps[GPU_MANAGED_CAUSES] = {
		[GPU_MANAGED_MAP_COHERENT] = "coherence", [GPU_MANAGED_MAP_THRASHING] = "thrashing",
		[GPU_MANAGED_MAP_ADVISED] = "policy",     [GPU_MANAGED_MAP_NO_ROOM] = "no-room",
		[GPU_MANAGED_MAP_EVICTED] = "eviction",
	};

	switch (row->kind) {
	case GPU_MANAGED_HOST_FAULT:
	case GPU_MANAGED_DEVICE_FAULT:
		return accesses[row->cause];
	case GPU_MANAGED_REMOTE_MAP:
		return maps[row->cause];
	default:
		return moves[row->cause];
	}
}

static void put_managed(struct sheet *s, const void *data)
{
	static const char *const kinds[GPU_MANAGED_KINDS] = {
		[GPU_MANAGED_TO_DEVICE] = "host-to-device",
		[GPU_MANAGED_TO_HOST] = "device-to-host",
		[GPU_MANAGED_HOST_FAULT] = "host-fault",
		[GPU_MANAGED_DEVICE_FAULT] = "device-fault",
		[GPU_MANAGED_THRASHING] = "thrashing",
		[GPU_MANAGED_THROTTLING] = "throttling",
		[GPU_MANAGED_REMOTE_MAP] = "remote-map",
		[GPU_MANAGED_BETWEEN] = "device-to-device",
	};
	const struct gpu_managed_row *row = data;

	sheet_text(s, "kind", kinds[row->kind]);
	sheet_text(s, "cause", cause_of(row));
	sheet_count(s, "count", row->count);
	sheet_known(s, "bytes", row->bytes);
	sheet_known(s, "fault_groups", row->groups);
	sheet_known(s, "total_ns", row->ns);
	if (row->has_device)
		sheet_count(s, "device", row->device);
	else
		sheet_text(s, "device", NULL);
	sheet_known(s, "pid", row->pid);
	sheet_text(s, "process", row->process); // of a merged profile: its rank
}

static int write_managed(struct sheet *s, const struct exporting *e, struct error *err)
{
	cleanup(gpu_managed_rows) struct gpu_managed_rows *rows =
		query_gpu_managed(e->profile, err);

	if (!rows)
		return -1;
	sheet_rows(s, put_managed, rows->rows, rows->count, sizeof(*rows->rows),
	           &(struct gpu_managed_row){ 0 });
	return 0;
}

static void put_fault(struct sheet *s, const void *data)
{
	const struct gpu_fault_row *row = data;

	sheet_text(s, "function", row->function);
	sheet_text(s, "file", row->file);
	sheet_known(s, "line", (uint64_t)(row->line > 0 ? row->line : 0));
	sheet_text(s, "module", row->module);
	sheet_text(s, "caller", row->caller);
	sheet_text(s, "caller_file", row->caller_file);
	sheet_known(s, "caller_line", (uint64_t)(row->caller_line > 0 ? row->caller_line : 0));
	sheet_count(s, "faults", row->faults);
	sheet_count(s, "reads", row->reads);
	sheet_count(s, "writes", row->writes);
	sheet_count(s, "moves", row->moves);
	sheet_count(s, "bytes", row->bytes);
	sheet_count(s, "total_ns", row->ns);
	sheet_text(s, "process", row->process); // of a merged profile: its rank
}

static int write_faults(struct sheet *s, const struct exporting *e, struct error *err)
{
	cleanup(gpu_fault_rows) struct gpu_fault_rows *rows = query_gpu_faults(e->profile, err);

	if (!rows)
		return -1;
	sheet_rows(s, put_fault, rows->rows, rows->count, sizeof(*rows->rows),
	           &(struct gpu_fault_row){ 0 });
	return 0;
}

static void put_line(struct sheet *s, const void *data)
{
	const struct gpu_line *row = data;

	sheet_text(s, "kernel", row->kernel);
	sheet_text(s, "file", row->file);
	sheet_known(s, "line", row->line);
	sheet_text(s, "inlined", row->inlined);
	sheet_count(s, "samples", row->samples);
	sheet_share(s, "share", row->samples, s->all);
	sheet_number(s, "margin", row->margin);
	sheet_text(s, "reason", row->reason);
	sheet_count(s, "reason_samples", row->reason_samples);
}

static int write_lines(struct sheet *s, const struct exporting *e, struct error *err)
{
	cleanup(gpu_line_rows) struct gpu_line_rows *rows = query_gpu_lines(e->profile, err);

	if (!rows)
		return -1;
	s->all = rows->samples;
	sheet_rows(s, put_line, rows->rows, rows->count, sizeof(*rows->rows),
	           &(struct gpu_line){ 0 });
	return 0;
}

const struct export_table tables_of_gpus[] = {
	{ "gpus", .write = write_devices },      { "gpu_work", .write = write_works },
	{ "gpu_idle", .write = write_idle },     { "gpu_streams", .write = write_streams },
	{ "gpu_lines", .write = write_lines },   { "gpu_managed", .write = write_managed },
	{ "gpu_faults", .write = write_faults }, { 0 },
};
