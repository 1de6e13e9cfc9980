// SPDX-License-Identifier: MIT
// The tables of GPUs.
#include "cli/html/html_table.h"

#include "base/error.h"
#include "merge/query/query_gpu.h"

static void put_gpu_row(struct json *j, const struct gpu_row *row, uint64_t all)
{
	json_open(j, NULL, '[');
	json_put_count(j, NULL, row->total_ns);
	html_put_share(j, row->total_ns, all);
	json_put_count(j, NULL, row->calls);
	json_put_count(j, NULL, row->average_ns);
	html_put_known(j, row->median_ns);
	html_put_known(j, row->max_ns);
	html_put_known(j, row->bytes);
	if (row->bytes_per_s > 0)
		json_put_number(j, NULL, row->bytes_per_s / 1e9);
	else
		json_put_null(j, NULL);
	if (row->occupancy > 0)
		json_put_number(j, NULL, row->occupancy);
	else
		json_put_null(j, NULL);
	if (row->at_work > 0)
		json_put_number(j, NULL, row->at_work);
	else
		json_put_null(j, NULL);
	json_put_text(j, NULL, row->name);
	json_put_text(j, NULL, row->function);
	html_put_place(j, row->file, row->line, NULL);
	json_close(j);
}

static int put_gpu(const struct html *h, struct error *err)
{
	static const struct html_column columns[] = {
		{ "time", "time", "ns" },
		{ "share", "%", "share" },
		{ "calls", "calls", "count" },
		{ "average", "average", "ns" },
		{ "median", "median", "ns" },
		{ "max", "max", "ns" },
		{ "bytes", "bytes", "bytes" },
		{ "rate", "GB/s", "number" },
		{ "occupancy", "occupancy", "share" },
		{ "at_work", "SMs at work", "share" },
		{ "name", "on the GPU", "text" },
		{ "function", "launched by", "text" },
		{ "place", "where", "place" },
	};
	const struct query query = view_query(h->view, BY_FUNCTION, SORT_SELF);
	cleanup(gpu_rows) struct gpu_rows *rows = query_gpu(h->profile, &query, err);

	if (!rows)
		return -1;
	HTML_OPEN_TABLE(h->j, "gpu", "GPU kernels and copies", "exact", columns);
	for (size_t i = 0; i < rows->count && i < HTML_ROWS_MAX; i++)
		put_gpu_row(h->j, &rows->rows[i], rows->total_ns);
	html_close_table(h->j, rows->count);
	return 0;
}

static int put_devices(const struct html *h, struct error *err)
{
	static const struct html_column columns[] = {
		{ "number", "number", "count" },        { "name", "GPU", "text" },
		{ "busy_share", "busy %", "share" },    { "busy", "busy", "ns" },
		{ "kernels", "kernels", "ns" },         { "copies", "copies", "ns" },
		{ "overlap", "several at once", "ns" }, { "span", "of", "ns" },
		{ "streams", "streams", "count" },      { "peak", "most memory", "bytes" },
	};
	const struct query query = view_query(h->view, BY_FUNCTION, SORT_SELF);
	cleanup(gpu_facts) struct gpu_facts *facts = query_gpu_facts(h->profile, &query, err);
	struct json *j = h->j;

	if (!facts)
		return -1;
	HTML_OPEN_TABLE(j, "devices", "GPUs", "from the first activity to the last", columns);
	for (size_t i = 0; i < facts->device_count; i++) {
		const struct gpu_device_row *row = &facts->devices[i];
		json_open(j, NULL, '[');
		json_put_count(j, NULL, row->number);
		json_put_text(j, NULL, row->name);
		html_put_share(j, row->busy_ns, row->span_ns);
		json_put_count(j, NULL, row->busy_ns);
		json_put_count(j, NULL, row->kernel_ns);
		json_put_count(j, NULL, row->copy_ns);
		json_put_count(j, NULL, row->overlap_ns);
		json_put_count(j, NULL, row->span_ns);
		json_put_count(j, NULL, row->streams);
		html_put_known(j, row->peak_bytes);
		json_close(j);
	}
	html_close_table(j, facts->device_count);
	return 0;
}

int html_tables_gpu(const struct html *h, struct error *err)
{
	return put_gpu(h, err) < 0 ? -1 : put_devices(h, err);
}
