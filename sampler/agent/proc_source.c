// SPDX-License-Identifier: MIT
// Rung 4: neither perf events nor the agent. How long threads run and wait is in /proc, and blocked
// threads can be looked at from outside; where running ones are cannot be seen.
#include "sampler/agent/agent_source.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

// What can be seen is in its memory.
static bool may_read(const struct source_request *request, struct error *err)
{
	char path[64];

	for (size_t i = 0; i < request->attached_count; i++) {
		snprintf(path, sizeof(path), "/proc/%d/mem", (int)request->attached[i]);
		cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			continue;
		error_set(err, errno, "the memory of process %d cannot be read",
		          (int)request->attached[i]);
		if (errno == EACCES || errno == EPERM)
			error_hint(err,
			           "Run bottleneck as root, or set kernel.yama.ptrace_scope to 0 "
			           "and allow perf_event_open.");
		return false;
	}
	return true;
}

static struct source *open_proc(const struct source_request *request, struct error *err)
{
	if (!may_read(request, err))
		return NULL;
	struct source *source = agent_source_open(&proc_source, request, NULL, err);

	if (!source)
		return NULL;
	source->facts.frequency_hz = 0;
	snprintf(
		source->facts.note, sizeof(source->facts.note),
		"functions that run cannot be seen, only how long%s; where threads wait is looked up",
		request->attached ? ", but for Python's" : "");
	return source;
}

const struct source_ops proc_source = {
	.rung = RUNG_PROC,
	.open = open_proc,
	.close = agent_source_close,
	.fd = agent_source_fd,
	.timeout_ms = agent_source_timeout_ms,
	.next = agent_source_next,
	.lost = agent_source_lost,
};
