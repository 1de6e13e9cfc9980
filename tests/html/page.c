// SPDX-License-Identifier: MIT
/*
 * Writes a page of a made-up run for tests/html/check.py, which looks at it in a browser:
 *
 *	html_page small DIRECTORY   1.25 s of steps with a warm-up, names that want to be markup,
 *	                            a GPU, memory, source; every fourth sample is in "gemm"
 *	html_page big DIRECTORY     as many nodes, rows, threads and bins as there are in a page
 *	html_page empty DIRECTORY   a run of which nothing is known
 *
 * DIRECTORY gets page.html and, beside it, the source that the run is of.
 */
#include "base/error.h"
#include "base/record_gpu.h"
#include "cli/html/html.h"
#include "cli/report/view.h"
#include "tests/unit/merge_fixture.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTILE    "</script><img src=x onerror=\"document.title='owned'\">"
#define WARM_STEPS 5
#define WARM_MS    100
#define STEP_MS    10
#define STEPS      80
#define CHAINS     1800
#define CHAIN      32 // frames
#define THREADS    64
#define OPS        8000

static struct fixture f;
static char source[PATH_MAX];

static struct frame python(const char *name, const char *file, unsigned line)
{
	return frame_of_python(codes_add(f.codes, &(struct code){ file, name, 1 }), line);
}

static void add_frames(uint32_t thread, enum metric metric, uint64_t ms, struct frame *frames,
                       uint32_t count)
{
	profile_add_stack(f.profile,
	                  &(struct stack){ .thread = thread,
	                                   .metric = metric,
	                                   .time_ns = f.now_ns,
	                                   .duration_ns = metric_is_off_cpu(metric) ? ms * MS : 0,
	                                   .weight_ns = ms * MS,
	                                   .samples = 1,
	                                   .count = count,
	                                   .frames = frames });
}

static void add_op_call(const char *name, uint64_t begin_ns, uint64_t ms)
{
	profile_add_op(f.profile, &(struct op_event){ .thread = 1,
	                                              .op = op_called(&f, name),
	                                              .begin_ns = begin_ns,
	                                              .end_ns = begin_ns + ms * MS,
	                                              .self_ns = ms * MS });
}

// Of four samples two are in decode(), one in gemm and one in what has no decent name.
static void add_sample(uint64_t number)
{
	struct frame main = python("main", source, 8);
	struct frame decode[] = { python("decode", source, 3), main };
	struct frame gemm[] = { { op_called(&f, "gemm"), 0, FRAME_OP }, main };
	struct frame hostile[] = { python(HOSTILE, "/src/<b>&amp;.py", 7), main };
	struct frame *frames = number % 4 < 2 ? decode : number % 4 == 2 ? gemm : hostile;

	add_frames(1, METRIC_ON_CPU, 1, frames, 2);
}

static void add_kernel(uint64_t begin_ns)
{
	const struct op op = {
		.provider = OP_GPU, .domain = "", .category = "", .name = "gemm_kernel"
	};
	const struct record_gpu_kernel record = {
		.head = { .type = RECORD_GPU_KERNEL, .time_ns = begin_ns + 4 * MS },
		.begin_ns = begin_ns + MS,
		.end_ns = begin_ns + 4 * MS,
		.place = { 1, 0, 1, 7 },
		.grid = { 8, 1, 1 },
		.block = { 256, 1, 1 },
	};
	struct frame frames[] = { python("main", source, 8) };
	const struct gpu_site_event site = {
		.site = 1, .thread = 1, .time_ns = f.now_ns, .count = 1, .frames = frames
	};

	profile_add_gpu_site(f.profile, &site);
	profile_add_gpu(f.profile, &(struct gpu_event){ .process = 1,
	                                                .op = ops_add(f.ops, &op)->id,
	                                                .record = &record.head,
	                                                .call = { 1, 1, f.now_ns } });
}

// The host touches a page that is on the GPU, and a megabyte of it comes.
static void add_fault(uint64_t begin_ns)
{
	struct record_gpu_managed told = {
		.head = { .type = RECORD_GPU_MANAGED, .time_ns = begin_ns },
		.begin_ns = begin_ns,
		.end_ns = begin_ns,
		.address = 1 << 30,
		.kind = GPU_MANAGED_HOST_FAULT,
		.cause = GPU_MANAGED_READ,
		.device = GPU_MANAGED_HOST,
	};
	struct gpu_event event = { .process = 1, .record = &told.head };

	frames_of(&f, "take_results results.c:12", &event.code);
	profile_add_gpu(f.profile, &event);
	told.end_ns += MS;
	told.kind = GPU_MANAGED_TO_HOST;
	told.cause = GPU_MANAGED_ACCESS;
	told.device = 0;
	told.value = 1 << 20;
	profile_add_gpu(f.profile, &event);
}

static void allocate(uint64_t address, uint64_t bytes)
{
	struct frame frames[] = { python("decode", source, 4), python("main", source, 8) };

	profile_add_alloc(f.profile, &(struct alloc_event){ .thread = 1,
	                                                    .time_ns = f.now_ns,
	                                                    .address = address,
	                                                    .bytes = bytes,
	                                                    .weight_bytes = bytes,
	                                                    .count = 2,
	                                                    .frames = frames });
}

static void make_small(void)
{
	uint64_t sample = 0;

	add_thread(&f, 2, 1, 101, HOSTILE);
	for (int step = 0; step < STEPS; step++) {
		uint64_t ms = step < WARM_STEPS ? WARM_MS : STEP_MS;
		uint64_t begin_ns = f.now_ns;
		add_kernel(begin_ns);
		add_fault(begin_ns);
		allocate(0x1000 + 16 * (uint64_t)step, 1 << 20);
		add_frames(2, METRIC_OFF_LOCK, ms / 2,
		           (struct frame[]){ python("wait_for", source, 6) }, 1);
		for (uint64_t i = 0; i < ms; i++) {
			add_sample(sample++);
			f.now_ns += MS;
		}
		add_op_call("train step", begin_ns, ms);
		add_op_call(HOSTILE, begin_ns, 1);
	}
	profile_end_gpu(f.profile);
}

// Paths that branch at their outer end and go deep.
static void add_chain(unsigned chain)
{
	struct frame frames[CHAIN];
	char name[128], file[96];

	for (unsigned depth = 0; depth < CHAIN; depth++) {
		unsigned branch = depth < 4 ? chain % (7u << depth) : chain;
		snprintf(name, sizeof(name),
		         "a_function_with_a_name_of_usual_length_%u_of_one_branch_%u_of_many",
		         depth, branch);
		snprintf(file, sizeof(file), "/src/some/where/package_%u/module_%u.py", branch % 40,
		         depth);
		frames[CHAIN - 1 - depth] = python(name, file, 1 + chain % 500);
	}
	add_frames(1 + chain % THREADS, chain % 3 ? METRIC_ON_CPU : METRIC_OFF_FILE, 2 + chain % 5,
	           frames, CHAIN);
}

static void make_big(void)
{
	char name[64];

	for (uint32_t i = 2; i <= THREADS; i++) {
		snprintf(name, sizeof(name), "thread %u", i);
		add_thread(&f, i, 1, 100 + i, name);
	}
	for (int step = 0; step < STEPS; step++) {
		uint64_t begin_ns = f.now_ns;
		uint64_t ms = step < WARM_STEPS ? 1000 : 100;
		for (unsigned i = 0; i < CHAINS; i++) {
			add_chain(i);
			f.now_ns += ms * MS / CHAINS;
		}
		f.now_ns = begin_ns + ms * MS;
		add_op_call("train step", begin_ns, ms);
	}
	for (int i = 0; i < OPS; i++) {
		snprintf(name, sizeof(name), "an operation with a long name, %d", i);
		add_op_call(name, f.now_ns - 50 * MS, 1 + (uint64_t)i % 40);
	}
}

#define TEN                                                                                        \
	"1000001, 1000002, 1000003, 1000004, 1000005, 1000006, 1000007, 1000008, 1000009, 1000010, "

static void write_source(void)
{
	static const char *const lines[] = {
		"# what the run is of",
		"def decode(item):",
		"    return \"</script><b>\" + item  # \xe2\x9c\x93",
		"    # allocates",
		"",
		"def wait_for(): pass",
		"def main():",
		"    decode(next(items))",
		"",
		"wider_than_a_window = [" TEN TEN TEN TEN "]",
	};
	FILE *file = fopen(source, "w");

	for (size_t i = 0; file && i < sizeof(lines) / sizeof(lines[0]); i++)
		fprintf(file, "%s\n", lines[i]);
	if (!file || fclose(file) != 0)
		exit(1);
}

static int write_page(const char *directory)
{
	char path[PATH_MAX];
	struct error err = { .text = "" };
	const struct view view = view_default();

	snprintf(path, sizeof(path), "%s/page.html", directory);
	FILE *out = fopen(path, "w");
	if (!out || html_write(f.profile, &view, NULL, NULL, "", out, &err) < 0 ||
	    fclose(out) != 0) {
		fprintf(stderr, "could not write \"%s\": %s\n", path, err.text);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	snprintf(source, sizeof(source), "%s/train.py", argv[2]);
	write_source();
	fixture_init(&f, NULL);
	uint64_t start_ns = f.now_ns;
	if (strcmp(argv[1], "small") == 0)
		make_small();
	else if (strcmp(argv[1], "big") == 0)
		make_big();
	const struct run run = {
		.command = "./app '" HOSTILE "'",
		.directory = argv[2],
		.host = "host",
		.version = "0",
		.start_realtime_ns = UINT64_C(1700000000000000000),
		.start_ns = start_ns,
		.wall_ns = f.now_ns - start_ns,
		.cpus = 4,
		.frequency_hz = 1000,
		.samples = 1250,
		.complete = true,
	};
	if (profile_set_run(f.profile, &run, NULL) < 0)
		return 1;
	name_all(&f);
	int failed = write_page(argv[2]);
	fixture_fini(&f);
	return failed;
}
