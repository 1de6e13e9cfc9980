// SPDX-License-Identifier: MIT
// The programs as nvcc builds them run on the fake GPU as they are, and are seen alike.
#include "base/cleanup.h"
#include "tests/gpu/gpu_run.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>

static void expect(const char *kind, const char *program)
{
	char path[PATH_MAX];

	if (!HAS_NVCC)
		cr_skip("nvcc is not there");
	snprintf(path, sizeof(path), "%s/%s/%s", GPU_DIR, kind, program);
	cleanup_free struct gpu_run *run = gpu_run(
		path, (const char *const[]){ GPU_KINDS, "FAKE_DEVICES=2", "BATCHES=10", NULL });
	gpu_run_expect(run, path);
}

Test(nvcc_programs, are_seen_as_they_say)
{
	static const char *const programs[] = {
		"vector_add", "copies",    "streams", "graphs",       "gpu_bound", "sync_happy",
		"idle",       "processes", "devices", "launch_bound", "churn",     "driver",
		"callers",    "threads",   "waits",   "managed",      "faults",    "variable"
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		expect("nvcc", programs[i]);
}

Test(nvcc_programs, with_a_default_stream_for_each_thread_are_seen_as_they_say)
{
	static const char *const programs[] = { "copies", "graphs", "launch_bound", "churn" };

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		expect("nvcc_per_thread", programs[i]);
}
