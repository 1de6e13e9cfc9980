// SPDX-License-Identifier: MIT
#include "merge/query/query_gpu_lines.h"

#include "base/error.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CRC 77

static void add(struct profile *p, const char *function, uint64_t offset, const char *reason,
                uint32_t samples)
{
	const struct gpu_pc_stall stall = { reason, samples };
	const struct gpu_pc_event event = { CRC, offset, function, 1, &stall };

	profile_add_gpu_pc(p, &event);
}

static void name(struct profile *p)
{
	static uint8_t image[1 << 16];
	FILE *file = fopen(TESTS_DIR "/data/cubin/lines.cubin", "rbe");
	uint64_t crc = 0;
	struct error err;

	cr_assert_not_null(file);
	size_t size = fread(image, 1, sizeof(image), file);
	fclose(file);
	cr_assert(profile_next_cubin(p, &crc));
	cr_expect_eq(crc, CRC);
	cr_assert_eq(profile_name_gpu_lines(p, crc, (struct bytes){ image, size }, &err), 0);
	cr_expect_not(profile_next_cubin(p, &crc));
}

static struct profile *make(struct modules *modules)
{
	struct error err;
	struct profile *p = profile_new(modules, NULL, &err);

	cr_assert_not_null(p);
	for (int i = 0; i < 3; i++) {
		add(p, "_Z5linesPfPKfi", 0x1e0, "memory", 10);
		add(p, "_Z5linesPfPKfi", 0x200, "memory", 5); // of the same line
		add(p, "_Z5linesPfPKfi", 0x1e0, "running", 8);
		add(p, "_Z5otherPf", 0x80, "running", 7);
	}
	add(p, "_Z7nowherev", 0x10, "memory", 4);
	profile_add_gpu_pc_sum(p, &(struct gpu_pc_sum_event){ 100, 3, 2 });
	name(p);
	return p;
}

static void expect_rows(const struct profile *p)
{
	struct error err;
	cleanup(gpu_line_rows) struct gpu_line_rows *rows = query_gpu_lines(p, &err);

	cr_assert_not_null(rows);
	cr_assert_eq(rows->count, 3);
	cr_expect_str_eq(rows->rows[0].kernel, "lines(float*, float const*, int)");
	cr_expect_str_eq(rows->rows[0].inlined, "inner(float, int)");
	cr_expect_eq(rows->rows[0].line, 4);
	cr_expect_eq(rows->rows[0].call_line, 17);
	cr_expect_eq(rows->rows[0].samples, 69);
	cr_expect_str_eq(rows->rows[0].reason, "memory");
	cr_expect_eq(rows->rows[0].reason_samples, 45);
	cr_expect_str_eq(rows->rows[1].kernel, "other(float*)");
	cr_expect_null(rows->rows[1].inlined);
	cr_expect_eq(rows->rows[1].line, 23);
	cr_expect_null(rows->rows[2].file);
	cr_expect_eq(rows->samples, 94);
	cr_expect_eq(rows->unnamed, 4);
	cr_expect_eq(rows->dropped, 3);
	cr_expect_eq(rows->other, 2);
}

Test(gpu_lines, instructions_of_a_line_are_one_row_with_its_main_reason)
{
	struct modules *modules = modules_new();
	struct profile *p = make(modules);

	expect_rows(p);
	profile_free(p);
	modules_free(modules);
}

Test(gpu_lines, a_saved_profile_answers_the_same)
{
	struct modules *modules = modules_new();
	struct profile *p = make(modules);
	const struct run run = { .command = "x" };
	struct error err;
	char directory[] = "/tmp/gpu_lines_XXXXXX", path[64];

	cr_assert_not_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/p.bneck", directory);
	cr_assert_eq(profile_set_run(p, &run, &err), 0);
	cr_assert_eq(profile_write(p, path, &err), 0, "%s", err.text);
	struct profile *read = profile_read(path, &err);
	cr_assert_not_null(read, "%s", err.text);
	expect_rows(read);
	profile_free(read);
	profile_free(p);
	modules_free(modules);
	unlink(path);
	rmdir(directory);
}

Test(gpu_lines, what_is_no_cubin_names_nothing)
{
	struct modules *modules = modules_new();
	struct profile *p = make(modules);
	struct error err;

	cr_expect_eq(
		profile_name_gpu_lines(p, CRC, (struct bytes){ (const uint8_t *)"x", 1 }, &err),
		-1);
	expect_rows(p);
	profile_free(p);
	modules_free(modules);
}
