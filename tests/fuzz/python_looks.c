// SPDX-License-Identifier: MIT
#include "tests/fuzz/python_looks.h"

#include "base/code.h"
#include "sampler/python/python.h"
#include "sampler/python/python_remote.h"
#include "sampler/python/python_remote_names.h"

#include <stdlib.h>
#include <string.h>

static void take_name(void *context, uint64_t address, const char *name)
{
	(void)context, (void)address;
	if (strlen(name) > 255)
		abort();
}

static void take_task(void *context, const struct python_task *task)
{
	(void)context;
	if (!task->count || task->count > PYTHON_TASK_FRAMES)
		abort();
}

static bool find_own(uint32_t pid, struct python_tasks_own *out)
{
	(void)pid;
	*out = (struct python_tasks_own){ .task = { 200, .coroutine = 32, .node = 16 },
		                          .interpreter = { 400, 48 },
		                          .thread = { 400, .head = 40 } };
	return true;
}

void python_looks(const struct event_python *event, uint32_t tid, remote_read_function *read,
                  void *context)
{
	static const struct python_name_sink names = { take_name, NULL };
	static const struct python_tasks_wanted tasks = { 1, find_own, take_task, NULL };
	static struct remote_memory memory;
	struct python python = { 0 };
	struct python_remote *remote = python_remote_new();
	struct codes *codes = codes_new();

	python_begin(&python, event);
	for (uint32_t i = 0; remote && codes && i < 3; i++) {
		struct python_remote_thread who = { .pid = 1, .tid = tid + i };
		remote_memory_begin(&memory, read, context);
		const struct python_chain *chain =
			python_remote_chain(remote, &python, codes, &memory, &who);
		if (chain && (!chain->count || chain->count > PYTHON_FRAMES_MAX))
			abort();
		python_remote_called(remote, &python, &memory, &names);
		python_remote_tasks(remote, &python, codes, &memory, &tasks);
		python_remote_is_gil(remote, tid);
		uint32_t holder;
		for (uint32_t k = 0; python_remote_gil(remote, &memory, k, &holder);)
			k++;
	}
	python_fini(&python);
	python_remote_free(remote);
	codes_free(codes);
}
