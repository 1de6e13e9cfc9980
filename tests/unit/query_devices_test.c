// SPDX-License-Identifier: MIT
#include "merge/query/query_devices.h"

#include "base/error.h"
#include "base/record.h"
#include "base/record_gpu.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query_counters.h"
#include "merge/query/query_ops.h"
#include "merge/table/memory_curves.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct fixture f;
static char path[64];

static void begin(void)
{
	fixture_init(&f, NULL);
	add_thread(&f, 2, 1, 101, "worker");
	add_process(&f, 2, 200, "rank1");
	add_thread(&f, 3, 2, 200, "rank1");
	snprintf(path, sizeof(path), "/tmp/devices-%d.bneck", (int)getpid());
}

static void end(void)
{
	unlink(path);
	fixture_fini(&f);
}

TestSuite(query_devices, .init = begin, .fini = end);

static void tell(uint32_t thread, const char *device, const char *name, uint64_t bytes)
{
	static uint64_t now;
	const struct op wanted = {
		.provider = OP_TORCH, .domain = device, .category = OP_COUNTER, .name = name
	};
	const struct op_event event = {
		.thread = thread,
		.op = ops_add(f.ops, &wanted)->id,
		.mark = true,
		.begin_ns = f.now_ns + ++now,
		.end_ns = f.now_ns + now,
		.detail = OP_DETAIL_UNSIGNED,
		.detail_count = 1,
		.details = &bytes,
	};

	profile_add_op(f.profile, &event);
}

// "cuda:0 of 100: 5 of 8, 3 at last; …"
static const char *text_of(const struct profile *p, const struct query *query)
{
	static char text[1024];
	struct error err = { 0 };
	cleanup(device_rows) struct device_rows *rows = query_devices(p, query, &err);
	size_t used = 0;

	cr_assert(rows != NULL, "%s", err.text);
	text[0] = '\0';
	for (size_t i = 0; i < rows->count; i++) {
		const struct device_row *row = &rows->rows[i];
		used += (size_t)snprintf(text + used, sizeof(text) - used,
		                         "%s of %s: %lu of %lu, %lu at last; ", row->device,
		                         row->command, row->peak_bytes, row->peak_reserved_bytes,
		                         row->last_bytes);
		if (row->capacity_bytes)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "all %lu; ",
			                         row->capacity_bytes);
	}
	return text;
}

static void fill(void)
{
	tell(1, "cuda:1", OP_TORCH_ALLOCATED, 40);
	tell(1, "cuda:1", OP_TORCH_RESERVED, 64);
	tell(2, "cuda:0", OP_TORCH_ALLOCATED, 512);
	tell(2, "cuda:0", OP_TORCH_RESERVED, 2048);
	tell(1, "cuda:0", OP_TORCH_ALLOCATED, 1024);
	tell(1, "cuda:0", OP_TORCH_RESERVED, 1024);
	tell(2, "cuda:0", OP_TORCH_ALLOCATED, 256);
	tell(3, "cuda:0", OP_TORCH_ALLOCATED, 7);
	tell(3, "cuda:0", OP_TORCH_RESERVED, 9);
}

static const char whole[] = "cuda:0 of app: 1024 of 2048, 256 at last; "
			    "cuda:0 of rank1: 7 of 9, 7 at last; "
			    "cuda:1 of app: 40 of 64, 40 at last; ";

Test(query_devices, a_peak_is_of_a_device_and_a_process)
{
	fill();
	cr_expect(eq(str, (char *)text_of(f.profile, &(struct query){ 0 }), (char *)whole));
	cr_expect(eq(str, (char *)text_of(f.profile, &(struct query){ .process = "200" }),
	             "cuda:0 of rank1: 7 of 9, 7 at last; "));
}

// "KIND NAME PEAK; ", of what is told of the run.
static char *curves_of(struct profile *p)
{
	static char text[1024];
	struct memory_curves *curves = calloc(1, sizeof(*curves));
	char *end = text;

	*text = '\0';
	cr_assert(memory_curves_parse(curves, profile_tell_memory(p, f.now_ns)));
	for (uint32_t i = 0; i < curves->count; i++)
		end += sprintf(end, "%d %s %" PRIu64 "; ", curves->of[i].kind, curves->of[i].name,
		               curves->of[i].peak_bytes);
	free(curves);
	return text;
}

Test(query_devices, what_is_held_and_reserved_is_a_curve_of_each_device_and_process)
{
	fill();
	cr_expect(eq(str, curves_of(f.profile),
	             "2 cuda:1 40; 3 cuda:1 64; 2 cuda:0 1024; 3 cuda:0 2048; "
	             "2 cuda:0 of 200 7; 3 cuda:0 of 200 9; "));
}

static void tell_device(uint32_t process, uint32_t number, uint64_t bytes)
{
	const struct {
		struct record_gpu_device device;
		char name[8];
	} told = { .device = { .head = { .type = RECORD_GPU_DEVICE },
		               .device = number,
		               .memory_bytes = bytes,
		               .uuid = { (uint8_t)process, (uint8_t)number } },
		   .name = "H100" };

	profile_add_gpu(f.profile,
	                &(struct gpu_event){ .process = process, .record = &told.device.head });
}

Test(query_devices, a_capacity_is_that_of_the_device_of_this_number_in_the_process)
{
	fill();
	tell_device(1, 1, 4096);
	tell_device(2, 0, 1 << 20);
	tell_device(2, 2, 777);
	cr_expect(eq(str, (char *)text_of(f.profile, &(struct query){ 0 }),
	             "cuda:0 of app: 1024 of 2048, 256 at last; "
	             "cuda:0 of rank1: 7 of 9, 7 at last; all 1048576; "
	             "cuda:1 of app: 40 of 64, 40 at last; all 4096; "));
}

Test(query_devices, a_file_holds_them)
{
	struct error err = { 0 };

	fill();
	name_all(&f);
	cr_assert(eq(int, profile_write(f.profile, path, &err), 0), "%s", err.text);
	cleanup(profile) struct profile *read = profile_read(path, &err);
	cr_assert(read != NULL, "%s", err.text);
	cr_expect(eq(str, (char *)text_of(read, &(struct query){ 0 }), (char *)whole));
}

Test(query_devices, they_are_neither_counters_of_the_program_nor_marks)
{
	struct error err = { 0 };

	fill();
	cleanup(counter_rows) struct counter_rows *counters =
		query_counters(f.profile, &(struct query){ 0 }, &err);
	cleanup(op_rows) struct op_rows *ops =
		query_ops(f.profile, &(struct op_query){ .by = OPS_BY_OP }, &err);
	cr_assert(counters && ops);
	cr_expect(eq(sz, counters->count, 0));
	for (size_t i = 0; i < ops->count; i++)
		cr_expect(eq(u64, ops->rows[i].marks, 0));
}
