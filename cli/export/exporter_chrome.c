// SPDX-License-Identifier: MIT
// Chrome's trace format, as PyTorch's Kineto fills it in: calls of ops, waits, what GPUs ran with
// arrows from the calls that launched it, steps, and how busy CPUs and GPUs were.
#include "base/error.h"
#include "base/format.h"
#include "cli/export/chrome.h"
#include "cli/export/exporter.h"
#include "cli/report/view.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BINS_MAX  1024 // points of each counter
#define LANES_MAX 4096
#define STEPS_TID (TRACK_MADE - 1)

struct trace {
	const struct exporting *e;
	const struct profile *profile;
	const struct view *view;
	struct json *j;
	struct chrome chrome;
	uint64_t left_out; // beyond the most that are wanted
};

static int put_devices(const struct trace *t, struct error *err)
{
	cleanup(gpu_facts) struct gpu_facts *facts = answer_gpus(t->profile, t->view, err);

	if (!facts)
		return -1;
	json_open(t->j, "deviceProperties", '[');
	for (size_t i = 0; i < facts->device_count; i++) {
		const struct gpu_device_row *device = &facts->devices[i];
		json_open(t->j, NULL, '{');
		json_put_count(t->j, "id", device->number);
		json_put_text(t->j, "name", device->name);
		json_put_count(t->j, "totalGlobalMem", device->memory_bytes);
		json_put_count(t->j, "computeMajor", device->compute_major);
		json_put_count(t->j, "computeMinor", device->compute_minor);
		json_put_count(t->j, "numSms", device->multiprocessors);
		json_close(t->j);
	}
	json_close(t->j);
	return 0;
}

static void put_ranks(const struct trace *t)
{
	const struct run *run = t->e->facts.run;

	// HTA looks for "rank": and a space in the text.
	t->j->compact = false;
	json_open(t->j, "distributedInfo", '{');
	json_put_text(t->j, "backend", run->has_rank ? "unknown" : "none");
	json_put_count(t->j, "rank", run->has_rank ? run->rank : 0);
	json_put_count(t->j, "world_size", run->has_rank && run->world ? run->world : 1);
	json_close(t->j);
	t->j->compact = true;
}

static int put_head(const struct trace *t, struct error *err)
{
	const struct run *run = t->e->facts.run;

	json_put_count(t->j, "schemaVersion", 1);
	put_ranks(t);
	if (put_devices(t, err) < 0)
		return -1;
	json_put_text(t->j, "displayTimeUnit", "ns");
	// Times are since then.
	json_put_count(t->j, "baseTimeNanoseconds", run->start_realtime_ns);
	return 0;
}

static bool is_in_window(const struct view *view, uint64_t ns)
{
	return ns >= view->from_ns && (!view->to_ns || ns < view->to_ns);
}

// Where a bin begins, since the start; the first one may begin before that.
static uint64_t bin_begin(const struct timeline_lane *lane, uint32_t bin)
{
	int64_t ns = lane->origin_ns + (int64_t)(bin * lane->bin_ns);

	return ns > 0 ? (uint64_t)ns : 0;
}

static void put_points(struct trace *t, const struct timeline_lane *lane, uint32_t pid,
                       const char *name, const char *unit, const double *values)
{
	double last = -1;

	for (uint32_t bin = 0; bin < lane->bins; bin++) {
		uint64_t begin_ns = bin_begin(lane, bin);
		if (!is_in_window(t->view, begin_ns) || fabs(values[bin] - last) < 0.005)
			continue;
		last = values[bin];
		chrome_put_counter(&t->chrome, pid, name, unit, begin_ns, last);
	}
}

static void put_gpu_busy(struct trace *t, const struct timeline_lane *lane, double *values)
{
	for (uint32_t bin = 0; bin < lane->bins; bin++)
		values[bin] = 100 * (double)lane->ns[(size_t)GPU_BUSY * lane->bins + bin] /
		              (double)lane->bin_ns;
	const struct slice_stream gpu = {
		.device = lane->thread,
		.process = lane->process,
		.device_id = lane->device,
		.device_number = lane->tid,
	};
	put_points(t, lane, chrome_gpu(&t->chrome, &gpu), "GPU busy", "percent", values);
}

static void put_cpus_busy(struct trace *t, const struct timeline *timeline, double *values)
{
	const struct timeline_lane *any = NULL;
	uint32_t pid = 0;

	memset(values, 0, BINS_MAX * sizeof(*values));
	for (size_t i = 0; i < timeline->count; i++) {
		const struct timeline_lane *lane = &timeline->lanes[i];
		for (uint32_t bin = 0; !lane->gpu && bin < lane->bins; bin++)
			values[bin] += (double)lane->ns[(size_t)METRIC_ON_CPU * lane->bins + bin] /
			               (double)lane->bin_ns;
		any = lane->gpu ? any : lane;
		pid = pid || lane->gpu ? pid : lane->pid;
	}
	if (any)
		put_points(t, any, pid, "CPUs busy", "CPUs", values);
}

static int put_counters(struct trace *t, struct error *err)
{
	cleanup(timeline) struct timeline *timeline =
		answer_timeline(t->profile, t->view, BINS_MAX, LANES_MAX, err);
	cleanup_free double *values = calloc(BINS_MAX, sizeof(*values));

	if (!timeline)
		return -1;
	if (!values)
		return error_set(err, ENOMEM, "could not write the timeline");
	put_cpus_busy(t, timeline, values);
	for (size_t i = 0; i < timeline->count; i++)
		if (timeline->lanes[i].gpu)
			put_gpu_busy(t, &timeline->lanes[i], values);
	return 0;
}

// The process of the thread TID; of the first one if it is not known.
static uint32_t pid_of(const struct slice_reader *reader, uint32_t tid)
{
	struct slice_thread thread;
	uint32_t first = 0;

	for (uint32_t i = 1; i <= slice_reader_threads(reader); i++) {
		if (!slice_reader_thread(reader, i, &thread))
			continue;
		if (tid && thread.tid == tid)
			return thread.pid;
		first = first ? first : thread.pid;
	}
	return first ? first : CHROME_NO_PROCESS;
}

// Late ones are averages, of which nobody knows when they were. Turns that samples show may reach
// into the next one, as far as those are exact; spans of a lane must not.
static void put_step(struct trace *t, const struct steps *steps, size_t i, uint32_t pid)
{
	const struct run_step *step = &steps->steps[i];
	uint64_t end_ns = step->end_ns;
	char name[64];

	if (i + 1 < steps->count && step[1].begin_ns < end_ns)
		end_ns = step[1].begin_ns;
	if (step->calls != 1 || end_ns <= step->begin_ns)
		return;
	snprintf(name, sizeof(name), "ProfilerStep#%lu", (unsigned long)step->first);
	chrome_put_span(&t->chrome, pid, STEPS_TID, "user_annotation", name, step->begin_ns,
	                end_ns);
}

static int put_steps(struct trace *t, struct error *err)
{
	cleanup(steps) struct steps *steps = answer_steps(t->profile, t->view, err);
	char name[128];

	if (!steps)
		return -1;
	// PyTorch's own profiler may have marked them already.
	if (!steps->name || strncmp(steps->name, "ProfilerStep", strlen("ProfilerStep")) == 0)
		return 0;
	uint32_t pid = pid_of(t->chrome.reader, steps->tid);
	snprintf(name, sizeof(name), "steps: %.100s", steps->name);
	chrome_put_thread(&t->chrome, pid, STEPS_TID, name);
	for (size_t i = 0; i < steps->count; i++)
		put_step(t, steps, i, pid);
	return 0;
}

static bool is_full(const struct trace *t)
{
	return t->view->max_events && t->chrome.written >= t->view->max_events;
}

// Who has ended waits until UNTIL_NS, of those threads that are shown.
static void put_wakes(struct trace *t, struct wakes *wakes, uint64_t until_ns)
{
	struct slice_thread waker;
	struct wake wake;

	while (wakes_next(wakes, until_ns, &wake)) {
		const struct chrome_place place = { (uint32_t)(wake.tag >> 32),
			                            (uint32_t)wake.tag };
		if (!is_full(t) && slice_reader_thread(t->chrome.reader, wake.waker, &waker))
			chrome_put_wake(&t->chrome, &wake, &place);
	}
}

static int put_slices(struct trace *t, struct slice_reader *reader, struct error *err)
{
	cleanup(wakes) struct wakes *wakes = answer_wakes(t->profile, err);
	struct chrome_place place;
	struct slice_row row;
	int more;

	if (!wakes)
		return -1;
	while ((more = slice_reader_next(reader, &row, err)) > 0) {
		put_wakes(t, wakes, row.begin_ns);
		if (is_full(t))
			t->left_out++;
		else if (chrome_put_slice(&t->chrome, &row, &place) &&
		         !wakes_add(wakes, &row, (uint64_t)place.pid << 32 | place.tid))
			return error_set(err, ENOMEM, "could not write the timeline");
	}
	put_wakes(t, wakes, UINT64_MAX);
	return more;
}

static void put_note(struct trace *t, uint64_t count, const char *why)
{
	char words[256];

	if (!count)
		return;
	snprintf(words, sizeof(words), "dropped %lu events: %s", (unsigned long)count, why);
	chrome_put_note(&t->chrome, words);
}

static void put_notes(struct trace *t, const struct totals *totals)
{
	char cut[400], why[200];

	put_note(t, t->left_out, "beyond --max-events");
	put_note(t, t->chrome.crowded, "too many at the same time on one thread or stream");
	snprintf(why, sizeof(why), "beyond --timeline-limit of the run, from %s on",
	         format_duration(totals->slices_until_ns).text);
	put_note(t, totals->slices_dropped, why);
	if (!slice_reader_threads(t->chrome.reader))
		chrome_put_note(&t->chrome, "nothing to show: the profile is of repeated runs, or "
		                            "of counts");
	if (*t->e->cut) {
		snprintf(cut, sizeof(cut), "%s", t->e->cut);
		chrome_put_note(&t->chrome, cut);
	}
}

static void put_tail(const struct trace *t, const struct totals *totals)
{
	const struct run *run = t->e->facts.run;

	json_open(t->j, "bottleneck", '{');
	json_put_text(t->j, "version", BOTTLENECK_VERSION);
	json_put_text(t->j, "command", run->command);
	json_put_text(t->j, "cut", t->e->cut);
	json_put_count(t->j, "events", t->chrome.written);
	json_put_count(t->j, "dropped", t->left_out + t->chrome.crowded);
	json_put_count(t->j, "not_recorded", totals->slices_dropped);
	if (totals->slices_dropped)
		json_put_count(t->j, "recorded_until_ns", totals->slices_until_ns);
	json_close(t->j);
}

static int write_chrome(const struct exporting *e, struct error *err)
{
	cleanup(slice_reader) struct slice_reader *reader = answer_slices(e->profile, e->view, err);
	struct json j = json_start_compact(e->out);
	struct trace t = { .e = e, .profile = e->profile, .view = e->view, .j = &j };
	const struct totals *totals = &e->facts.totals;

	if (!reader)
		return -1;
	if (chrome_init(&t.chrome, &j, reader) < 0)
		return error_set(err, ENOMEM, "could not write the timeline");
	json_open(&j, NULL, '{');
	int failed = put_head(&t, err);
	if (!failed) {
		json_open(&j, "traceEvents", '[');
		failed = put_counters(&t, err) < 0 || put_steps(&t, err) < 0 ||
		         put_slices(&t, reader, err) < 0;
		put_notes(&t, totals);
		json_close(&j);
		put_tail(&t, totals);
		json_close(&j);
	}
	chrome_fini(&t.chrome);
	return failed ? -1 : 0;
}

const struct exporter exporter_chrome = { .name = "chrome", .write = write_chrome };
