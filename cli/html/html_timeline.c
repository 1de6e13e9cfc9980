// SPDX-License-Identifier: MIT
// Lanes of threads and GPUs; and the steps of the run.
#include "cli/html/html_parts.h"

#include "merge/gpu/gpu_busy.h"
#include "merge/query/query_timeline.h"

#define BINS_MAX  2048
#define LANES_MAX 64

static const char *const gpu_states[GPU_STATES] = {
	[GPU_BUSY] = "busy",
	[GPU_KERNELS] = "kernels",
	[GPU_COPIES] = "copies",
	[GPU_OVERLAP] = "several at once",
	[GPU_COPY_HIDDEN] = "copies behind kernels",
};

// In thousandths of the bin: the page draws it no finer.
static void put_bins(struct json *j, const char *key, const struct timeline_lane *lane, int metric)
{
	const uint64_t *ns = &lane->ns[(size_t)metric * lane->bins];
	uint32_t end = lane->bins, first = 0;

	while (end && !ns[end - 1])
		end--;
	while (first < end && !ns[first])
		first++;
	if (first == end)
		return;
	json_open(j, key, '[');
	json_put_count(j, NULL, first);
	for (uint32_t i = first; i < end; i++)
		json_put_count(j, NULL, (ns[i] * 1000 + lane->bin_ns / 2) / lane->bin_ns);
	json_close(j);
}

static void put_lane(struct json *j, const struct timeline_lane *lane)
{
	int metrics = lane->gpu ? (int)GPU_STATES : (int)METRIC_COUNT;

	json_open(j, NULL, '{');
	json_put_text(j, "thread", lane->thread);
	json_put_text(j, "process", lane->process);
	json_put_count(j, "tid", lane->tid);
	json_put_count(j, "pid", lane->pid);
	json_put_count(j, "merged", lane->merged);
	json_put_bool(j, "gpu", lane->gpu);
	if (lane->gpu)
		json_put_count(j, "device", lane->device);
	json_put_count(j, "begin_ns", lane->begin_ns);
	json_put_count(j, "end_ns", lane->end_ns);
	json_put_count(j, "busy_ns", lane->on_cpu_ns);
	json_put_integer(j, "origin_ns", lane->origin_ns);
	json_put_count(j, "bin_ns", lane->bin_ns);
	// By name: the first bin that is not empty, then the bins from there.
	json_open(j, "bins", '{');
	for (int m = 0; m < metrics; m++)
		put_bins(j, lane->gpu ? gpu_states[m] : metric_name((enum metric)m), lane, m);
	json_close(j);
	json_close(j);
}

int html_timeline(const struct html *h, struct error *err)
{
	const struct query query = view_query(h->view, BY_THREAD, SORT_SELF);
	cleanup(timeline) struct timeline *t =
		query_timeline(h->profile, &query, BINS_MAX, LANES_MAX, err);

	if (!t)
		return -1;
	json_open(h->j, "metrics", '[');
	for (int m = METRIC_ON_CPU; m < METRIC_COUNT; m++) {
		json_open(h->j, NULL, '[');
		json_put_text(h->j, NULL, metric_key((enum metric)m));
		json_put_text(h->j, NULL, metric_name((enum metric)m));
		json_close(h->j);
	}
	json_close(h->j);
	json_open(h->j, "timeline", '{');
	json_put_count(h->j, "left_out", t->left_out);
	json_open(h->j, "lanes", '[');
	for (size_t i = 0; i < t->count; i++)
		put_lane(h->j, &t->lanes[i]);
	json_close(h->j);
	json_close(h->j);
	return 0;
}
