// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "merge/profile/profile_data.h"
#include "merge/query/query_gpu.h"

#include <errno.h>
#include <stdlib.h>

void gpu_stream_rows_free(struct gpu_stream_rows *rows)
{
	if (rows)
		free(rows->rows);
	free(rows);
}

static void fill_row(const struct profile *p, const struct gpu_stream *stream,
                     struct gpu_stream_row *row)
{
	const struct gpu_device *device = &p->gpu.devices[stream->device - 1];
	const struct process_info *process = threads_process(&p->threads, stream->process);
	const char *name = strings_get(p->strings, device->name);

	*row = (struct gpu_stream_row){
		.number = stream->number,
		.context = stream->context,
		.device = device->number,
		.device_name = name ? name : "",
		.process = profile_owner(p, stream->process),
		.pid = process ? process->pid : 0,
		.works = stream->works,
		.kernels = stream->kernels,
		.busy_ns = stream->busy_ns,
		.shared_ns = stream->shared_ns,
		.span_ns = device->end_ns - device->first_ns,
	};
}

static int compare_u32(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

// Total: the same profile gives the same order on every machine.
static int compare_rows(const void *a, const void *b)
{
	const struct gpu_stream_row *left = a, *right = b;

	if (left->busy_ns != right->busy_ns)
		return left->busy_ns < right->busy_ns ? 1 : -1;
	int order = compare_u32(left->device, right->device);
	order = order ? order : compare_u32(left->pid, right->pid);
	order = order ? order : compare_u32(left->context, right->context);
	return order ? order : compare_u32(left->number, right->number);
}

// Whether stream AT is the first of its device, or process.
static bool is_first(const struct gpu *g, uint32_t at, bool of_process)
{
	for (uint32_t i = 0; i < at; i++) {
		const struct gpu_stream *s = &g->streams[i];
		if (s->works && (of_process ? s->process == g->streams[at].process
		                            : s->device == g->streams[at].device))
			return false;
	}
	return true;
}

struct gpu_stream_rows *query_gpu_streams(const struct profile *p, struct error *err)
{
	const struct gpu *g = &p->gpu;
	cleanup(gpu_stream_rows) struct gpu_stream_rows *rows = calloc(1, sizeof(*rows));

	if (rows)
		rows->rows = calloc((size_t)g->stream_count + 1, sizeof(*rows->rows));
	if (!rows || !rows->rows) {
		error_set(err, ENOMEM, "could not list the streams of the GPU");
		return NULL;
	}
	for (uint32_t i = 0; i < g->stream_count; i++) {
		if (!g->streams[i].works)
			continue;
		fill_row(p, &g->streams[i], &rows->rows[rows->count++]);
		rows->devices += is_first(g, i, false);
		rows->processes += is_first(g, i, true);
	}
	if (rows->count)
		qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_rows);
	return steal(rows);
}
