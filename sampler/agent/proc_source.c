// SPDX-License-Identifier: MIT
// Rung 4: neither perf events nor the agent. How long threads run and wait is in /proc, and blocked
// threads can be looked at from outside; where running ones are cannot be seen.
#include "sampler/agent/agent_source.h"

#include <stdio.h>

static struct source *open_proc(const struct source_request *request, struct error *err)
{
	if (request->attached)
		return NULL; // what runs is the question, and it cannot be seen
	struct source *source = agent_source_open(&proc_source, request, NULL, err);

	if (!source)
		return NULL;
	source->facts.frequency_hz = 0;
	snprintf(
		source->facts.note, sizeof(source->facts.note),
		"functions that run cannot be seen, only how long; where threads wait is looked up");
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
