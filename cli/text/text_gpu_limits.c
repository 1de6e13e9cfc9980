// SPDX-License-Identifier: MIT
// What is not told of GPUs, or not whole.
#include "cli/text/text.h"

#include "base/op.h"
#include "cli/format.h"
#include "merge/query/query_gpu.h"
#include "merge/query/query_ops.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

// The number, and what follows if it is one, or more.
static const struct {
	const char *before, *one, *more;
} words[GPU_LOSSES] = {
	[GPU_LOST_DROPPED] = { "", " GPU record is missing: CUPTI had no buffer for it",
	                       " GPU records are missing: CUPTI had no buffers for them" },
	[GPU_LOST_NO_ROOM] = { "", " GPU record is missing: they came too fast",
	                       " GPU records are missing: they came too fast" },
	[GPU_LOST_UNKNOWN] = { "", " GPU record is of a kind that was not asked for",
	                       " GPU records are of kinds that were not asked for" },
	[GPU_LOST_DAMAGED] = { "",
	                       " buffer of GPU records was damaged: what came behind is missing",
	                       " buffers of GPU records were damaged: what came behind is missing" },
	[GPU_LOST_UNTIMED] = { "", " GPU activity has no times: CUPTI did not know them",
	                       " GPU activities have no times: CUPTI did not know them" },
	[GPU_LOST_REFUSED] = { "", " kind of GPU records is missing: this CUPTI does not tell it",
	                       " kinds of GPU records are missing: this CUPTI does not tell them" },
	[GPU_LOST_NAME] = { "", " kernel has lost its name: there are too many",
	                    " kernels have lost their names: there are too many" },
	[GPU_LOST_BUFFER] = { "CUPTI did not get ", " buffer that it wanted",
	                      " buffers that it wanted" },
	[GPU_LOST_CUBIN] = { "", " module of kernels has no lines here: it could not be kept",
	                     " modules of kernels have no lines here: they could not be kept" },
	[GPU_LOST_SAMPLED] = { "",
	                       " time the GPU's samples of instructions were lost: too many came",
	                       " times the GPU's samples of instructions were lost: too many came" },
};

static void say_doubts(const struct text *text, const struct gpu_facts *facts)
{
	if (facts->gap_count)
		text_say(
			text,
			"for %s (%s time%s) another client of CUPTI had the records of the GPU: what ran "
			"then is not in the tables",
			format_duration(facts->gap_ns).text, format_count(facts->gap_count).text,
			facts->gap_count == 1 ? "" : "s");
	if (facts->untied)
		text_say(text, "of %s GPU activities it is not known which call caused them",
		         format_count(facts->untied).text);
	if (facts->late)
		text_say(text,
		         "%s GPU activities were told more than 5 s late, in time taken for idle",
		         format_count(facts->late).text);
	if (facts->folded)
		text_say(text, "%s kernels had more launch shapes than are kept apart",
		         format_count(facts->folded).text);
	if (facts->lost)
		text_say(text, "%s GPU activities found no room in the profile",
		         format_count(facts->lost).text);
}

// Without a word to CUPTI.
static void print_killed(const struct text *text, const struct gpu_facts *facts)
{
	const struct run *run = profile_run(text->profile);

	if (facts->device_count && run->complete && WIFSIGNALED(run->exit_status))
		text_say(text, "the program was killed: what its GPUs did in the last 0.1 s or so "
		               "is missing");
}

// A note says why, unless nothing has moved.
static int say_managed(const struct text *text, struct error *err)
{
	const struct op_query query = { .by = OPS_BY_OP };
	cleanup(op_rows) struct op_rows *ops = query_ops(text->profile, &query, err);
	uint64_t calls = 0;

	if (!ops)
		return -1;
	for (size_t i = 0; i < ops->count; i++)
		if (strcmp(ops->rows[i].provider, op_provider_name(OP_CUDA)) == 0 &&
		    strstr(ops->rows[i].name,
		           "llocManaged")) // cudaMallocManaged, cuMemAllocManaged
			calls += ops->rows[i].calls;
	if (calls)
		text_say(
			text,
			"managed memory was allocated %s time%s: no page faults and migrations of it "
			"were recorded",
			format_count(calls).text, calls == 1 ? "" : "s");
	return 0;
}

int text_gpu_limits(const struct text *text, struct error *err)
{
	const struct query all = { .by = BY_FUNCTION };
	cleanup(gpu_facts) struct gpu_facts *facts = query_gpu_facts(text->profile, &all, err);

	if (!facts)
		return -1;
	for (int what = 1; what < GPU_LOSSES; what++) {
		uint64_t count = facts->losses[what];
		if (!count)
			continue;
		text_say(text, "%s%s%s", words[what].before, format_count(count).text,
		         count == 1 ? words[what].one : words[what].more);
	}
	say_doubts(text, facts);
	print_killed(text, facts);
	cleanup(gpu_managed_rows) struct gpu_managed_rows *managed =
		query_gpu_managed(text->profile, err);
	if (!managed)
		return -1;
	return facts->device_count && !managed->count ? say_managed(text, err) : 0;
}
