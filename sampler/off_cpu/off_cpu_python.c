// SPDX-License-Identifier: MIT
#include "sampler/off_cpu/off_cpu_python.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/namespaces.h"
#include "sampler/python/python_remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct off_cpu_python {
	struct codes *codes;
	struct remote_memory memory;
	struct python_stack placed;
};

struct off_cpu_python *off_cpu_python_new(struct codes *codes)
{
	struct off_cpu_python *p = calloc(1, sizeof(*p));

	if (p)
		p->codes = codes;
	return p;
}

void off_cpu_python_free(struct off_cpu_python *p)
{
	free(p);
}

bool off_cpu_python_may(const struct thread *thread)
{
	const struct python *python = &thread->process->python;

	return python->version && python->runtime;
}

uint32_t off_cpu_python_tid(struct thread *thread)
{
	char path[64], text[4096];
	struct namespace_pids pids;

	if (thread->inner_tid)
		return thread->inner_tid;
	thread->inner_tid = thread->tid;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", thread->process->pid, thread->tid);
	cleanup_fclose FILE *file = fopen(path, "re");
	size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	text[length] = '\0';
	if (namespaces_parse_pids(text, &pids))
		thread->inner_tid = pids.inner;
	return thread->inner_tid;
}

const struct python_chain *off_cpu_python_read(struct off_cpu_python *p, struct thread *thread,
                                               uint64_t sp, uint64_t *until_ns)
{
	struct python *python = &thread->process->python;
	int pid = (int)thread->process->pid;
	struct python_remote_thread who = { .pid = thread->process->pid,
		                            .tid = off_cpu_python_tid(thread),
		                            .forked_by = thread->forked_by,
		                            .sp = sp,
		                            .now_ns = clock_now_ns() };

	if (!python->remote)
		python->remote = python_remote_new();
	if (!python->remote)
		return NULL;
	remote_memory_begin(&p->memory, remote_memory_of_process, &pid);
	const struct python_chain *chain =
		python_remote_chain(python->remote, python, p->codes, &p->memory, &who);
	*until_ns = clock_now_ns();
	return chain;
}

void off_cpu_python_called(struct off_cpu_python *p, struct thread *thread,
                           const struct python_name_sink *sink)
{
	struct python *python = &thread->process->python;
	int pid = (int)thread->process->pid;

	if (!python->remote)
		return;
	remote_memory_begin(&p->memory, remote_memory_of_process, &pid);
	python_remote_called(python->remote, python, &p->memory, sink);
}

size_t off_cpu_python_place(struct off_cpu_python *p, struct thread *thread,
                            const struct python_chain *chain, struct frame *frames,
                            const uint64_t **sps, size_t count, size_t max, uint32_t *flags)
{
	struct process *process = thread->process;
	const struct python_native native = {
		.space = process->space, .frames = frames, .sps = *sps, .count = count
	};

	python_place(&process->python, chain, &native, &p->placed);
	if (p->placed.whole)
		*flags &= ~(uint32_t)STACK_TRUNCATED;
	count = p->placed.count < max ? p->placed.count : max;
	memcpy(frames, p->placed.frames, count * sizeof(*frames));
	*sps = p->placed.sps;
	return count;
}

bool off_cpu_python_gil(struct off_cpu_python *p, struct process *process, uint32_t i,
                        uint32_t *holder)
{
	int pid = (int)process->pid;

	remote_memory_begin(&p->memory, remote_memory_of_process, &pid);
	return python_remote_gil(process->python.remote, &p->memory, i, holder);
}

enum python_tasks_found off_cpu_python_tasks(struct off_cpu_python *p, struct process *process,
                                             const struct python_tasks_wanted *wanted)
{
	struct python *python = &process->python;
	int pid = (int)process->pid;

	if (!python->remote)
		python->remote = python_remote_new();
	if (!python->remote)
		return PYTHON_TASKS_NONE;
	remote_memory_begin(&p->memory, remote_memory_of_process, &pid);
	return python_remote_tasks(python->remote, python, p->codes, &p->memory, wanted);
}

bool off_cpu_python_is_gil(const struct thread *thread, uint64_t address)
{
	const struct python_remote *remote = thread->process->python.remote;

	return remote && python_remote_is_gil(remote, address);
}

uint64_t off_cpu_python_gil_step_ns(const struct thread *thread, uint64_t address)
{
	const struct python_remote *remote = thread->process->python.remote;

	return remote ? python_remote_gil_step_ns(remote, address) : 0;
}
