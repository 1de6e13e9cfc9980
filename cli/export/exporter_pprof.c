// SPDX-License-Identifier: MIT
// pprof's profile.proto, compressed. A location is a frame, inlined or not, as several readers look
// at the outermost line of a location only. The value that they show first, wall time, comes last.
#include "base/clock.h"
#include "base/error.h"
#include "base/strings.h"
#include "cli/export/exporter.h"
#include "cli/export/label.h"
#include "cli/export/protobuf.h"
#include "cli/report/cut.h"
#include "cli/report/view.h"

#include <errno.h>
#include <stdlib.h>

// Fields of the schema.
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DURATION_NS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	TYPE_NAME = 1,
	TYPE_UNIT = 2,
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_TEXT = 2,
	LABEL_NUMBER = 3,
	MAPPING_ID = 1,
	MAPPING_FILE = 5,
	MAPPING_HAS_FUNCTIONS = 7, // and files, lines, inlined frames: there is nothing to look up
	MAPPING_HAS_LAST = 10,
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_NUMBER = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
};

enum value {
	VALUE_SAMPLES,
	VALUE_ON_CPU,
	VALUE_OFF_CPU,
	VALUE_GPU,
	VALUE_MEMORY,
	VALUE_WALL,
	VALUES
};

static const struct {
	const char *name, *unit;
} values[VALUES] = {
	[VALUE_SAMPLES] = { "samples", "count" },       [VALUE_ON_CPU] = { "cpu", "nanoseconds" },
	[VALUE_OFF_CPU] = { "off_cpu", "nanoseconds" }, [VALUE_GPU] = { "gpu", "nanoseconds" },
	[VALUE_MEMORY] = { "alloc_space", "bytes" },    [VALUE_WALL] = { "wall", "nanoseconds" },
};

// A part of the run, and what is told of it.
struct part {
	uint64_t from_ns, to_ns;
	const char *phase; // NULL: it is not known
	bool times, bytes;
};

struct pprof {
	const struct exporting *e;
	const struct stacks *stacks;
	const struct part *part;
	struct strings *texts;     // ids are indices in the table of the file, whose first is ""
	struct strings *mappings;  // paths of modules
	struct strings *functions; // "NAME FILE": ids of texts
	struct strings *locations; // "FUNCTION MAPPING LINE": ids of those
	const uint32_t *frames;    // [frame of STACKS]: location
	const size_t *path;        // [depth]: node
	struct protobuf message, inner, sample, whole;
	bool failed; // memory was short
};

static void pprof_at_scope_end(struct pprof *w)
{
	strings_free(w->texts);
	strings_free(w->mappings);
	strings_free(w->functions);
	strings_free(w->locations);
	protobuf_fini(&w->message);
	protobuf_fini(&w->inner);
	protobuf_fini(&w->sample);
	protobuf_fini(&w->whole);
}

// The index of TEXT, which need not be UTF-8.
static uint32_t text_of(struct pprof *w, const char *text)
{
	cleanup_free char *clean = text ? label_text(text, "") : NULL;

	if (!text || !*text)
		return 0;
	uint32_t id = clean ? strings_add(w->texts, clean) : 0;
	w->failed |= !id;
	return id;
}

static void put_whole(struct pprof *w)
{
	w->failed |= w->whole.failed;
	if (!w->failed && w->whole.size)
		fwrite(w->whole.bytes, 1, w->whole.size, w->e->out);
	protobuf_clear(&w->whole);
}

// Writes MESSAGE as FIELD of the profile, and empties it.
static void put_field(struct pprof *w, unsigned field, struct protobuf *message)
{
	protobuf_put_message(&w->whole, field, message);
	put_whole(w);
	protobuf_clear(message);
}

static void put_number_field(struct pprof *w, unsigned field, uint64_t number)
{
	protobuf_put_count(&w->whole, field, number);
	put_whole(w);
}

// The id of NUMBERS in TABLE; *NEW: it is the first time.
static uint32_t id_of(struct pprof *w, struct strings *table, const uint32_t numbers[3], bool *new)
{
	char text[48];
	uint32_t count = strings_count(table);

	snprintf(text, sizeof(text), "%u %u %u", numbers[0], numbers[1], numbers[2]);
	uint32_t id = strings_add(table, text);
	*new = id > count;
	w->failed |= !id;
	return id;
}

static uint32_t mapping_of(struct pprof *w, const char *module)
{
	uint32_t count = strings_count(w->mappings);
	uint32_t id = module ? strings_add(w->mappings, module) : 0;

	w->failed |= module && !id;
	if (id <= count)
		return id;
	protobuf_put_count(&w->message, MAPPING_ID, id);
	protobuf_put_count(&w->message, MAPPING_FILE, text_of(w, module));
	for (unsigned field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_LAST; field++)
		protobuf_put_count(&w->message, field, true);
	put_field(w, PROFILE_MAPPING, &w->message);
	return id;
}

static uint32_t function_of(struct pprof *w, const struct stack_frame *frame)
{
	cleanup_free char *op = frame->op ? label_frame(frame, "") : NULL;
	uint32_t name = text_of(w, op ? op : frame->name), file = text_of(w, frame->file);
	bool new;
	uint32_t id = id_of(w, w->functions, (uint32_t[]){ name, file, 0 }, &new);

	w->failed |= frame->op && !op;
	if (!new)
		return id;
	protobuf_put_count(&w->message, FUNCTION_ID, id);
	protobuf_put_count(&w->message, FUNCTION_NAME, name);
	protobuf_put_count(&w->message, FUNCTION_SYSTEM_NAME, name);
	protobuf_put_count(&w->message, FUNCTION_FILE, file);
	put_field(w, PROFILE_FUNCTION, &w->message);
	return id;
}

static uint32_t location_of(struct pprof *w, const struct stack_frame *frame)
{
	uint32_t function = function_of(w, frame), mapping = mapping_of(w, frame->module);
	uint32_t line = frame->line > 0 ? (uint32_t)frame->line : 0;
	bool new;
	uint32_t id = id_of(w, w->locations, (uint32_t[]){ function, mapping, line }, &new);

	if (!new)
		return id;
	protobuf_clear(&w->inner);
	protobuf_put_count(&w->inner, LINE_FUNCTION, function);
	protobuf_put_count(&w->inner, LINE_NUMBER, line);
	protobuf_put_count(&w->message, LOCATION_ID, id);
	protobuf_put_count(&w->message, LOCATION_MAPPING, mapping);
	protobuf_put_message(&w->message, LOCATION_LINE, &w->inner);
	put_field(w, PROFILE_LOCATION, &w->message);
	return id;
}

static void put_label(struct pprof *w, const char *key, const char *text, uint64_t number)
{
	protobuf_clear(&w->inner);
	protobuf_put_count(&w->inner, LABEL_KEY, text_of(w, key));
	protobuf_put_count(&w->inner, LABEL_TEXT, text_of(w, text));
	protobuf_put_count(&w->inner, LABEL_NUMBER, number);
	protobuf_put_message(&w->sample, SAMPLE_LABEL, &w->inner);
}

// METRIC is that of the time; METRIC_COUNT: there is none.
static void put_labels(struct pprof *w, const struct stack_thread *thread, int metric)
{
	put_label(w, "thread", thread->name, 0);
	put_label(w, "tid", NULL, thread->tid);
	put_label(w, "process", thread->process, 0);
	put_label(w, "pid", NULL, thread->pid);
	if (w->part->phase)
		put_label(w, "phase", w->part->phase, 0);
	if (metric != METRIC_COUNT && metric_is_off_cpu(metric))
		put_label(w, "waiting", metric_name((enum metric)metric), 0);
}

static void put_sample(struct pprof *w, const struct stack_thread *thread,
                       const struct stack_node *node, const uint64_t numbers[VALUES], int metric)
{
	protobuf_clear(&w->sample);
	protobuf_clear(&w->inner);
	for (uint32_t depth = node->depth; depth > 0; depth--)
		protobuf_put_packed(&w->inner, w->frames[w->stacks->nodes[w->path[depth]].frame]);
	protobuf_put_message(&w->sample, SAMPLE_LOCATION, &w->inner);
	protobuf_clear(&w->inner);
	for (int v = 0; v < VALUES; v++)
		protobuf_put_packed(&w->inner, numbers[v]);
	protobuf_put_message(&w->sample, SAMPLE_VALUE, &w->inner);
	put_labels(w, thread, metric);
	w->failed |= w->inner.failed;
	put_field(w, PROFILE_SAMPLE, &w->sample);
}

// One sample for the time on a CPU, one for each way of waiting; others go with the first.
static void put_node(struct pprof *w, const struct stack_thread *thread,
                     const struct stack_node *node)
{
	const struct stack_weight *self = &node->self;
	uint64_t gpu = w->part->times ? self->gpu_ns : 0;
	uint64_t bytes = w->part->bytes ? self->allocated_bytes : 0;

	for (int m = 0; m < METRIC_COUNT && w->part->times; m++) {
		uint64_t numbers[VALUES] = {
			[VALUE_SAMPLES] = self->samples[m], [VALUE_WALL] = self->ns[m]
		};
		if (!self->ns[m] && !self->samples[m])
			continue;
		numbers[metric_is_off_cpu(m) ? VALUE_OFF_CPU : VALUE_ON_CPU] = self->ns[m];
		put_sample(w, thread, node, numbers, m);
	}
	if (gpu || bytes)
		put_sample(w, thread, node,
		           (uint64_t[VALUES]){ [VALUE_GPU] = gpu, [VALUE_MEMORY] = bytes },
		           METRIC_COUNT);
}

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "could not write the stacks");
}

static int put_part(struct pprof *w, const struct part *part, struct error *err)
{
	cleanup(stacks) struct stacks *stacks =
		answer_stacks_of(w->e->profile, w->e->view, part->from_ns, part->to_ns, err);

	if (!stacks)
		return -1;
	cleanup_free uint32_t *frames = calloc(stacks->frame_count + 1, sizeof(*frames));
	cleanup_free size_t *path = calloc((size_t)stacks->depth + 1, sizeof(*path));
	if (!frames || !path)
		return no_memory(err);
	w->stacks = stacks;
	w->part = part;
	w->frames = frames;
	w->path = path;
	for (size_t i = 0; i < stacks->frame_count; i++)
		frames[i] = location_of(w, &stacks->frames[i]);
	for (size_t t = 0; t < stacks->thread_count; t++)
		for (size_t i = stacks->threads[t].first; i < stacks->threads[t].end; i++) {
			path[stacks->nodes[i].depth] = i;
			put_node(w, &stacks->threads[t], &stacks->nodes[i]);
		}
	return w->failed ? no_memory(err) : 0;
}

// Before the warm-up's end and after it, if that is in what is shown. Memory is of the whole run.
static size_t find_parts(const struct view *view, uint64_t steady_ns, struct part parts[3])
{
	struct part whole = { view->from_ns, view->to_ns, NULL, true, true };
	bool inside = steady_ns > view->from_ns && (!view->to_ns || steady_ns < view->to_ns);

	parts[0] = whole;
	if (steady_ns && !inside)
		parts[0].phase = steady_ns <= view->from_ns ? "steady" : "warmup";
	if (!inside)
		return 1;
	parts[0] = (struct part){ view->from_ns, steady_ns, "warmup", true, false };
	parts[1] = (struct part){ steady_ns, view->to_ns, "steady", true, false };
	parts[2] = (struct part){ view->from_ns, view->to_ns, NULL, false, true };
	return 3;
}

static void put_type(struct pprof *w, unsigned field, const char *name, const char *unit)
{
	protobuf_put_count(&w->message, TYPE_NAME, text_of(w, name));
	protobuf_put_count(&w->message, TYPE_UNIT, text_of(w, unit));
	put_field(w, field, &w->message);
}

static void put_head(struct pprof *w)
{
	const struct run *run = w->e->facts.run;

	for (int v = 0; v < VALUES; v++)
		put_type(w, PROFILE_SAMPLE_TYPE, values[v].name, values[v].unit);
	put_number_field(w, PROFILE_TIME_NS, run->start_realtime_ns);
	put_number_field(w, PROFILE_DURATION_NS, run->wall_ns);
	if (run->frequency_hz) {
		put_type(w, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
		put_number_field(w, PROFILE_PERIOD, NS_PER_SEC / run->frequency_hz);
	}
	put_number_field(w, PROFILE_COMMENT, text_of(w, run->command));
	put_number_field(w, PROFILE_COMMENT, text_of(w, w->e->cut));
}

static void put_texts(struct pprof *w)
{
	protobuf_put_text(&w->whole, PROFILE_STRING, "");
	for (uint32_t id = 1; id <= strings_count(w->texts); id++) {
		protobuf_put_text(&w->whole, PROFILE_STRING, strings_get(w->texts, id));
		put_whole(w);
	}
	put_whole(w);
}

static int write_pprof(const struct exporting *e, struct error *err)
{
	cleanup(pprof) struct pprof w = {
		.e = e,
		.texts = strings_new(),
		.mappings = strings_new(),
		.functions = strings_new(),
		.locations = strings_new(),
	};
	struct part parts[3];
	uint64_t steady_ns;

	if (!w.texts || !w.mappings || !w.functions || !w.locations)
		return no_memory(err);
	if (cut_steady(e->view, e->profile, &steady_ns, err) < 0)
		return -1;
	size_t count = find_parts(e->view, steady_ns, parts);
	put_head(&w);
	for (size_t i = 0; i < count; i++)
		if (put_part(&w, &parts[i], err) < 0)
			return -1;
	put_texts(&w);
	return w.failed ? no_memory(err) : 0;
}

const struct exporter exporter_pprof = { .name = "pprof", .gzip = true, .write = write_pprof };
