// SPDX-License-Identifier: MIT
// The Firefox Profiler's processed profile format: stacks as samples by thread and by time, calls
// of ops, waits, and works of GPUs as markers.
#include "base/array.h"
#include "base/error.h"
#include "base/format.h"
#include "cli/export/exporter.h"
#include "cli/export/firefox_markers.h"
#include "cli/report/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES_MAX   400000 // bins are wider if there were more
#define GECKO_VERSION 24     // viewers do not look at it where the other version is there

static const struct {
	const char *name, *color;
} categories[FIREFOX_CATEGORIES] = {
	[FIREFOX_OTHER] = { "Other", "grey" },
	[FIREFOX_PYTHON] = { "Python", "blue" },
	[FIREFOX_NATIVE] = { "Native code", "yellow" },
	[FIREFOX_KERNEL] = { "Kernel", "orange" },
	[FIREFOX_OP] = { "Operation", "green" },
	[FIREFOX_WAITING] = { "Waiting", "transparent" }, // what the viewer wants idle ones to be
	[FIREFOX_GPU] = { "GPU", "purple" },
};

uint32_t firefox_text(struct firefox *f, const char *text)
{
	uint32_t number = strings_add(f->texts, text ? text : "");

	f->failed |= !number;
	return number ? number - 1 : 0;
}

void firefox_put_same(struct json *j, const char *key, size_t length, enum firefox_same what)
{
	json_open(j, key, '[');
	for (size_t i = 0; i < length; i++) {
		if (what == FIREFOX_NULL)
			json_put_null(j, NULL);
		else if (what == FIREFOX_FALSE)
			json_put_bool(j, NULL, false);
		else
			json_put_integer(j, NULL, what == FIREFOX_ZERO ? 0 : -1);
	}
	json_close(j);
}

// Of waits there is one for each cause, with its number.
static void put_subcategories(struct json *j, enum firefox_category category)
{
	json_open(j, "subcategories", '[');
	json_put_text(j, NULL, "Other");
	if (category == FIREFOX_NATIVE) {
		json_put_text(j, NULL, "called by Python");
		json_put_text(j, NULL, "inlined");
	}
	for (int m = 1; category == FIREFOX_WAITING && m < METRIC_COUNT; m++)
		json_put_text(j, NULL, metric_name((enum metric)m));
	json_close(j);
}

static void put_categories(struct json *j)
{
	json_open(j, "categories", '[');
	for (int c = 0; c < FIREFOX_CATEGORIES; c++) {
		json_open(j, NULL, '{');
		json_put_text(j, "name", categories[c].name);
		json_put_text(j, "color", categories[c].color);
		put_subcategories(j, (enum firefox_category)c);
		json_close(j);
	}
	json_close(j);
}

static void put_entry(struct json *j, const char *label, const char *value)
{
	if (!value || !*value)
		return;
	json_open(j, NULL, '{');
	json_put_text(j, "label", label);
	json_put_text(j, "format", "string");
	json_put_text(j, "value", value);
	json_close(j);
}

static void put_missing(struct json *j, const struct firefox *f, const struct firefox_markers *m)
{
	const struct totals *totals = &f->e->facts.totals;
	char words[200];

	if (m->left_out) {
		snprintf(words, sizeof(words), "%lu beyond --max-events",
		         (unsigned long)m->left_out);
		put_entry(j, "Markers left out", words);
	}
	if (totals->slices_dropped) {
		snprintf(words, sizeof(words), "%lu beyond --timeline-limit of the run, from %s on",
		         (unsigned long)totals->slices_dropped,
		         format_duration(totals->slices_until_ns).text);
		put_entry(j, "Markers not recorded", words);
	}
	if (!m->track_count)
		put_entry(j, "Nothing to show",
		          "the profile is of repeated runs, or of counts, or nothing was recorded");
}

// What the viewer shows of the profile as a whole.
static void put_extra(struct json *j, const struct firefox *f, const struct firefox_markers *m)
{
	const struct run *run = f->e->facts.run;

	json_open(j, "extra", '[');
	json_open(j, NULL, '{');
	json_put_text(j, "label", "bottleneck");
	json_open(j, "entries", '[');
	put_entry(j, "Version", BOTTLENECK_VERSION);
	put_entry(j, "Command", run->command);
	put_entry(j, "Directory", run->directory);
	put_entry(j, "Host", run->host);
	put_entry(j, "Shown", f->e->cut);
	put_missing(j, f, m);
	json_close(j);
	json_close(j);
	json_close(j);
}

static void put_units(struct json *j)
{
	json_open(j, "sampleUnits", '{');
	json_put_text(j, "time", "ms");
	json_put_text(j, "eventDelay", "ms");
	json_put_text(j, "threadCPUDelta", "ns");
	json_close(j);
}

static void put_meta(struct json *j, const struct firefox *f, const struct firefox_markers *m)
{
	const struct run *run = f->e->facts.run;
	uint32_t hz = run->frequency_hz ? run->frequency_hz : 1000;

	json_open(j, "meta", '{');
	json_put_milliseconds(j, "interval", 1000000000u / hz);
	json_put_milliseconds(j, "startTime", run->start_realtime_ns);
	json_put_count(j, "processType", 0);
	json_put_text(j, "product", "bottleneck");
	json_put_text(j, "importedFrom", "bottleneck");
	json_put_count(j, "stackwalk", 1);
	json_put_bool(j, "debug", false);
	json_put_count(j, "version", GECKO_VERSION);
	json_put_count(j, "preprocessedProfileVersion", FIREFOX_VERSION);
	if (run->command)
		json_put_text(j, "arguments", run->command);
	if (run->kernel)
		json_put_text(j, "oscpu", run->kernel);
	if (run->machine_cpus)
		json_put_count(j, "logicalCPUs", run->machine_cpus);
	json_put_bool(j, "symbolicated", true);
	json_put_bool(j, "usesOnlyOneStackType", true);
	json_put_bool(j, "sourceCodeIsNotOnSearchfox", true);
	json_put_bool(j, "keepProfileThreadOrder", true);
	put_units(j);
	put_categories(j);
	firefox_put_schemas(j);
	put_extra(j, f, m);
	json_close(j);
}

// What a thread, or a stream, is called.
struct title {
	char name[160], process[160], pid[160];
	uint32_t tid;
	bool is_main;
	uint64_t begin_ns, end_ns;
};

static bool put_pid(struct firefox *f, uint32_t pid, uint32_t slot, char *text, size_t size)
{
	unsigned others = 0;
	bool known = false;

	for (size_t i = 0; i < f->owner_count && !known; i++) {
		if (f->owners[i].pid != pid)
			continue;
		known = f->owners[i].slot == slot;
		others += !known;
	}
	if (!known && !array_reserve(&f->owners, &f->owner_capacity, f->owner_count + 1))
		return false;
	if (!known)
		f->owners[f->owner_count++] = (struct firefox_owner){ pid, slot };
	snprintf(text, size, others ? "%u.%u" : "%u", pid, others);
	return true;
}

static struct title title_of_stream(const struct firefox_markers *m, uint32_t stream)
{
	struct slice_stream info = { .device = "", .process = "" };
	struct title title = { .is_main = false };

	slice_reader_stream(m->reader, stream, &info);
	snprintf(title.name, sizeof(title.name), "stream %u", info.number);
	// Each rank has its own GPU 0.
	const char *of = *info.process ? " of " : "";
	snprintf(title.process, sizeof(title.process), "GPU %u %.60s%s%.60s", info.device_number,
	         info.device, of, info.process);
	snprintf(title.pid, sizeof(title.pid), "GPU %u%s%.100s", info.device_number, of,
	         info.process);
	title.tid = stream;
	return title;
}

static struct title title_of_thread(struct firefox *f, const struct firefox_markers *m,
                                    uint32_t thread)
{
	struct slice_thread info = { .name = "", .process = "" };
	struct title title = { .is_main = false };

	slice_reader_thread(m->reader, thread, &info);
	snprintf(title.name, sizeof(title.name), "%s%s", info.name,
	         info.apart ? "" : " and others");
	snprintf(title.process, sizeof(title.process), "%s", info.process);
	f->failed |= !put_pid(f, info.pid, info.process_slot, title.pid, sizeof(title.pid));
	title.tid = info.tid;
	title.is_main = info.is_main;
	return title;
}

static struct title title_of(struct firefox *f, const struct firefox_markers *m,
                             const struct firefox_track *track)
{
	const struct stack_thread *stacks = track->stacks;
	struct title title = track->stream ? title_of_stream(m, track->stream)
	                                   : title_of_thread(f, m, track->thread);

	for (size_t i = 0; i < track->markers; i++) {
		const struct slice_row *row = &m->markers[track->first_marker + i].row;
		if (!i)
			title.begin_ns = row->begin_ns;
		title.end_ns = row->end_ns > title.end_ns ? row->end_ns : title.end_ns;
	}
	if (stacks) {
		title.begin_ns = stacks->begin_ns;
		title.end_ns = stacks->end_ns;
	}
	return title;
}

static void put_title(struct json *j, const struct title *title)
{
	json_put_text(j, "processType", "default");
	json_put_text(j, "processName", title->process);
	json_put_count(j, "processStartupTime", 0);
	json_put_null(j, "processShutdownTime");
	json_put_milliseconds(j, "registerTime", title->begin_ns);
	json_put_milliseconds(j, "unregisterTime", title->end_ns);
	firefox_put_same(j, "pausedRanges", 0, FIREFOX_NULL);
	json_put_text(j, "name", title->name);
	json_put_bool(j, "isMainThread", title->is_main);
	json_put_text(j, "pid", title->pid);
	json_put_count(j, "tid", title->tid);
}

static int put_track(struct firefox *f, const struct firefox_markers *m,
                     const struct firefox_track *track, struct error *err)
{
	const struct title title = title_of(f, m, track);
	struct json *j = f->j;

	json_open(j, NULL, '{');
	put_title(j, &title);
	json_put_bool(j, "showMarkersInTimeline", track->markers > 0);
	firefox_put_markers(f, m, track);
	if (!track->stacks)
		firefox_put_no_stacks(f, title.begin_ns, title.end_ns);
	else if (firefox_put_stacks(f, track->stacks, err) < 0)
		return -1;
	json_close(j);
	return 0;
}

// Viewers do not open a profile without a thread.
static void put_nothing(struct firefox *f)
{
	const struct firefox_markers none = { 0 };
	const struct firefox_track track = { 0 };
	const struct title title = {
		.name = "nothing was recorded", .process = "", .pid = "0", .is_main = true
	};

	json_open(f->j, NULL, '{');
	put_title(f->j, &title);
	firefox_put_markers(f, &none, &track);
	firefox_put_no_stacks(f, 0, f->e->facts.run->wall_ns);
	json_close(f->j);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void put_libraries(const struct firefox *f)
{
	struct json *j = f->j;

	json_open(j, "libs", '[');
	for (uint32_t i = 1; i <= strings_count(f->modules); i++) {
		const char *path = strings_get(f->modules, i);
		json_open(j, NULL, '{');
		json_put_text(j, "arch", "");
		json_put_text(j, "name", base_name(path));
		json_put_text(j, "path", path);
		json_put_text(j, "debugName", base_name(path));
		json_put_text(j, "debugPath", path);
		json_put_text(j, "breakpadId", "000000000000000000000000000000000");
		json_put_null(j, "codeId");
		json_close(j);
	}
	json_close(j);
}

static void put_shared(struct firefox *f)
{
	uint32_t files = strings_count(f->files);
	struct json *j = f->j;

	json_open(j, "shared", '{');
	json_open(j, "sources", '{');
	json_put_count(j, "length", files);
	firefox_put_same(j, "uuid", files, FIREFOX_NULL);
	json_open(j, "filename", '[');
	for (uint32_t i = 1; i <= files; i++)
		json_put_count(j, NULL, firefox_text(f, strings_get(f->files, i)));
	json_close(j);
	json_close(j);
	json_open(j, "stringArray", '[');
	for (uint32_t i = 1; i <= strings_count(f->texts); i++)
		json_put_text(j, NULL, strings_get(f->texts, i));
	json_close(j);
	json_close(j);
}

static bool add_modules(struct firefox *f)
{
	for (size_t i = 0; i < f->stacks->frame_count; i++) {
		const char *module = f->stacks->frames[i].module;
		if (module && *module && !strings_add(f->modules, module))
			return false;
	}
	return true;
}

static int put_all(struct firefox *f, struct error *err)
{
	cleanup(firefox_markers) struct firefox_markers m = { 0 };
	struct json *j = f->j;

	if (firefox_markers_read(&m, f, err) < 0)
		return -1;
	json_open(j, NULL, '{');
	put_meta(j, f, &m);
	json_open(j, "threads", '[');
	for (size_t i = 0; i < m.track_count; i++)
		if (put_track(f, &m, &m.tracks[i], err) < 0)
			return -1;
	if (!m.track_count)
		put_nothing(f);
	json_close(j);
	put_libraries(f);
	firefox_put_same(j, "pages", 0, FIREFOX_NULL);
	put_shared(f);
	json_close(j);
	return f->failed ? error_set(err, ENOMEM, "could not write all names") : 0;
}

static int write_firefox(const struct exporting *e, struct error *err)
{
	cleanup(stacks) struct stacks *stacks =
		answer_stacks(e->profile, e->view, STACKS_BY_LINE, err);
	cleanup(stack_times) struct stack_times *times =
		stacks ? answer_stack_times(e->profile, e->view, stacks, SAMPLES_MAX, err) : NULL;
	cleanup(strings) struct strings *texts = strings_new();
	cleanup(strings) struct strings *modules = strings_new();
	cleanup(strings) struct strings *files = strings_new();
	struct json j = json_start_compact(e->out);
	struct firefox f = {
		.e = e,
		.j = &j,
		.texts = texts,
		.modules = modules,
		.files = files,
		.stacks = stacks,
		.times = times,
	};

	if (!times)
		return -1;
	if (!texts || !modules || !files || !strings_add(texts, "") || !add_modules(&f))
		return error_set(err, ENOMEM, "could not write the profile");
	int failed = put_all(&f, err);
	free(f.owners);
	return failed;
}

const struct exporter exporter_firefox = { .name = "firefox", .write = write_firefox };
