// SPDX-License-Identifier: MIT
// The fake GPU under a client that keeps CUPTI's rules, and under one that does not.
#include "base/cleanup.h"
#include "tests/gpu/gpu_run.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

#define SETTINGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const char *const programs[] = { "vector_add", "copies",     "streams", "graphs",
	                                "gpu_bound",  "sync_happy", "idle",    "processes",
	                                "devices",    "churn",      "driver",  "launch_bound",
	                                "threads",    "managed",    "faults",  "variable" };
#define PROGRAMS (sizeof(programs) / sizeof(*programs))

static uint64_t count_of(const struct gpu_rows *rows, const char *key)
{
	const struct gpu_row *r = gpu_row(rows, key);

	return r ? r->count : 0;
}

Test(fake_gpu, each_program_is_seen_as_it_says)
{
	for (size_t i = 0; i < PROGRAMS; i++) {
		cleanup_free struct gpu_run *run =
			gpu_run(programs[i], SETTINGS(GPU_KINDS, "BATCHES=10"));
		gpu_run_expect(run, programs[i]);
	}
}

Test(fake_gpu, each_release_of_cuda_tells_the_same)
{
	static const char *const releases[] = { "11.2", "11.4", "11.6", "11.8", "12.0",
		                                "12.2", "12.4", "12.8", "12.9", "13.0" };

	for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++) {
		char setting[64];
		snprintf(setting, sizeof(setting), "FAKE_CUPTI_VERSION=%s", releases[i]);
		cleanup_free struct gpu_run *run = gpu_run("copies", SETTINGS(GPU_KINDS, setting));
		gpu_run_expect(run, releases[i]);
		cleanup_free struct gpu_run *peers =
			gpu_run("devices", SETTINGS(GPU_KINDS, setting, "FAKE_DEVICES=3"));
		gpu_run_expect(peers, releases[i]);
	}
}

Test(fake_gpu, a_release_has_no_kinds_that_came_later)
{
	cleanup_free struct gpu_run *run =
		gpu_run("vector_add", SETTINGS("CLIENT_KINDS=10,49,51", "FAKE_CUPTI_VERSION=11.0"));

	cr_expect(eq(u64, count_of(&run->seen, "refused cuptiActivityEnable=21"), 2));
	cr_expect(eq(u64, count_of(&run->seen, "kernel vector_add_us"), 1));
}

Test(fake_gpu, a_graph_is_told_of_as_one_where_that_is_enabled)
{
	cleanup_free struct gpu_run *run = gpu_run("graphs", SETTINGS("CLIENT_KINDS=10,51"));
	const struct gpu_row *truth = gpu_row(&run->truth, "graph");
	const struct gpu_row *seen = gpu_row(&run->seen, "graph");

	cr_assert(truth && seen);
	cr_expect(eq(u64, seen->count, truth->count));
	cr_expect(eq(u64, seen->amount, truth->amount));
	cr_expect(eq(u64, count_of(&run->seen, "kernel captured_us"), 0));
}

Test(fake_gpu, only_what_was_enabled_is_told)
{
	cleanup_free struct gpu_run *run = gpu_run("copies", SETTINGS("CLIENT_KINDS="));

	cr_expect(eq(u64, count_of(&run->seen, "records"), 0));
	cr_expect(eq(u64, count_of(&run->facts, "callbacks"), 0)); // it launches nothing
	cleanup_free struct gpu_run *launches =
		gpu_run("launch_bound", SETTINGS("CLIENT_KINDS=", "LAUNCHES=100"));
	cr_expect(eq(u64, count_of(&launches->facts, "callbacks"), 200));
}

Test(fake_gpu, calls_are_told_in_cuptis_order)
{
	cleanup_free struct gpu_run *run = gpu_run(
		"launch_bound", SETTINGS("CLIENT_KINDS=", "CLIENT_NESTING=1", "LAUNCHES=100"));

	cr_expect(eq(u64, count_of(&run->seen, "nested"), 100));
	cr_expect(eq(u64, count_of(&run->seen, "misnested"), 0));
	cr_expect(eq(u64, count_of(&run->seen, "symbol short_us"), 100));
}

Test(fake_gpu, each_rule_that_is_broken_is_noticed)
{
	// Where a buffer is asked for while another is on its way back, many small ones are.
	static const struct {
		const char *rule, *told, *faults;
	} rules[] = {
		{ "CLIENT_BREAK=order", "before the timestamp callback", "" },
		{ "CLIENT_BREAK=alignment", "not aligned to 8", "" },
		{ "CLIENT_BREAK=zeros", "not zeroed, as was promised", "" },
		{ "CLIENT_BREAK=twice", "overlaps one that is not yet back", "short=512" },
		{ "CLIENT_BREAK=touch", "written to before it was back", "" },
		{ "CLIENT_BREAK=reentry", "called from a callback", "" },
		{ "CLIENT_KINDS=3", "run one after the other", "" },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		char faults[64];
		snprintf(faults, sizeof(faults), "FAKE_CUPTI_FAULTS=%s", rules[i].faults);
		cleanup_free struct gpu_run *run =
			gpu_run("launch_bound", SETTINGS("CLIENT_KINDS=10,5", "LAUNCHES=1000",
		                                         faults, rules[i].rule));
		cr_expect(strstr(run->broken, rules[i].told) != NULL, "%s: \"%s\" is not in: %s",
		          rules[i].rule, rules[i].told, run->broken);
	}
}

Test(fake_gpu, faults_are_had_and_the_program_does_not_notice)
{
	static const struct {
		const char *fault, *row;
		uint64_t count;
	} faults[] = {
		{ "busy=nsys", "refused cuptiSubscribe_v2=39", 1 },
		{ "busy=nsys", "other nsys", 1 },
		{ "deny=10", "refused cuptiActivityEnable=35", 1 },
		{ "result=999", "refused cuptiSubscribe_v2=999", 1 },
		{ "refuse=43", "refused cuptiActivityEnable=43", 2 },
		{ "refuse=40", "refused cuptiActivityEnable=40", 2 },
		{ "no-clock=14", "refused cuptiActivityRegisterTimestampCallback=14", 1 },
		// 1,000 kernels and 1,001 calls
		{ "drop=10", "dropped", 200 },
		{ "zero-times", "untimed", 1000 },
		{ "unknown-kind=100", "unknown:77", 20 },
		{ "short=4096", "kernel short_us", 1000 },
		{ "misaligned", "kernel short_us", 1000 },
		{ "null-buffer", "kernel short_us", 1000 },
		{ "slow-flush=100", "kernel short_us", 1000 },
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		char setting[96];
		snprintf(setting, sizeof(setting), "FAKE_CUPTI_FAULTS=%s", faults[i].fault);
		cleanup_free struct gpu_run *run = gpu_run(
			"launch_bound", SETTINGS("CLIENT_KINDS=10,5", "LAUNCHES=1000", setting));
		cr_expect(run->status == 0, "%s: status %d", setting, run->status);
		cr_expect(run->broken[0] == 0, "%s: %s", setting, run->broken);
		cr_expect(eq(u64, count_of(&run->truth, "kernel short_us"), 1000));
		cr_expect(count_of(&run->seen, faults[i].row) == faults[i].count, "%s: \"%s\" %lu",
		          setting, faults[i].row, count_of(&run->seen, faults[i].row));
	}
}

Test(fake_gpu, faults_whose_extent_depends_on_the_buffers_are_had)
{
	static const struct {
		const char *fault, *row;
	} faults[] = {
		{ "disorder,short=4096", "disorder" },
		{ "bad-kind=50", "bad" },
		{ "garbage", "garbage" },
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		char setting[96];
		snprintf(setting, sizeof(setting), "FAKE_CUPTI_FAULTS=%s", faults[i].fault);
		cleanup_free struct gpu_run *run = gpu_run(
			"launch_bound", SETTINGS("CLIENT_KINDS=10,5", "LAUNCHES=1000", setting));
		cr_expect(run->status == 0, "%s: status %d", setting, run->status);
		cr_expect(count_of(&run->seen, faults[i].row) > 0, "%s: no \"%s\"", setting,
		          faults[i].row);
	}
}

Test(fake_gpu, a_client_without_buffers_loses_records_that_are_counted)
{
	cleanup_free struct gpu_run *run = gpu_run(
		"launch_bound", SETTINGS("CLIENT_KINDS=10", "LAUNCHES=1000", "CLIENT_NULL=1"));

	cr_expect(eq(u64, count_of(&run->seen, "dropped"), 1000));
	cr_expect(eq(u64, count_of(&run->seen, "records"), 0));
}

Test(fake_gpu, an_older_libcupti_lacks_what_is_new_and_a_broken_one_what_is_needed)
{
	cleanup_free struct gpu_run *older =
		gpu_run("vector_add", SETTINGS(GPU_KINDS, "FAKE=older"));
	gpu_run_expect(older, "older");
	cr_expect(eq(u64, count_of(&older->seen, "missing cuptiSubscribe_v2"), 1));
	cleanup_free struct gpu_run *broken =
		gpu_run("vector_add", SETTINGS(GPU_KINDS, "FAKE=broken"));
	cr_expect(eq(int, broken->status, 0));
	cr_expect(eq(u64, count_of(&broken->seen, "missing cuptiGetCallbackName"), 1));
}

Test(fake_gpu, a_million_records_are_all_delivered)
{
	cleanup_free struct gpu_run *run =
		gpu_run("launch_bound", SETTINGS("CLIENT_KINDS=10,38", "LAUNCHES=1000000", "US=1"));

	gpu_run_expect(run, "a million");
	cr_expect(eq(u64, count_of(&run->seen, "records"), 1000001));
	cr_expect(eq(u64, count_of(&run->facts, "dropped"), 0));
	cr_expect(eq(u64, count_of(&run->facts, "undelivered"), 0));
}

Test(fake_gpu, waiting_for_the_gpu_takes_as_long_as_its_work)
{
	cleanup_free struct gpu_run *run = gpu_run("gpu_bound", SETTINGS(GPU_KINDS));

	cr_expect(run->seconds >= 0.5, "100 kernels of 5 ms took %g s", run->seconds);
}

Test(fake_gpu, saved_buffers_are_delivered_again)
{
	char save[] = "CLIENT_SAVE=/tmp/fake_gpu_test.XXXXXX", replay[64];
	int fd = mkstemp(save + strlen("CLIENT_SAVE="));

	cr_assert(fd >= 0);
	close(fd);
	snprintf(replay, sizeof(replay), "FAKE_CUPTI_REPLAY=%s", save + strlen("CLIENT_SAVE="));
	cleanup_free struct gpu_run *first =
		gpu_run("vector_add", SETTINGS(GPU_KINDS, save, "FAKE_CUPTI_VERSION=12.4"));
	cleanup_free struct gpu_run *again =
		gpu_run("launch_bound", SETTINGS("CLIENT_KINDS=", "LAUNCHES=1", replay));
	unlink(save + strlen("CLIENT_SAVE="));
	gpu_run_expect(first, "first");
	cr_expect(again->broken[0] == 0, "%s", again->broken);
	cr_expect(eq(u64, count_of(&again->seen, "kernel short_us"), 0));
	for (size_t i = 0; i < first->seen.count; i++) {
		const struct gpu_row *was = &first->seen.rows[i];
		const struct gpu_row *is = gpu_row(&again->seen, was->key);
		cr_expect(is && is->count == was->count && is->amount == was->amount,
		          "\"%s\" %lu %lu", was->key, was->count, was->amount);
	}
}
