// SPDX-License-Identifier: MIT
#include "sampler/agent/op_records.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

static struct ops *ops;
static struct op_records *records;

static void begin_all(void)
{
	ops = ops_new();
	records = op_records_new(ops);
}

static void end_all(void)
{
	op_records_free(records);
	ops_free(ops);
}

TestSuite(op_records, .init = begin_all, .fini = end_all);

static struct record head(uint16_t type, uint32_t pid)
{
	return (struct record){ .type = type, .pid = pid, .tid = pid, .time_ns = 100 };
}

static void name(uint32_t pid, uint64_t image_ns, uint32_t id, uint32_t domain, const char *text)
{
	struct {
		struct record_op_name name;
		char text[64];
	} record = { .name = { .head = head(RECORD_OP_NAME, pid),
		               .name = id,
		               .domain = domain,
		               .provider = OP_NVTX } };
	struct event event;

	snprintf(record.text, sizeof(record.text), "%s", text);
	cr_expect(not(op_records_take(records, &record.name.head, image_ns, &event)));
}

static uint32_t begun(uint32_t pid, uint64_t image_ns, uint32_t id)
{
	struct record_op_begin begin = { .head = head(RECORD_OP_BEGIN, pid), .name = id };
	struct event event;

	return op_records_take(records, &begin.head, image_ns, &event) ? event.op.op : 0;
}

Test(op_records, an_id_means_a_name_in_one_program_only)
{
	name(7, 1, 4, 0, "step");
	name(8, 1, 4, 0, "load");
	name(7, 2, 4, 0, "load");
	uint32_t step = begun(7, 1, 4), load = begun(8, 1, 4);

	cr_expect(eq(str, (char *)ops_get(ops, step)->name, "step"));
	cr_expect(eq(str, (char *)ops_get(ops, load)->name, "load"));
	cr_expect(eq(u32, begun(7, 2, 4), load), "after an exec");
	cr_expect(eq(u32, ops_count(ops), 2));
}

Test(op_records, a_domain_is_a_name_too)
{
	name(7, 1, 4, 0, "cuDNN");
	name(7, 1, 9, 4, "conv");
	const struct op *op = ops_get(ops, begun(7, 1, 9));

	cr_expect(eq(str, (char *)op->domain, "cuDNN"));
}

Test(op_records, what_has_no_name_is_counted)
{
	cr_expect(eq(u32, begun(7, 1, 4), 0));
	cr_expect(eq(u64, op_records_nameless(records), 1));
}

Test(op_records, an_allocation_whose_end_is_not_told_says_so)
{
	struct record_alloc alloc = { .head = head(RECORD_ALLOC, 7), .address = 16, .bytes = 8 };
	struct event event;

	cr_expect(op_records_take(records, &alloc.head, 1, &event));
	cr_expect(not(event.alloc.untracked));
	alloc.head.flags = ALLOC_UNTRACKED;
	cr_expect(op_records_take(records, &alloc.head, 1, &event));
	cr_expect(event.alloc.untracked);
}

static uint64_t count(uint32_t pid, uint64_t calls)
{
	struct record_op_count record = { .head = head(RECORD_OP_COUNT, pid),
		                          .counts = { .calls = calls, .total_ns = calls * 10 },
		                          .name = 4 };
	struct event event;

	if (!op_records_take(records, &record.head, 1, &event))
		return 0;
	cr_expect(eq(u64, event.op_count.counts.total_ns, event.op_count.counts.calls * 10));
	return event.op_count.counts.calls;
}

Test(op_records, counts_become_differences)
{
	name(7, 1, 4, 0, "step");
	cr_expect(eq(u64, count(7, 5), 5));
	cr_expect(eq(u64, count(7, 12), 7));
	cr_expect(eq(u64, count(7, 12), 0));
	cr_expect(eq(u64, count(7, 3), 0), "they cannot shrink");
}

Test(op_records, a_process_is_forgotten_and_the_others_stay)
{
	char text[16];

	for (uint32_t i = 1; i < 500; i++) {
		snprintf(text, sizeof(text), "op %u", i);
		name(7 + i % 2, 1, i, 0, text);
	}
	op_records_forget(records, 7);
	for (uint32_t i = 1; i < 500; i++) {
		uint32_t op = begun(7 + i % 2, 1, i);
		snprintf(text, sizeof(text), "op %u", i);
		if (i % 2)
			cr_expect(eq(str, (char *)ops_get(ops, op)->name, text));
		else
			cr_expect(eq(u32, op, 0));
	}
}

Test(op_records, what_an_op_was_done_on_travels)
{
	struct {
		struct record_op_begin begin;
		uint64_t details[2];
	} record = { .begin = { .head = head(RECORD_OP_BEGIN, 7),
		                .name = 4,
		                .stack = 16,
		                .caller = 32,
		                .detail = OP_DETAIL_SHAPE,
		                .detail_count = 2 },
		     .details = { 3, 5 } };
	struct event event;

	name(7, 1, 4, 0, "dgemv");
	cr_assert(op_records_take(records, &record.begin.head, 1, &event));
	cr_expect(eq(u64, event.op.stack, 16));
	cr_expect(eq(u64, event.op.caller, 32));
	cr_expect(eq(int, event.op.detail_count, 2));
	cr_expect(eq(u64, event.op.details[1], 5));
}

Test(op_records, a_thread_is_named_by_the_program_alone)
{
	struct {
		struct record_name name;
		char text[16];
	} record = { .name = { .head = head(RECORD_THREAD, 7) }, .text = "decoder" };
	struct event event;

	cr_expect(not(op_records_take(records, &record.name.head, 1, &event)), "its comm");
	record.name.head.flags = THREAD_GIVEN;
	cr_assert(op_records_take(records, &record.name.head, 1, &event));
	cr_expect(event.given);
	cr_expect(eq(str, (char *)event.name, "decoder"));
}
