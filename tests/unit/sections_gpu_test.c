// SPDX-License-Identifier: MIT
// What every format shows of GPUs.
#include "tests/support/expect.h"
#include "tests/unit/fake_profile.h"
#include "tests/unit/fake_units.h"
#include "tests/unit/made_section.h"

#include <string.h>

TestSuite(sections_gpu, .init = made_begin, .fini = made_end);

static struct gpu_row works[] = {
	{ .name = "void gemm<float, 128>(float*, int)",
	  .kind = GPU_WORK_KERNEL,
	  .calls = 40,
	  .total_ns = MS(80),
	  .average_ns = MS(2),
	  .median_ns = MS(2),
	  .max_ns = MS(5),
	  .shape = { .grid = { 8, 2, 1 },
	             .block = { 256, 1, 1 },
	             .registers = 32,
	             .static_shared = 1024,
	             .dynamic_shared = 512 },
	  .shapes = 2,
	  .occupancy = 0.5,
	  .limit = GPU_LIMIT_SHARED,
	  .tensor_cores = true,
	  .function = "train",
	  .file = "/src/train.cu",
	  .line = 88 },
	{ .name = "copy host to device",
	  .kind = GPU_WORK_COPY,
	  .calls = 3,
	  .total_ns = MS(20),
	  .average_ns = US(6667),
	  .bytes = 4096,
	  .bytes_per_s = 2.5e9,
	  .direction = GPU_COPY_HOST_TO_DEVICE,
	  .from = GPU_MEMORY_PAGEABLE,
	  .to = GPU_MEMORY_DEVICE,
	  .async = true },
};

static struct gpu_device_row devices[] = {
	{ .name = "H100",
	  .process = "",
	  .multiprocessors = 132,
	  .compute_major = 9,
	  .memory_bytes = MB(80),
	  .peak_bytes = MB(8),
	  .peak_within = true,
	  .span_ns = MS(200),
	  .busy_ns = MS(100),
	  .kernel_ns = MS(80),
	  .copy_ns = MS(20),
	  .copy_hidden_ns = MS(5),
	  .streams = 1 },
	{ .name = "", .process = "rank 1", .number = 1, .streams = 1 },
};

static struct row thread = { .name = "loader", .id = 4712, .self = MS(30) };
static struct row functions[] = {
	{ .name = "decode(char const*)",
	  .file = "/src/load.c",
	  .line = 12,
	  .module = "/opt/app",
	  .self = MS(30),
	  .self_ns = { [METRIC_ON_CPU] = MS(10), [METRIC_OFF_FILE] = MS(20) } },
	{ .name = "rare", .module = "/opt/app", .self = 1 },
};
static struct rows by_thread = { .rows = &thread, .count = 1 };
static struct rows by_function = { .rows = functions, .count = 2 };

static struct profile *profile(size_t gpus)
{
	struct profile *p = fake_profile_with_gpu();

	p->gpu = (struct gpu_rows){ .rows = works, .count = 2, .total_ns = MS(100), .calls = 43 };
	p->gpu_facts = (struct gpu_facts){ .devices = devices,
		                           .device_count = gpus,
		                           .latency_ns = US(10),
		                           .latency90_ns = US(90),
		                           .queue = 1.5,
		                           .sync_count = 1,
		                           .sync_ns = MS(7) };
	p->gpu_wait = (struct gpu_wait){ .span_ns = MS(200),
		                         .idle_ns = MS(80),
		                         .told_ns = MS(30),
		                         .runnable_ns = MS(10),
		                         .functions = &by_function,
		                         .threads = &by_thread };
	return p;
}

Test(sections_gpu, the_report_shows_the_gpu_what_it_ran_and_what_it_waited_for)
{
	cr_expect_str_eq(
		made_text(made_section(profile(1), READER_TEXT, section_gpu)),
		"GPU: H100, 132 multiprocessors, compute 9.0\n"
		"> busy 50.0 % of the 200 ms from its first activity to its last: kernels 40.0 %, "
		"copies 10.0 %\n"
		"> 25.0 % of the time of copies was hidden behind kernels\n"
		"> memory: at most 8.0 MB of 80 MB (10.0 %) allocated by the program\n"
		"> from the call to its beginning: median 10.0 us, 90 % below 90.0 us; 1.5 activities "
		"were in the queue on average\n"
		"> the program waited 1 time for the GPU, for 7.00 ms in all\n"
		"GPU kernels and copies by time: exact; % of their 100 ms\n"
		"80000000 | 80000000/100000000 | 40 | 2000000 | 2000000 | ? | ? | gemm<float, 128> "
		"| /src/train.cu:88\n"
		"20000000 | 20000000/100000000 | 3 | 6667000 | ? | 4096 | 2.5 | copy host to "
		"device (async) | ?\n"
		"GPU idle: what the thread did that launched what came next\n"
		"> idle 80.0 ms: 100.0 % of that while thread loader (4712) prepared the next "
		"work\n"
		"> 25.0 % of the idle time that thread waited for a free CPU, wherever it was: "
		"shares are of the rest\n"
		"60000000 | 30000000/30000000 | file wait | decode (load.c:12)\n");
}

Test(sections_gpu, several_have_numbers_and_what_is_of_all_has_a_title)
{
	const struct section *s = made_section(profile(2), READER_TEXT, section_gpu);

	cr_expect_str_eq(s->subtitle, "0: H100, 132 multiprocessors, compute 9.0");
	cr_expect_str_eq(s->next->subtitle, "1 of rank 1: unknown device");
	cr_expect_str_eq(s->next->notes->words, "nothing ran on it");
	cr_expect_str_eq(s->next->next->title, "GPUs");
	const char *text = made_text(s);
	cr_expect(strstr(text, "\nGPU 0 idle: ") != NULL, "%s", text);
	cr_expect(strstr(text, "\nGPU 1 of rank 1 idle: ") != NULL, "%s", text);
}

Test(sections_gpu, streams_and_launches_are_for_who_wants_more)
{
	const char *text = made_text(made_section(profile(2), READER_TEXT, section_gpu));

	cr_expect(strstr(text, "GPU streams") == NULL, "%s", text);
	cr_expect(strstr(text, "GPU launches") == NULL, "%s", text);
	made_view.verbose = true;
	text = made_text(made_section(profile(2), READER_TEXT, section_gpu));
	cr_expect(strstr(text, "\n28010000000 | 28010000000/40000000000 | "
	                       "4040000000/28010000000 | 12000 | 40 | GPU 0, process 4711, "
	                       "stream 7\n") != NULL,
	          "%s", text);
	cr_expect(strstr(text, "\n8x2 | 256 | 32 | 1536 | 0.5 | shared mem | ? | yes | 2 | "
	                       "gemm<float, 128>\n") != NULL,
	          "%s", text);
}

Test(sections_gpu, kernels_alone_have_their_launches_and_no_gpu_is_said)
{
	struct profile *p = profile(1);
	const char *text = made_text(made_section(p, READER_TEXT, section_gpu_kernels));

	cr_expect(strstr(text, "GPU launches") != NULL, "%s", text);
	p->gpu.count = 0;
	text = made_text(made_section(p, READER_TEXT, section_gpu_kernels));
	cr_expect(strncmp(text, "> no GPU: ", 10) == 0, "%s", text);
	made_view.to_ns = MS(3);
	text = made_text(made_section(p, READER_TEXT, section_gpu_kernels));
	cr_expect_str_eq(text, "> no GPU ran anything in this part of the run\n");
}

Test(sections_gpu, medians_of_a_window_are_said_to_be_of_the_whole_run)
{
	const struct section *s = made_section(profile(1), READER_TEXT, section_gpu_kernels);

	cr_expect(section_column(s, "median_ns")->legend == NULL);
	made_view.to_ns = MS(3);
	s = made_section(profile(1), READER_TEXT, section_gpu_kernels);
	cr_expect_str_eq(section_column(s, "median_ns")->legend, "medians of the whole run");
}

Test(sections_gpu, programs_get_what_ran_with_all_that_is_known)
{
	cr_expect_str_eq(
		made_text(made_section(profile(1), READER_SHEET, section_all_gpu_work)),
		"GPU kernels and copies: exact\n"
		"void gemm<float, 128>(float*, int) | kernel | 40 | 0 | 80000000 | "
		"80000000/100000000 | 2000000 | ? | 2000000 | 5000000 | ? | ? | ? | ? | 8x2x1 | "
		"256x1x1 | 2 | 32 | 0.5 | shared-memory | 0 | yes | train | /src/train.cu | 88\n"
		"copy host to device | copy | 3 | 0 | 20000000 | 20000000/100000000 | 6667000 | ? "
		"| ? | ? | 4096 | host-to-device | pageable | device | ? | ? | 0 | ? | 0 | ? | 0 | "
		"no | ? | ? | ?\n");
	cr_expect_str_eq(made_text(made_section(profile(1), READER_PAGE, section_all_gpu_work)),
	                 "GPU kernels and copies: exact\n"
	                 "80000000 | 80000000/100000000 | 40 | 2000000 | 2000000 | 5000000 | ? | ? "
	                 "| 0.5 | ? | void gemm<float, 128>(float*, int) | train | "
	                 "/src/train.cu:88\n"
	                 "20000000 | 20000000/100000000 | 3 | 6667000 | ? | ? | 4096 | 2.5 | ? | ? "
	                 "| copy host to device | ? | ?\n");
}

Test(sections_gpu, programs_get_gpus_streams_and_idle_time)
{
	cr_expect_str_eq(
		made_text(made_section(profile(2), READER_SHEET, section_all_gpu_devices)),
		"GPUs: from the first activity to the last\n"
		"0 | H100 | 200000000 | 100000000 | 80000000 | 20000000 | 0 | 5000000 | 1 | 132 | "
		"9 | 0 | 83886080 | ? | 8388608 | ?\n"
		"1 | ? | 0 | 0 | 0 | 0 | 0 | 0 | 1 | ? | ? | 0 | ? | ? | ? | rank 1\n");
	cr_expect_str_eq(
		made_text(made_section(profile(1), READER_PAGE, section_all_gpu_devices)),
		"GPUs: from the first activity to the last\n"
		"0 | H100 | 100000000/200000000 | 100000000 | 80000000 | 20000000 | 0 | 200000000 "
		"| 1 | 8388608\n");
	const char *text = made_text(made_section(profile(1), READER_SHEET, section_gpu_streams));
	cr_expect(strstr(text, "\n0 | 1 | 7 | 4711 | 12040 | 12000 | 28010000000 | 4040000000 | "
	                       "40000000000 | ?\n") != NULL,
	          "%s", text);
	cr_expect_str_eq(made_text(made_section(profile(1), READER_SHEET, section_all_gpu_idle)),
	                 "decode(char const*) | /src/load.c | 12 | /opt/app | 30000000 | "
	                 "30000000/80000000 | 10000000 | 20000000\n"
	                 "rare | ? | ? | /opt/app | 1 | 1/80000000 | 0 | 1\n");
}

Test(sections_gpu, of_hundreds_of_gpus_people_see_the_first)
{
	static struct gpu_device_row many[20];
	struct profile *p = profile(1);

	for (size_t i = 0; i < 20; i++)
		many[i] = devices[0];
	p->gpu_facts.devices = many;
	p->gpu_facts.device_count = 20;
	const char *text = made_text(made_section(p, READER_TEXT, section_gpu));
	cr_expect(strstr(text, "> 4 more GPUs are left out: -n 20 shows all\n") != NULL, "%s",
	          text);
}
