// SPDX-License-Identifier: MIT
#include "sampler/task/tasks.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 256

struct tasks {
	struct process **processes; // by pid
	struct thread **threads;    // by tid
	size_t bucket_count;        // of either table, a power of two
	size_t live_threads;
	uint32_t process_numbers, thread_numbers; // given out so far
};

struct tasks *tasks_new(void)
{
	struct tasks *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->bucket_count = FIRST_BUCKETS;
	t->processes = calloc(t->bucket_count, sizeof(struct process *));
	t->threads = calloc(t->bucket_count, sizeof(struct thread *));
	if (!t->processes || !t->threads) {
		tasks_free(t);
		return NULL;
	}
	return t;
}

static void free_thread(struct thread *thread)
{
	free(thread->off_cpu.frames);
	free(thread->off_cpu.python.frames);
	wait_piles_fini(&thread->off_cpu.python.piles);
	wait_piles_fini(&thread->off_cpu.ready);
	free(thread->cpu.last.frames);
	free(thread->cpu.kernel.frames);
	op_stack_fini(&thread->ops);
	last_stack_fini(&thread->last);
	free(thread->kernel_chain.addresses);
	free(thread);
}

void await_watch_fini(struct await_watch *w)
{
	free(w->known);
	free(w->now);
	*w = (struct await_watch){ 0 };
}

static void free_process(struct process *process)
{
	address_space_free(process->space);
	op_sites_fini(&process->sites);
	patches_fini(&process->patches);
	python_fini(&process->python);
	whole_stacks_fini(&process->whole);
	go_remote_free(process->go.remote);
	await_watch_fini(&process->tasks);
	free(process);
}

void tasks_free(struct tasks *t)
{
	if (!t)
		return;
	for (size_t i = 0; t->processes && t->threads && i < t->bucket_count; i++) {
		for (struct thread *thread; (thread = t->threads[i]);) {
			t->threads[i] = thread->next;
			free_thread(thread);
		}
		for (struct process *process; (process = t->processes[i]);) {
			t->processes[i] = process->next;
			free_process(process);
		}
	}
	free(t->processes);
	free(t->threads);
	free(t);
}

static size_t bucket_of(const struct tasks *t, uint32_t id)
{
	return hash_mix(id) & (t->bucket_count - 1);
}

static void link_thread(struct tasks *t, struct thread *thread)
{
	struct thread **bucket = &t->threads[bucket_of(t, thread->tid)];

	thread->next = *bucket;
	*bucket = thread;
}

static void link_process(struct tasks *t, struct process *process)
{
	struct process **bucket = &t->processes[bucket_of(t, process->pid)];

	process->next = *bucket;
	*bucket = process;
}

// Longer chains are slower, not wrong: where there is no memory to grow, stay.
static void grow(struct tasks *t)
{
	struct tasks old = *t;
	size_t count = old.bucket_count * 2;
	struct process **processes = calloc(count, sizeof(struct process *));
	struct thread **threads = calloc(count, sizeof(struct thread *));

	if (!processes || !threads) {
		free(processes);
		free(threads);
		return;
	}
	t->bucket_count = count;
	t->processes = processes;
	t->threads = threads;
	for (size_t i = 0; i < old.bucket_count; i++) {
		for (struct thread *thread; (thread = old.threads[i]);) {
			old.threads[i] = thread->next;
			link_thread(t, thread);
		}
		for (struct process *process; (process = old.processes[i]);) {
			old.processes[i] = process->next;
			link_process(t, process);
		}
	}
	free(old.processes);
	free(old.threads);
}

struct process *tasks_find_process(struct tasks *t, uint32_t pid)
{
	struct process *process = t->processes[bucket_of(t, pid)];

	while (process && process->pid != pid)
		process = process->next;
	return process;
}

struct thread *tasks_find_thread(struct tasks *t, uint32_t pid, uint32_t tid)
{
	struct thread *thread = t->threads[bucket_of(t, tid)];

	while (thread && (thread->tid != tid || thread->process->pid != pid))
		thread = thread->next;
	return thread;
}

struct thread *tasks_find_tid(struct tasks *t, uint32_t tid)
{
	struct thread *thread = t->threads[bucket_of(t, tid)];

	while (thread && thread->tid != tid)
		thread = thread->next;
	return thread;
}

static struct process *add_process(struct tasks *t, uint32_t pid, uint64_t time_ns,
                                   struct address_space *space)
{
	struct process *process = calloc(1, sizeof(*process));

	if (!process || !space) {
		free(process);
		address_space_free(space);
		return NULL;
	}
	process->pid = pid;
	process->number = ++t->process_numbers;
	process->start_ns = time_ns;
	process->space = space;
	link_process(t, process);
	return process;
}

struct process *tasks_process(struct tasks *t, uint32_t pid, uint64_t time_ns)
{
	struct process *process = tasks_find_process(t, pid);

	return process ? process : add_process(t, pid, time_ns, address_space_new());
}

struct thread *tasks_thread(struct tasks *t, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	struct thread *thread = tasks_find_thread(t, pid, tid);
	if (thread)
		return thread;

	struct process *process = tasks_process(t, pid, time_ns);
	if (!process || !(thread = calloc(1, sizeof(*thread))))
		return NULL;
	thread->tid = tid;
	thread->number = ++t->thread_numbers;
	thread->process = process;
	thread->start_ns = time_ns;
	process->live_threads++;
	link_thread(t, thread);
	if (++t->live_threads > t->bucket_count)
		grow(t);
	return thread;
}

struct process *tasks_fork(struct tasks *t, struct process *parent, uint32_t pid, uint64_t time_ns)
{
	struct address_space *space = address_space_copy(parent->space);
	struct process *child = tasks_find_process(t, pid);

	if (child && space) {
		address_space_free(child->space);
		child->space = space;
	} else {
		child = add_process(t, pid, time_ns, space);
	}
	if (child) {
		child->parent = parent->number;
		child->program = parent->program;
		python_fork(&parent->python, &child->python);
		patches_copy(&child->patches, &parent->patches);
		memcpy(child->command, parent->command, sizeof(child->command));
		memcpy(child->title, parent->title, sizeof(child->title));
	}
	return child;
}

static void end_process(struct tasks *t, struct process *process)
{
	struct process **at = &t->processes[bucket_of(t, process->pid)];

	while (*at != process)
		at = &(*at)->next;
	*at = process->next;
	free_process(process);
}

void tasks_end_thread(struct tasks *t, struct thread *thread, bool *process_ended)
{
	struct process *process = thread->process;
	struct thread **at = &t->threads[bucket_of(t, thread->tid)];

	while (*at != thread)
		at = &(*at)->next;
	*at = thread->next;
	free_thread(thread);
	t->live_threads--;
	*process_ended = --process->live_threads == 0;
	if (*process_ended)
		end_process(t, process);
}

void tasks_each_thread(struct tasks *t, void (*visit)(void *context, struct thread *thread),
                       void *context)
{
	for (size_t i = 0; i < t->bucket_count; i++)
		for (struct thread *thread = t->threads[i]; thread; thread = thread->next)
			visit(context, thread);
}
