// SPDX-License-Identifier: MIT
#include "base/metric.h"

static const struct {
	const char *key;
	const char *name;
} metrics[METRIC_COUNT] = {
	[METRIC_ON_CPU] = { "on_cpu", "on CPU" },
	[METRIC_OFF_RUNNABLE] = { "runnable", "a free CPU" },
	[METRIC_OFF_LOCK] = { "lock", "locks" },
	[METRIC_OFF_FILE] = { "file", "files" },
	[METRIC_OFF_NET] = { "net", "sockets and polls" },
	[METRIC_OFF_PIPE] = { "pipe", "pipes" },
	[METRIC_OFF_SLEEP] = { "sleep", "sleep" },
	[METRIC_OFF_FAULT] = { "fault", "page faults" },
	[METRIC_OFF_CHILD] = { "child", "children" },
	[METRIC_OFF_GPU] = { "gpu", "the GPU" },
	[METRIC_OFF_STOPPED] = { "stopped", "being stopped" },
	[METRIC_OFF_OTHER] = { "other", "something unknown" },
};

const char *metric_name(enum metric metric)
{
	return (unsigned)metric < METRIC_COUNT ? metrics[metric].name : "?";
}

const char *metric_key(enum metric metric)
{
	return (unsigned)metric < METRIC_COUNT ? metrics[metric].key : "?";
}
