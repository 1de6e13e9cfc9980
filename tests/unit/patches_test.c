// SPDX-License-Identifier: MIT
#include "sampler/unwind/patches.h"
#include "sampler/unwind/stack_memory.h"
#include "tests/support/expect.h"

#include <stdlib.h>
#include <unistd.h>

#define SLOTS UINT64_C(0x7000000)

static struct patches patches;
static struct op_stack ops;

static void clear(void)
{
	patches_fini(&patches);
	op_stack_fini(&ops);
}

TestSuite(patches, .fini = clear);

static void add(uint64_t start, uint64_t function)
{
	static const struct patch_row rows[] = {
		{ 0, 4, 0, 0 }, { 5, 4, 8, 0 }, { 11, 4, 0, 0 }, { 15, 8, 0, 0 }
	};
	struct event_patch event = {
		.function = function,
		.start = start,
		.slots = SLOTS,
		.slots_size = 1000,
		.size = 25,
		.row_count = 4,
		.rows = rows,
		.name = "f",
	};

	cr_assert(patches_add(&patches, &event));
}

static void call(uint64_t stack, uint64_t return_address)
{
	static uint64_t now;
	struct open_op op = {
		.op = 1,
		.begin_ns = ++now,
		.call_stack = stack,
		.call_return = return_address,
		.told = true,
	};

	cr_assert(op_stack_push(&ops, &op));
}

Test(patches, what_was_interrupted_in_a_stub_was_so_in_the_function)
{
	static const struct {
		uint64_t pc, moved, sp;
	} rows[] = {
		{ 0x5000, 0x1004, 0x100 }, { 0x5005, 0x1004, 0x108 }, { 0x500b, 0x1004, 0x100 },
		{ 0x500e, 0x1004, 0x100 }, { 0x500f, 0x1008, 0x100 }, { 0x5018, 0x1008, 0x100 },
		{ 0x6000, 0x2004, 0x100 },
	};
	struct patched patched = { &patches, &ops, 0 };

	add(0x6000, 0x2000);
	add(0x5000, 0x1000);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t pc = rows[i].pc, sp = 0x100;
		cr_expect(patched_move(&patched, &pc, &sp), "row %zu", i);
		cr_expect(eq(u64, pc, rows[i].moved), "row %zu", i);
		cr_expect(eq(u64, sp, rows[i].sp), "row %zu", i);
	}
}

Test(patches, what_was_interrupted_elsewhere_stays_there)
{
	static const uint64_t rows[] = { 0x4fff, 0x5019, 0x1004, SLOTS + 1000 };
	struct patched patched = { &patches, &ops, 0 }, none = { 0 };
	uint64_t pc = 0x5000, sp = 0x100;

	add(0x5000, 0x1000);
	cr_expect(not(patched_move(&none, &pc, &sp)));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pc = rows[i];
		cr_expect(not(patched_move(&patched, &pc, &sp)), "row %zu", i);
		cr_expect(eq(u64, pc, rows[i]));
		cr_expect(eq(u64, sp, 0x100));
	}
}

Test(patches, a_slot_is_where_the_open_call_returns_to)
{
	struct patched patched = { &patches, &ops, 0 };
	uint64_t pc = SLOTS + 16, sp = 0x900;

	add(0x5000, 0x1000);
	call(0xa00, 0x1111);
	call(0x900, 0x2222);
	cr_expect(eq(u64, patched_return(&patched, 0x900), 0x2222));
	cr_expect(eq(u64, patched_return(&patched, 0xa00), 0x1111));
	cr_expect(eq(u64, patched_return(&patched, 0x900), 0x2222), "not from the inside out");
	cr_expect(eq(u64, patched_return(&patched, 0x800), 0));
	cr_expect(patched_move(&patched, &pc, &sp));
	cr_expect(eq(u64, pc, 0x2222));
	sp = 0x800;
	pc = SLOTS;
	cr_expect(not(patched_move(&patched, &pc, &sp)));
}

Test(patches, a_call_that_has_just_ended_is_still_known)
{
	struct patched patched = { &patches, &ops, 0 };

	add(0x5000, 0x1000);
	call(0x900, 0x2222);
	op_stack_remove(&ops, &ops.ops[0]);
	cr_expect(eq(u64, patched_return(&patched, 0x900), 0x2222));
	for (uint64_t i = 0; i < OP_ENDED; i++) {
		call(0xa00 + i * 16, 0x3333);
		op_stack_remove(&ops, &ops.ops[0]);
	}
	cr_expect(eq(u64, patched_return(&patched, 0x900), 0));
}

Test(patches, a_forked_child_has_them_and_memory_is_used_again)
{
	struct patches child = { 0 };
	struct patched patched = { &child, &ops, 0 };
	uint64_t pc = 0x5000, sp = 0x100;

	add(0x5000, 0x1000);
	add(0x5000, 0x3000);
	cr_assert(patches_copy(&child, &patches));
	cr_expect(eq(sz, child.count, 1));
	cr_expect(patched_move(&patched, &pc, &sp));
	cr_expect(eq(u64, pc, 0x3004));
	patches_fini(&child);
}

// A slot of this process's own, which leads to a call.
static struct {
	uint8_t jump[12];
	int32_t distance;
	uint64_t call[2];
} slot;

static uint64_t read_return(uint64_t stack, int pid)
{
	struct stack_memory memory = { .patched = { &patches, &ops, 0 } };
	uint64_t word = (uint64_t)&slot;

	stack_memory_set(&memory, (const uint8_t *)&word, stack - sizeof(word), sizeof(word), pid);
	bool known = stack_memory_read(&memory, stack - sizeof(word), &word);
	bool joined = memory.joined;
	stack_memory_fini(&memory);
	cr_expect(eq(int, joined, known && !ops.count), "it may be younger than the sample");
	return known ? word : 0;
}

Test(patches, a_call_that_no_op_tells_of_is_known_by_its_slot)
{
	add(0x5000, 0x1000);
	patches.slots = (uint64_t)&slot;
	slot.distance = (int32_t)((uint8_t *)slot.call - (uint8_t *)&slot.distance);
	slot.call[0] = 0x4321;
	slot.call[1] = 0x7f00;
	cr_expect(eq(u64, read_return(0x7f00, getpid()), 0x4321));
	cr_expect(eq(u64, read_return(0x7f08, getpid()), 0), "the slot is another call's by now");
	cr_expect(eq(u64, read_return(0x7f00, 0), 0), "the process is gone");
	call(0x7f00, 0x1234);
	cr_expect(eq(u64, read_return(0x7f00, getpid()), 0x1234), "the op comes first");
}
