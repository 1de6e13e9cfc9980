// SPDX-License-Identifier: MIT
#include "sampler/op/op_stack.h"

#include "base/code.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX 4096

static struct op_stack stack;
static struct frame frames[MAX];
static uint64_t sps[MAX];
static size_t count;

static void clear(void)
{
	codes_free((struct codes *)stack.codes);
	op_stack_fini(&stack);
}

TestSuite(op_stack, .fini = clear);

// A frame at ADDRESS whose stack pointer is SP; innermost first.
static void frame(uint64_t address, uint64_t sp)
{
	frames[count] = (struct frame){ address, 1, FRAME_RETURN };
	sps[count++] = sp;
}

static void begin(uint32_t op, uint64_t address, uint64_t frame_end)
{
	static uint64_t now;
	struct open_op open = {
		.op = op, .begin_ns = ++now, .address = address, .frame_end = frame_end
	};

	cr_assert(op_stack_push(&stack, &open));
}

// "3 2 op7 1": addresses and ops, innermost first.
static const char *place(void)
{
	static char text[512];
	size_t placed = op_stack_place(&stack, frames, sps, count, MAX);

	text[0] = '\0';
	for (size_t i = 0; i < placed; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s%lu", i ? " " : "",
		         frames[i].kind == FRAME_OP ? "op" : "", frames[i].address);
	return text;
}

static void three_frames(void)
{
	frame(3, 0x900);
	frame(2, 0x980);
	frame(1, 0x9f0);
}

Test(op_stack, an_op_stands_below_its_owner)
{
	three_frames();
	begin(7, 0x988, 0);
	cr_expect(eq(str, (char *)place(), "3 op7 2 1"));
}

Test(op_stack, the_address_may_be_the_owners_stack_pointer)
{
	three_frames();
	begin(7, 0x980, 0);
	cr_expect(eq(str, (char *)place(), "3 op7 2 1"));
}

Test(op_stack, an_owner_that_runs_itself_appears_on_both_sides)
{
	three_frames();
	begin(7, 0x900, 0);
	cr_expect(eq(str, (char *)place(), "3 op7 3 2 1"));
}

Test(op_stack, the_outermost_owner_has_no_end)
{
	three_frames();
	begin(7, 0xff0, 0);
	cr_expect(eq(str, (char *)place(), "3 2 op7 1"));
}

Test(op_stack, ops_of_one_owner_keep_their_order)
{
	three_frames();
	begin(7, 0x980, 0);
	begin(8, 0x980, 0);
	begin(9, 0x990, 0);
	cr_expect(eq(str, (char *)place(), "3 op9 op8 op7 2 1"));
}

Test(op_stack, each_owner_has_its_own)
{
	three_frames();
	begin(5, 0x9f8, 0);
	begin(6, 0x9f8, 0);
	begin(7, 0x980, 0);
	begin(8, 0x900, 0);
	cr_expect(eq(str, (char *)place(), "3 op8 3 op7 2 op6 op5 1"));
}

Test(op_stack, a_known_frame_says_more_than_the_address)
{
	three_frames();
	// A hook with pushed arguments: its address lies where the callee's frame is now.
	begin(7, 0x970, 0x9f0);
	cr_expect(eq(str, (char *)place(), "3 op7 2 1"));
}

Test(op_stack, a_frame_of_another_size_falls_back_to_the_address)
{
	three_frames();
	begin(7, 0x985, 0x9e0);
	cr_expect(eq(str, (char *)place(), "3 op7 2 1"));
}

Test(op_stack, an_owner_that_has_popped_what_it_pushed_still_owns)
{
	three_frames();
	begin(7, 0x8f0, 0);
	cr_expect(eq(str, (char *)place(), "3 op7 3 2 1"));
}

Test(op_stack, an_op_of_another_stack_stands_nowhere)
{
	three_frames();
	begin(7, 0x100, 0);
	cr_expect(eq(str, (char *)place(), "3 2 1"), "a coroutine that is not running");
}

Test(op_stack, a_signal_handler_on_its_own_stack_has_its_own_ops)
{
	frame(5, 0x20100); // the handler's stack lies above
	frame(4, 0x20200);
	three_frames();
	begin(7, 0x988, 0);
	begin(8, 0x20180, 0);
	cr_expect(eq(str, (char *)place(), "5 op8 5 4 3 op7 2 1"));
}

Test(op_stack, a_mark_on_top_is_no_owner)
{
	frames[count++] = (struct frame){ MARK_KERNEL, 0, FRAME_MARK };
	three_frames();
	begin(7, 0x900, 0);
	cr_expect(eq(str, (char *)place(), "1 3 op7 3 2 1"));
}

Test(op_stack, a_thousand_recursions_are_placed_one_by_one)
{
	for (uint64_t i = 0; i < 1000; i++)
		frame(1000 - i, 0x100000 + i * 0x40);
	for (uint32_t i = 0; i < 1000; i++)
		begin(i + 1, 0x100000 + (999 - i) * 0x40 + 8, 0);
	size_t placed = op_stack_place(&stack, frames, sps, count, MAX);

	cr_assert(eq(sz, placed, 2001));
	for (size_t i = 0; i < 1000; i++) {
		cr_expect(eq(u64, frames[placed - 1 - 2 * i].address, i + 1));
		cr_expect(eq(u32, frames[placed - 2 - 2 * i].kind, FRAME_OP));
		cr_expect(eq(u64, frames[placed - 2 - 2 * i].address, i + 1));
	}
}

Test(op_stack, what_has_no_room_is_left_out)
{
	three_frames();
	begin(7, 0x988, 0);
	begin(8, 0x9f8, 0);
	cr_expect(eq(sz, op_stack_place(&stack, frames, sps, count, 3), 3));
	cr_expect(eq(sz, op_stack_place(&stack, frames, sps, count, 4), 4));
}

Test(op_stack, stacks_with_the_same_ops_have_the_same_key)
{
	cr_expect(eq(u64, op_stack_key(&stack), 0));
	begin(1, 0x988, 0);
	uint64_t one = op_stack_key(&stack);
	begin(2, 0x908, 0);
	uint64_t both = op_stack_key(&stack);
	cr_expect(ne(u64, one, 0));
	cr_expect(ne(u64, one, both));
	op_stack_remove(&stack, &stack.ops[1]);
	cr_expect(eq(u64, op_stack_key(&stack), one));
	begin(2, 0x918, 0);
	cr_expect(eq(u64, op_stack_key(&stack), both), "another call of the same op");
	stack.ops[1].left_ns = 5;
	cr_expect(eq(u64, op_stack_key(&stack), one), "what was left is not open");
	cr_expect(eq(sz, op_stack_list(&stack, frames, MAX), 1));
	cr_expect(eq(u64, frames[0].address, 1));
	op_stack_remove(&stack, &stack.ops[0]);
	begin(1, 0x988, 0);
	stack.ops[0].left_ns = 0;
	cr_expect(ne(u64, op_stack_key(&stack), both), "in another order");
	cr_expect(eq(sz, op_stack_list(&stack, frames, 1), 1), "no more than there is room for");
	cr_expect(eq(u64, frames[0].address, 1), "the innermost first");
}

Test(op_stack, ops_are_removed_in_any_order)
{
	begin(1, 0x900, 0);
	begin(2, 0x900, 0);
	begin(3, 0x900, 0);
	op_stack_remove(&stack, &stack.ops[1]);
	cr_expect(eq(sz, stack.count, 2));
	cr_expect(eq(u32, stack.ops[0].op, 1));
	cr_expect(eq(u32, stack.ops[1].op, 3));
}

Test(op_stack, details_are_copied)
{
	uint64_t shape[] = { 2, 3 };
	struct open_op open = { .op = 1, .begin_ns = 1, .detail_count = 2, .details = shape };

	cr_assert(op_stack_push(&stack, &open));
	shape[0] = 9;
	cr_expect(eq(u64, stack.ops[0].details[0], 2));
}

// Python: several functions in one call of the interpreter, which has one stack pointer.
static void python(uint32_t code, uint32_t line, uint64_t sp)
{
	frames[count] = frame_of_python(code, line);
	sps[count++] = sp;
}

// An op that is begun at ADDRESS by functions, outermost first: code and line of each; {0} ends.
static void begin_called(uint32_t op, uint64_t address, const uint32_t (*callers)[2])
{
	static uint64_t now;
	struct open_op open = { .op = op, .begin_ns = ++now, .address = address };

	if (!stack.codes)
		stack.codes = codes_new();
	for (; (*callers)[0]; callers++)
		open.chain = codes_add_call((struct codes *)stack.codes, open.chain,
		                            frame_of_python((*callers)[0], (*callers)[1]));
	cr_assert(op_stack_push(&stack, &open));
}

// Innermost first: addresses, "op" and "code:line".
static const char *place_python(void)
{
	static char text[512];
	size_t placed = op_stack_place(&stack, frames, sps, count, MAX);

	text[0] = '\0';
	for (size_t i = 0; i < placed; i++) {
		size_t used = strlen(text);
		if (frames[i].kind == FRAME_PYTHON)
			snprintf(text + used, sizeof(text) - used, "%s%u:%u", i ? " " : "",
			         frame_python_code(frames[i]), frame_python_line(frames[i]));
		else
			snprintf(text + used, sizeof(text) - used, "%s%s%lu", i ? " " : "",
			         frames[i].kind == FRAME_OP ? "op" : "", frames[i].address);
	}
	return text;
}

static void three_functions(void)
{
	frame(9, 0x800);
	python(3, 30, 0x900);
	python(2, 21, 0x900);
	python(1, 10, 0x900);
	frame(8, 0xa00);
}

Test(op_stack, python_functions_in_one_call_are_told_apart_by_callers)
{
	static const uint32_t callers[][2] = { { 1, 10 }, { 2, 20 }, { 7, 70 }, { 0 } };

	three_functions();
	begin_called(5, 0x910, callers);
	cr_expect_str_eq(place_python(), "9 3:30 op5 2:21 1:10 8");
}

Test(op_stack, another_call_of_the_function_that_began_it_is_not_its_owner)
{
	static const uint32_t same_line[][2] = { { 1, 10 }, { 2, 21 }, { 3, 33 }, { 0 } };
	static const uint32_t other_line[][2] = { { 1, 10 }, { 2, 20 }, { 3, 33 }, { 0 } };

	three_functions();
	begin_called(5, 0x910, same_line);
	cr_expect_str_eq(place_python(), "9 op5 3:30 2:21 1:10 8");
	clear();
	count = 0;
	stack = (struct op_stack){ 0 };
	three_functions();
	begin_called(5, 0x910, other_line);
	cr_expect_str_eq(place_python(), "9 3:30 op5 2:21 1:10 8");
}

Test(op_stack, ops_in_one_call_of_the_interpreter_stand_in_the_order_of_their_begins)
{
	static const uint32_t callers[][2] = { { 1, 10 }, { 2, 20 }, { 0 } };
	static const uint32_t unknown[][2] = { { 0 } };

	three_functions();
	begin_called(5, 0x910, callers);
	begin_called(6, 0x910, unknown);
	cr_expect_str_eq(place_python(), "9 3:30 op6 op5 2:21 1:10 8");
}

Test(op_stack, callers_of_another_stack_say_nothing)
{
	static const uint32_t callers[][2] = { { 4, 40 }, { 2, 20 }, { 0 } };

	three_functions();
	begin_called(5, 0x910, callers);
	cr_expect_str_eq(place_python(), "9 3:30 2:21 op5 1:10 8");
}
