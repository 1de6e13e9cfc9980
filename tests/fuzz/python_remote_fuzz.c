// SPDX-License-Identifier: MIT
// Another process's memory may be anything: the input is all of it, again and again, so that most
// pointers lead somewhere. Its first word says where _PyRuntime is, whose version and which thread.
#include "sampler/python/python_remote.h"
#include "sampler/python/python_remote_names.h"

#include "base/code.h"
#include "base/python_layout.h"
#include "sampler/python/python.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
};

static bool read_input(void *context, uint64_t address, void *to, size_t size)
{
	struct input *input = context;
	uint8_t *out = to;
	size_t at = address % input->size;

	if (address >= UINT64_C(1) << 20)
		return false;
	// In pieces: byte by byte, the hooks of coverage take nine tenths of the time.
	for (size_t have = 0, piece; have < size; have += piece, at = 0) {
		piece = size - have < input->size - at ? size - have : input->size - at;
		memcpy(out + have, input->data + at, piece);
	}
	return true;
}

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct python_name_sink names = { take_name, NULL };
	static const struct python_tasks_wanted tasks = { 1, find_own, take_task, NULL };
	static struct remote_memory memory;
	struct input input = { data, size };
	struct python python = { 0 };
	uint16_t head[4];

	if (size < 64)
		return 0;
	memcpy(head, data, sizeof(head));
	struct event_python event = {
		.version = PYTHON_VERSION(8 + head[0] % 8),
		.runtime = 8 + head[1],
		.code_type = head[2],
		// Next to the code's, so that short inputs have some of them.
		.types = { head[2] + 1u, head[2] + 2u, head[2] + 3u, head[2] + 4u, head[2] + 5u,
		           head[2] + 6u },
	};
	struct python_remote *remote = python_remote_new();
	struct codes *codes = codes_new();
	python_begin(&python, &event);
	for (uint32_t tid = 0; remote && codes && tid < 3; tid++) {
		struct python_remote_thread who = { 1, head[3] + tid, 0, 0 };
		remote_memory_begin(&memory, read_input, &input);
		const struct python_chain *chain =
			python_remote_chain(remote, &python, codes, &memory, &who);
		if (chain && (!chain->count || chain->count > PYTHON_FRAMES_MAX))
			abort();
		python_remote_called(remote, &python, &memory, &names);
		python_remote_tasks(remote, &python, codes, &memory, &tasks);
		python_remote_is_gil(remote, head[3]);
		uint32_t holder;
		for (uint32_t i = 0; python_remote_gil(remote, &memory, i, &holder);)
			i++;
	}
	python_fini(&python);
	python_remote_free(remote);
	codes_free(codes);
	return 0;
}
