// SPDX-License-Identifier: MIT
#include "cli/sink.h"

#include "base/array.h"
#include "cli/proc_state.h"
#include "merge/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct live_process *find_live(struct sink *sink, uint32_t process)
{
	for (size_t i = sink->live_count; i-- > 0;) // the newest end first
		if (sink->live[i].process == process)
			return &sink->live[i];
	return NULL;
}

static void add_process(void *context, const struct process_event *event)
{
	struct sink *sink = context;
	struct live_process *live = find_live(sink, event->process);

	profile_add_process(sink->profile, event);
	if (!live) {
		if (!array_reserve(&sink->live, &sink->live_capacity, sink->live_count + 1))
			return; // then it is missing from a count in the limits
		live = &sink->live[sink->live_count++];
		live->process = event->process;
	}
	live->pid = event->pid;
	snprintf(live->name, sizeof(live->name), "%s", event->command);
}

static void end_process(void *context, uint32_t process, uint64_t time_ns)
{
	struct sink *sink = context;
	struct live_process *live = find_live(sink, process);

	profile_end_process(sink->profile, process, time_ns);
	if (live)
		*live = sink->live[--sink->live_count];
}

static void add_thread(void *context, const struct thread_event *event)
{
	struct sink *sink = context;

	profile_add_thread(sink->profile, event);
}

static void end_thread(void *context, const struct thread_end *end)
{
	struct sink *sink = context;

	profile_end_thread(sink->profile, end);
}

static void add_stack(void *context, const struct stack *stack)
{
	struct sink *sink = context;

	profile_add_stack(sink->profile, stack);
}

void sink_init(struct sink *sink, struct profile *profile)
{
	memset(sink, 0, sizeof(*sink));
	sink->profile = profile;
}

void sink_fini(struct sink *sink)
{
	free(sink->live);
}

struct sampler_sink sink_functions(struct sink *sink)
{
	return (struct sampler_sink){
		.context = sink,
		.process = add_process,
		.process_end = end_process,
		.thread = add_thread,
		.thread_end = end_thread,
		.stack = add_stack,
	};
}

// Its exit record may still be on the way, so the kernel is asked. A zombie does not run.
static bool is_running(uint32_t pid)
{
	char state = proc_state((pid_t)pid);

	return state && state != 'Z' && state != 'X';
}

uint32_t sink_count_running(const struct sink *sink, uint32_t main_pid, const char **name)
{
	uint32_t count = 0;

	*name = "";
	for (size_t i = 0; i < sink->live_count; i++) {
		if (sink->live[i].pid == main_pid || !is_running(sink->live[i].pid))
			continue;
		if (count++ == 0)
			*name = sink->live[i].name;
	}
	return count;
}
