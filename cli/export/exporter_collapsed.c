// SPDX-License-Identifier: MIT
// Collapsed stacks: "process;thread;main;work 12", outermost first, one line for each. The numbers
// are milliseconds, as readers make as many samples of them. Each line is rounded so that all of
// them sum to the time that there was.
#include "base/error.h"
#include "cli/export/exporter.h"
#include "cli/export/label.h"
#include "cli/report/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define NS_PER_MS 1000000

struct collapsed {
	const struct exporting *e;
	const struct stacks *stacks;
	const struct label_frames *labels;
	char *cut, *process, *thread;
	size_t *path;         // [depth]: node
	uint64_t ns, told_ms; // of the lines until now
};

static void collapsed_at_scope_end(struct collapsed *c)
{
	free(c->cut);
	free(c->process);
	free(c->thread);
	free(c->path);
}

static void put_path(const struct collapsed *c, size_t node)
{
	FILE *out = c->e->out;

	if (*c->cut)
		fprintf(out, "[%s];", c->cut);
	fprintf(out, "%s;%s", c->process, c->thread);
	for (uint32_t depth = 1; depth <= c->stacks->nodes[node].depth; depth++)
		fprintf(out, ";%s", c->labels->texts[c->stacks->nodes[c->path[depth]].frame]);
}

static void put_time(struct collapsed *c, size_t node, enum metric metric, uint64_t ns)
{
	c->ns += ns;
	uint64_t ms = (c->ns + NS_PER_MS / 2) / NS_PER_MS - c->told_ms;

	if (!ms)
		return; // a later line has it
	c->told_ms += ms;
	put_path(c, node);
	if (metric_is_off_cpu(metric))
		fprintf(c->e->out, ";%s", label_wait(metric).text);
	fprintf(c->e->out, " %" PRIu64 "\n", ms);
}

static int start_thread(struct collapsed *c, const struct stack_thread *thread, struct error *err)
{
	free(c->process);
	free(c->thread);
	c->process = label_number(thread->process, thread->pid, ";");
	c->thread = label_number(thread->name, thread->tid, ";");
	return c->process && c->thread ? 0 : error_set(err, ENOMEM, "could not name a thread");
}

static int put_thread(struct collapsed *c, const struct stack_thread *thread, struct error *err)
{
	if (start_thread(c, thread, err) < 0)
		return -1;
	for (size_t i = thread->first; i < thread->end; i++) {
		const struct stack_node *node = &c->stacks->nodes[i];
		c->path[node->depth] = i;
		for (int m = 0; m < METRIC_COUNT; m++)
			if (node->self.ns[m])
				put_time(c, i, (enum metric)m, node->self.ns[m]);
	}
	return 0;
}

static int write_collapsed(const struct exporting *e, struct error *err)
{
	cleanup(stacks) struct stacks *stacks =
		answer_stacks(e->profile, e->view, STACKS_BY_FUNCTION, err);
	cleanup(label_frames) struct label_frames labels = { 0 };
	cleanup(collapsed) struct collapsed c = { .e = e, .stacks = stacks, .labels = &labels };

	if (!stacks || label_frames_init(&labels, stacks, ";", err) < 0)
		return -1;
	c.cut = label_text(e->cut, ";");
	c.path = calloc((size_t)stacks->depth + 1, sizeof(*c.path));
	if (!c.cut || !c.path)
		return error_set(err, ENOMEM, "could not collapse the stacks");
	for (size_t i = 0; i < stacks->thread_count; i++)
		if (put_thread(&c, &stacks->threads[i], err) < 0)
			return -1;
	return 0;
}

const struct exporter exporter_collapsed = { .name = "collapsed", .write = write_collapsed };
