// SPDX-License-Identifier: MIT
#include "sampler/tracker/tracker.h"

#include "base/clock.h"
#include "base/error.h"
#include "sampler/off_cpu/off_cpu.h"
#include "sampler/off_cpu/off_cpu_python.h"
#include "sampler/proc/proc_tree.h"
#include "sampler/tracker/cpu_account.h"
#include "sampler/tracker/mapper.h"
#include "sampler/tracker/python_find.h"
#include "sampler/tracker/tracker_state.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

// A thread that has run for so long without a sample is told of without one.
#define SILENT_NS (500 * NS_PER_MS)

// Processes whose files are looked into: a shell or a container's init has its Python below it.
#define FINDS_MAX 16

struct tracker *tracker_new(struct modules *modules, enum unwinder_kind unwinder,
                            const struct sampler_sink *sink, struct error *err)
{
	cleanup(tracker) struct tracker *t = calloc(1, sizeof(*t));
	enum unwinder_mode mode =
		unwinder == UNWINDER_LIBUNWIND ? UNWIND_BY_LIBUNWIND : UNWIND_BY_TABLE;

	if (!t || !(t->tasks = tasks_new())) {
		error_set(err, errno, "could not start following processes");
		return NULL;
	}
	t->modules = modules;
	t->sink = *sink;
	t->ops.sink = &t->sink;
	t->gpu = gpu_calls_new(&t->sink);
	if (!t->gpu) {
		error_set(err, ENOMEM, "could not start following processes");
		return NULL;
	}
	t->unwinder = unwinder_new(modules, mode, err);
	return t->unwinder ? steal(t) : NULL;
}

void tracker_free(struct tracker *t)
{
	if (!t)
		return;
	off_cpu_free(t->off_cpu);
	off_cpu_python_free(t->reader);
	go_reader_free(t->go_reader);
	free(t->joined);
	peers_free(t->peers);
	gpu_calls_free(t->gpu);
	unwinder_free(t->unwinder);
	op_tracker_fini(&t->ops);
	tasks_free(t->tasks);
	go_room_free(t->go_room);
	free(t);
}

// off_cpu has finished an interval.
static void give_off_cpu(void *context, const struct stack *stack)
{
	struct tracker *t = context;

	if (t->tell_off_cpu)
		tracker_give(t, stack);
}

static void give_span(void *context, const struct span_event *span)
{
	struct tracker *t = context;

	tracker_tell(t, &(struct sampled){ .kind = SAMPLED_SPAN, .span = span });
}

void tracker_adjust(struct tracker *t, const struct source_facts *facts)
{
	t->rules.switches = facts->switches;
	t->rules.kernel_samples = facts->kernel_samples;
	t->rules.estimated = facts->switches_estimated;
	t->short_stacks = facts->short_stacks;
	t->rules.period_ns = NS_PER_SEC / (facts->frequency_hz ? facts->frequency_hz : 1);
}

void tracker_set_kernel_names(struct tracker *t, struct kallsyms *names)
{
	t->kernel_names = names;
}

void tracker_set_wrappers(struct tracker *t, op_is_wrapper *is_wrapper, void *context)
{
	t->is_wrapper = is_wrapper;
	t->wrapper_context = context;
}

void tracker_set_ops(struct tracker *t, const struct ops *ops)
{
	t->ops.ops = ops;
}

void tracker_set_codes(struct tracker *t, struct codes *codes)
{
	t->codes = codes;
}

bool tracker_finds_python(const pid_t *pids, size_t count)
{
	struct event_python python;
	struct proc_tree tree = { 0 };
	bool found = false;

	proc_tree_list(&tree, pids, count);
	for (size_t i = 0, looked = 0; i < tree.count && looked < FINDS_MAX && !found; i++) {
		if (tree.threads[i].pid != tree.threads[i].tid)
			continue;
		looked++;
		found = python_find(tree.threads[i].pid, &python);
	}
	proc_tree_fini(&tree);
	return found;
}

bool tracker_read_python(struct tracker *t)
{
	t->reader = off_cpu_python_new(t->codes);
	t->joined = malloc(sizeof(*t->joined) + PYTHON_FRAMES_MAX * sizeof(t->joined->frames[0]));
	return t->reader && t->joined;
}

int tracker_start(struct tracker *t, const struct source_facts *facts, bool off_cpu,
                  struct error *err)
{
	struct off_cpu_options options = { .switch_samples = facts->switch_samples,
		                           .names = t->kernel_names,
		                           .estimated = facts->switches_estimated,
		                           .codes = t->codes,
		                           .reads_python = t->reader != NULL,
		                           .span = give_span,
		                           .waits_on = tracker_waits_on };

	t->tell_off_cpu = off_cpu;
	tracker_adjust(t, facts);
	// It also keeps the clocks by which samples are weighed, so it is there with OFF_CPU off.
	if (!facts->switches)
		return 0;
	t->off_cpu = off_cpu_new(&options, t->modules, t->unwinder, give_off_cpu, t, err);
	return t->off_cpu ? 0 : -1;
}

// Events.

// The kernel maps a program before the libraries that it needs.
static void name_program(struct process *process, const struct event_map *map)
{
	const struct mapping *mapping = address_space_find(process->space, map->start);

	process->program = mapping ? mapping->module : 0;
	process->loading = !mapping;
}

static void on_map(struct tracker *t, const struct event *event)
{
	struct thread *thread = tracker_thread(t, event, true);

	if (!thread)
		return;
	if (!mapper_add(t->modules, thread->process, &event->map))
		t->no_memory = true;
	if (thread->process->loading)
		name_program(thread->process, &event->map);
}

static void on_unmap(struct tracker *t, const struct event *event)
{
	struct process *process = tasks_find_process(t->tasks, event->pid);

	if (!process)
		return;
	if (!address_space_unmap(process->space, event->map.start, event->map.length))
		t->no_memory = true;
	// What is loaded there next need not be told: the first sample in it finds it.
	mapper_reset(process);
}

static void on_switch(struct tracker *t, const struct event *event)
{
	struct thread *thread = tracker_thread(t, event, !event->sched.in);

	if (!thread || !t->off_cpu)
		return;
	off_cpu_switch(t->off_cpu, thread, event->time_ns, event->sched.in, event->sched.preempted);
	if (event->sched.in)
		return;
	if (event->sched.cause != METRIC_ON_CPU)
		off_cpu_reported(t->off_cpu, thread, event->sched.cause);
	struct cpu_split split = cpu_account_switched(thread, event->sched.preempted, &t->rules);
	tracker_give_short(t, thread, event->time_ns, split.short_ns);
}

static void on_waking(struct tracker *t, const struct event *event)
{
	struct thread *woken = tasks_find_tid(t->tasks, event->waking.tid);
	const struct thread *waker =
		woken ? tasks_find_thread(t->tasks, event->pid, event->tid) : NULL;

	if (woken && t->off_cpu)
		off_cpu_woken(t->off_cpu, woken, event->time_ns, waker ? waker->number : 0,
		              event->waking.by);
}

static void on_lost(struct tracker *t, const struct event *event)
{
	t->rules.loss_ns = event->time_ns;
}

void tracker_handle(struct tracker *t, const struct event *event)
{
	static void (*const handlers[])(struct tracker *, const struct event *) = {
		[RECORD_SAMPLE] = tracker_on_sample,
		[RECORD_MAP] = on_map,
		[RECORD_EXEC] = tracker_on_exec,
		[RECORD_BIRTH] = tracker_on_birth,
		[RECORD_FORK] = tracker_on_fork,
		[RECORD_FOUND] = tracker_on_found,
		[RECORD_EXIT] = tracker_on_exit,
		[RECORD_SWITCH] = on_switch,
		[RECORD_LOST] = on_lost,
		[RECORD_THREAD] = tracker_on_name,
		[RECORD_UNMAP] = on_unmap,
		[RECORD_OP_BEGIN] = tracker_on_op_begin,
		[RECORD_OP_END] = tracker_on_op_end,
		[RECORD_OP_MARK] = tracker_on_op_mark,
		[RECORD_OP_SITE] = tracker_on_op_site,
		[RECORD_OP_COUNT] = tracker_on_op_count,
		[RECORD_ALLOC] = tracker_on_alloc,
		[RECORD_FREE] = tracker_on_free,
		[RECORD_MEMORY] = tracker_on_memory,
		[RECORD_PATCH] = tracker_on_patch,
		[RECORD_WAIT] = tracker_on_wait,
		[RECORD_WAKING] = on_waking,
		[RECORD_PYTHON] = tracker_on_python,
		[RECORD_PYTHON_CODE] = tracker_on_python_code,
		[RECORD_PYTHON_NAME] = tracker_on_python_name,
		[RECORD_PYTHON_CALLS] = tracker_on_python_calls,
		[RECORD_PYTHON_AWAIT] = tracker_on_python_await,
		[RECORD_PYTHON_CHAIN] = tracker_on_python_chain,
		[RECORD_TORCH_MODULE] = tracker_on_torch_module,
		[RECORD_GPU_KERNEL... RECORD_GPU_GAP] = tracker_on_gpu,
		[RECORD_GPU_MANAGED] = tracker_on_gpu,
		[RECORD_GPU_PC] = tracker_on_gpu_pc,
		[RECORD_GPU_PC_SUM] = tracker_on_gpu_pc_sum,
	};
	size_t type = (size_t)event->type;

	t->events++;
	if (type < sizeof(handlers) / sizeof(handlers[0]) && handlers[type])
		handlers[type](t, event);
}

// From time to time.

struct flush {
	struct tracker *tracker;
	uint64_t now_ns;
};

static void flush_thread(void *context, struct thread *thread)
{
	const struct flush *flush = context;

	if (!cpu_account_waits(thread) &&
	    cpu_account_clock(thread, flush->now_ns) > thread->sampled_ns + SILENT_NS)
		tracker_give_rest(flush->tracker, thread, flush->now_ns);
}

void tracker_flush(struct tracker *t, uint64_t now_ns)
{
	struct flush flush = { t, now_ns };

	if (!t->rules.kernel_samples && !t->rules.estimated)
		tasks_each_thread(t->tasks, flush_thread, &flush);
}

void tracker_probe(struct tracker *t, uint64_t now_ns)
{
	gpu_calls_flush(t->gpu, now_ns);
	if (t->off_cpu && t->tell_off_cpu)
		off_cpu_probe(t->off_cpu, t->tasks, now_ns);
	tracker_ask_again(t, now_ns);
}

static int until_ms(uint64_t due_ns, uint64_t now_ns, int limit_ms)
{
	uint64_t left_ns = due_ns > now_ns ? due_ns - now_ns : 0;

	return left_ns < (uint64_t)limit_ms * NS_PER_MS ? (int)(left_ns / NS_PER_MS) + 1 : limit_ms;
}

int tracker_timeout_ms(const struct tracker *t, uint64_t now_ns, int limit_ms)
{
	if (t->go_passes)
		limit_ms = until_ms(t->go_due_ns, now_ns, limit_ms);
	if (t->awaits.passes)
		limit_ms = until_ms(t->await_due_ns, now_ns, limit_ms);
	if (!t->off_cpu || !t->tell_off_cpu)
		return limit_ms;
	return off_cpu_timeout_ms(t->off_cpu, now_ns, limit_ms);
}

void tracker_finish(struct tracker *t, uint64_t now_ns)
{
	t->finishing = true;
	tracker_look_at_tasks(t, now_ns); // what the last pass has left is of what they do now
	gpu_calls_flush(t->gpu, UINT64_MAX);
	tracker_end_threads(t, NULL, NULL, now_ns);
}

uint64_t tracker_deep(const struct tracker *t)
{
	const struct unwinder_stats *stats = unwinder_stats(t->unwinder);

	return stats->joined + stats->truncated;
}

uint64_t tracker_events(const struct tracker *t)
{
	return t->events;
}

int tracker_check(const struct tracker *t, struct error *err)
{
	return t->no_memory ? error_set(err, ENOMEM, "could not follow the target") : 0;
}

void tracker_report(const struct tracker *t, struct sampler_status *status)
{
	const struct unwinder_stats *stats = unwinder_stats(t->unwinder);

	status->samples = t->samples;
	status->self_samples = t->rules.estimated ? 0 : t->self_samples;
	status->truncated = t->cut;
	status->joined = stats->joined;
	status->guessed = stats->guessed;
	status->libunwind_frames = stats->libunwind_frames;
	status->fp_frames = stats->fp_frames;
	status->probes = t->off_cpu ? off_cpu_probes(t->off_cpu) : 0;
	status->lost_ops = t->ops.unmatched;
	status->unseen_processes = t->unseen_processes;
	memcpy(status->unseen_name, t->unseen_name, sizeof(status->unseen_name));
	status->absences = t->absences;
	status->goroutines = t->goroutines;
	status->awaits = t->awaits;
}
