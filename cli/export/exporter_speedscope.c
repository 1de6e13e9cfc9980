// SPDX-License-Identifier: MIT
// speedscope's own format, "sampled": for each thread a profile of its time on a CPU and one of its
// waiting, and where there is some of what it launched on GPUs and of what it allocated.
#include "base/error.h"
#include "cli/export/exporter.h"
#include "cli/export/label.h"
#include "cli/json.h"
#include "cli/report/view.h"

#include <errno.h>
#include <stdlib.h>

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

enum part {
	PART_ON_CPU,
	PART_WAITING,
	PART_GPU,
	PART_MEMORY,
	PARTS
};

static const struct {
	const char *words, *unit;
} parts[] = {
	[PART_ON_CPU] = { "on a CPU", "nanoseconds" },
	[PART_WAITING] = { "waiting", "nanoseconds" },
	[PART_GPU] = { "on GPUs, by what launched it", "nanoseconds" },
	[PART_MEMORY] = { "allocated", "bytes" },
};

struct speedscope {
	const struct stacks *stacks;
	struct json *j;
	size_t *path; // [depth]: node
};

// What node counts in PART for METRIC, which is of one part only.
static uint64_t weight_of(const struct stack_weight *weight, enum part part, int metric)
{
	bool waits = metric_is_off_cpu(metric);

	if (part == PART_GPU)
		return waits ? 0 : weight->gpu_ns;
	if (part == PART_MEMORY)
		return waits ? 0 : weight->allocated_bytes;
	return waits == (part == PART_WAITING) ? weight->ns[metric] : 0;
}

static uint64_t sum_of_thread(const struct stacks *stacks, const struct stack_thread *thread,
                              enum part part)
{
	uint64_t sum = 0;

	for (size_t i = thread->first; i < thread->end; i++)
		for (int m = 0; m < METRIC_COUNT; m++)
			sum += weight_of(&stacks->nodes[i].self, part, m);
	return sum;
}

// Frames are those of the stacks, and behind them one for each kind of wait.
static int put_frames(const struct speedscope *s, struct error *err)
{
	json_open(s->j, "frames", '[');
	for (size_t i = 0; i < s->stacks->frame_count; i++) {
		const struct stack_frame *frame = &s->stacks->frames[i];
		cleanup_free char *op = frame->op ? label_frame(frame, "") : NULL;
		if (frame->op && !op)
			return error_set(err, ENOMEM, "could not name an op");
		json_open(s->j, NULL, '{');
		json_put_text(s->j, "name", op ? op : frame->name);
		if (frame->file || frame->module)
			json_put_text(s->j, "file", frame->file ? frame->file : frame->module);
		if (frame->file && frame->line > 0)
			json_put_integer(s->j, "line", frame->line);
		json_close(s->j);
	}
	for (int m = 0; m < METRIC_COUNT; m++) {
		json_open(s->j, NULL, '{');
		json_put_text(s->j, "name", label_wait((enum metric)m).text);
		json_close(s->j);
	}
	json_close(s->j);
	return 0;
}

static void put_sample(const struct speedscope *s, const struct stack_node *node, int metric)
{
	json_open(s->j, NULL, '[');
	for (uint32_t depth = 1; depth <= node->depth; depth++)
		json_put_count(s->j, NULL, s->stacks->nodes[s->path[depth]].frame);
	if (metric_is_off_cpu(metric))
		json_put_count(s->j, NULL, s->stacks->frame_count + (size_t)metric);
	json_close(s->j);
}

static void put_weights(const struct speedscope *s, const struct stack_thread *thread,
                        enum part part, bool samples)
{
	json_open(s->j, samples ? "samples" : "weights", '[');
	for (size_t i = thread->first; i < thread->end; i++) {
		const struct stack_node *node = &s->stacks->nodes[i];
		s->path[node->depth] = i;
		for (int m = 0; m < METRIC_COUNT; m++) {
			uint64_t weight = weight_of(&node->self, part, m);
			if (weight && samples)
				put_sample(s, node, m);
			else if (weight)
				json_put_count(s->j, NULL, weight);
		}
	}
	json_close(s->j);
}

static void open_profile(struct json *j, const char *name, const char *unit, uint64_t sum)
{
	json_open(j, NULL, '{');
	json_put_text(j, "type", "sampled");
	json_put_text(j, "name", name);
	json_put_text(j, "unit", unit);
	json_put_count(j, "startValue", 0);
	json_put_count(j, "endValue", sum);
}

static int put_part(const struct speedscope *s, const struct stack_thread *thread, enum part part,
                    struct error *err)
{
	uint64_t sum = sum_of_thread(s->stacks, thread, part);
	char *name = NULL;

	if (!sum)
		return 0;
	bool whole = thread->is_main || thread->pid == 0;
	if ((whole ? asprintf(&name, "%s %u, %s", thread->name, thread->tid, parts[part].words)
	           : asprintf(&name, "%s %u of %s %u, %s", thread->name, thread->tid,
	                      thread->process, thread->pid, parts[part].words)) < 0)
		return error_set(err, ENOMEM, "could not name a thread");
	open_profile(s->j, name, parts[part].unit, sum);
	free(name);
	put_weights(s, thread, part, true);
	put_weights(s, thread, part, false);
	json_close(s->j);
	return 0;
}

// A file without any profile is none that speedscope opens.
static void put_nothing(struct json *j)
{
	open_profile(j, "nothing was recorded", "nanoseconds", 0);
	json_open(j, "samples", '[');
	json_close(j);
	json_open(j, "weights", '[');
	json_close(j);
	json_close(j);
}

static int put_profiles(const struct speedscope *s, struct error *err)
{
	json_open(s->j, "profiles", '[');
	for (size_t i = 0; i < s->stacks->thread_count; i++)
		for (int part = 0; part < PARTS; part++)
			if (put_part(s, &s->stacks->threads[i], (enum part)part, err) < 0)
				return -1;
	if (!s->j->any)
		put_nothing(s->j);
	json_close(s->j);
	return 0;
}

static int put_name(struct json *j, const struct exporting *e, struct error *err)
{
	const char *command = e->facts.run->command;
	cleanup_free char *name = NULL;

	if (asprintf(&name, "%s%s%s", command ? command : "", *e->cut ? ", " : "", e->cut) < 0) {
		name = NULL;
		return error_set(err, ENOMEM, "could not name the profile");
	}
	json_put_text(j, "name", name);
	return 0;
}

static int write_speedscope(const struct exporting *e, struct error *err)
{
	cleanup(stacks) struct stacks *stacks =
		answer_stacks(e->profile, e->view, STACKS_BY_FUNCTION, err);
	struct json j = json_start_compact(e->out);
	cleanup_free size_t *path =
		stacks ? calloc((size_t)stacks->depth + 1, sizeof(*path)) : NULL;
	const struct speedscope s = { stacks, &j, path };

	if (!stacks)
		return -1;
	if (!path)
		return error_set(err, ENOMEM, "could not write the stacks");
	json_open(&j, NULL, '{');
	json_put_text(&j, "$schema", SCHEMA);
	json_put_text(&j, "exporter", "bottleneck " BOTTLENECK_VERSION);
	if (put_name(&j, e, err) < 0)
		return -1;
	json_put_count(&j, "activeProfileIndex", 0);
	json_open(&j, "shared", '{');
	if (put_frames(&s, err) < 0)
		return -1;
	json_close(&j);
	if (put_profiles(&s, err) < 0)
		return -1;
	json_close(&j);
	return 0;
}

const struct exporter exporter_speedscope = { .name = "speedscope", .write = write_speedscope };
