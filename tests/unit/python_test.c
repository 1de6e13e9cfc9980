// SPDX-License-Identifier: MIT
#include "sampler/python/python.h"

#include "base/module.h"
#include "sampler/unwind/address_space.h"
#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

#define INTERPRETER 7u // module
#define LIBRARY     8u
#define BASE        0x400000u
#define EVAL        (BASE + 0x1000u)

static struct address_space *space;
static struct modules *modules;
static struct codes *codes;
static struct python python;
static struct python_stack out;
static struct frame frames[64];
static uint64_t sps[64];
static size_t count;
static struct python_chain *chain;
static bool earlier;

static void tell(uint32_t number, const char *name)
{
	struct event_python_code event = {
		.code = number,
		.version = 0x030b,
		.first_line = 10 * number,
		.file = "a.py",
		.file_bytes = 4,
		.name = name,
		.name_bytes = (uint32_t)strlen(name),
		.table = (const uint8_t *)"",
	};

	cr_assert(python_add_code(&python, codes, &event));
}

static void begin(void)
{
	space = address_space_new();
	modules = modules_new();
	codes = codes_new();
	chain = calloc(1, sizeof(*chain) + 64 * sizeof(*chain->frames));
	address_space_map(space, BASE, 0x10000, 0, INTERPRETER);
	address_space_find(space, BASE)->has_bias = true;
	address_space_find(space, BASE)->bias = BASE;
	tell(1, "outer");
	tell(2, "middle");
	tell(3, "inner");
}

static void end(void)
{
	address_space_free(space);
	modules_free(modules);
	codes_free(codes);
	python_fini(&python);
	free(chain);
}

TestSuite(python, .init = begin, .fini = end);

static void version(uint32_t number)
{
	struct event_python event = {
		.samples = true, .eval_start = EVAL, .eval_end = EVAL + 0x800, .version = number
	};

	python_begin(&python, &event);
}

// Each native frame is 0x100 bytes of stack.
static void native(uint32_t module, uint64_t address)
{
	sps[count] = 0x7000 + 0x100 * count;
	frames[count++] = (struct frame){ address, module, count ? FRAME_RETURN : FRAME_EXACT };
}

static void eval(void)
{
	native(INTERPRETER, EVAL - BASE + 0x20);
}

static void function(uint32_t number, uint64_t anchor)
{
	chain->frames[chain->count++] = (struct python_frame){ number, -1, anchor };
}

// "n8" is a native frame in module 8, "i7" one of the interpreter at work, "outer:10" a Python one,
// "|" a mark.
static const char *placed(void)
{
	static char text[1024];
	const struct python_native in = { space, modules, frames, sps, count, .earlier = earlier };
	char one[64];

	python_place(&python, chain, &in, &out);
	text[0] = '\0';
	for (size_t i = 0; i < out.count; i++) {
		const struct code *code = codes_get(codes, frame_python_code(out.frames[i]));
		if (out.frames[i].kind == FRAME_MARK)
			snprintf(one, sizeof(one), "| ");
		else if (out.frames[i].kind == FRAME_PYTHON)
			snprintf(one, sizeof(one), "%s:%u ", code ? code->name : "?",
			         frame_python_line(out.frames[i]));
		else
			snprintf(one, sizeof(one), "%c%u ",
			         out.frames[i].kind > FRAME_PYTHON ? 'i' : 'n',
			         out.frames[i].module);
		strcat(text, one);
	}
	return text;
}

#define EXPECT(wanted) cr_expect(eq(str, (char *)placed(), wanted))

Test(python, the_frame_that_holds_the_anchor_is_the_call_of_the_interpreter)
{
	version(0x030c);
	native(LIBRARY, 1);
	eval();
	native(INTERPRETER, 2);
	native(LIBRARY, 3);
	native(INTERPRETER, 4);
	eval();
	native(INTERPRETER, 5);
	native(LIBRARY, 6);
	function(3, 0);
	function(2, 0x7180);
	function(1, 0x7510);
	EXPECT("n8 inner:30 middle:20 i7 n8 i7 outer:10 n8 ");
	cr_expect(eq(u64, out.sps[1], 0x7100));
}

// One function calls the other by so many of the interpreter's.
static void call_by(unsigned between)
{
	version(0x0308);
	eval();
	for (unsigned i = 0; i < between; i++)
		native(INTERPRETER, 1 + i);
	eval();
	function(2, 0);
	function(1, 0);
}

Test(python, up_to_3_10_a_plain_call_is_not_shown)
{
	call_by(3);
	EXPECT("middle:20 outer:10 ");
}

Test(python, up_to_3_10_what_may_be_a_c_function_between_is_kept)
{
	call_by(4);
	EXPECT("middle:20 i7 i7 i7 i7 outer:10 ");
}

// Compilers that put functions into others leave one for a call, and three for that of a generator
// by a C function.
Test(python, up_to_3_10_what_is_more_than_most_calls_have_is_kept)
{
	for (int i = 0; i < 2; i++) {
		call_by(1);
		EXPECT("middle:20 outer:10 ");
		count = chain->count = 0;
	}
	call_by(3);
	EXPECT("middle:20 i7 i7 i7 outer:10 ");
}

Test(python, below_python_the_interpreters_own_frames_are_told_apart)
{
	version(0x030c);
	native(LIBRARY, 1);
	native(INTERPRETER, 2);
	eval();
	native(LIBRARY, 3);
	function(1, 0x7210);
	EXPECT("n8 i7 outer:10 n8 ");
}

// Anonymous memory of the process.
static uint32_t made(void)
{
	struct module wanted = { .kind = MODULE_JIT, .path = "[jit 1]", .pid = 1, .fd = -1 };

	return modules_add(modules, &wanted, NULL)->id;
}

// 3.14's frames; 3.15 has a function of its own that enters compiled code.
Test(python, what_the_interpreter_has_compiled_is_the_function_that_it_runs)
{
	version(0x030e);
	native(INTERPRETER, 1);
	native(made(), 0x10);
	native(made(), 0x20);
	eval();
	native(LIBRARY, 3);
	native(made(), 0x30);
	native(INTERPRETER, 4);
	eval();
	native(LIBRARY, 5);
	function(2, 0x7310);
	function(1, 0x7710);
	EXPECT("i7 i1 i1 middle:20 n8 i1 i7 outer:10 n8 ");
}

Test(python, what_others_have_compiled_is_called_by_them)
{
	version(0x030e);
	native(made(), 0x10);
	native(LIBRARY, 1);
	native(INTERPRETER, 2);
	eval();
	native(INTERPRETER, 3);
	native(made(), 0x20);
	native(INTERPRETER, 4);
	native(INTERPRETER, 5);
	native(INTERPRETER, 6); // a libffi within the interpreter
	eval();
	native(LIBRARY, 7);
	function(2, 0x7310);
	function(1, 0x7910);
	EXPECT("n1 n8 i7 middle:20 i7 n1 i7 i7 i7 outer:10 n8 ");
}

Test(python, a_trampoline_that_names_a_function_to_perf_is_not_shown_beside_it)
{
	version(0x030d);
	eval();
	native(made(), 0x10);
	native(INTERPRETER, 1);
	eval();
	native(made(), 0x20);
	native(LIBRARY, 2);
	function(2, 0x7010);
	function(1, 0x7310);
	EXPECT("middle:20 i7 outer:10 n8 ");
}

// A generator was left by the time when the frames of a running thread were read: what it did is
// not the time of the C function that had called it.
Test(python, a_python_function_that_was_not_read_hides_who_called_it)
{
	version(0x0308);
	native(LIBRARY, 1);
	eval();
	native(INTERPRETER, 2);
	native(LIBRARY, 3);
	eval();
	function(1, 0);
	EXPECT("n8 i7 i7 n8 outer:10 ");
	earlier = true;
	EXPECT("n8 n8 outer:10 ");
	version(0x030c);
	chain->frames[0].anchor = 0x7410;
	EXPECT("n8 n8 outer:10 ");
}

// What a running thread has called since it was sampled was not there then.
Test(python, a_python_function_that_was_called_later_is_not_shown)
{
	version(0x030c);
	native(LIBRARY, 1);
	native(INTERPRETER, 2);
	eval();
	native(LIBRARY, 3);
	function(3, 0x6010);
	function(2, 0x6f10);
	function(1, 0x7210);
	EXPECT("n8 i7 i7 n8 inner:30 middle:20 outer:10 ");
	earlier = true;
	EXPECT("n8 i7 outer:10 n8 ");
	chain->frames[2].anchor = 0x7910; // of none of them is known where it is
	EXPECT("n8 n8 inner:30 middle:20 outer:10 ");
}

Test(python, a_function_that_was_left_for_one_that_was_called_later_is_not_shown)
{
	version(0x030c);
	eval();
	native(INTERPRETER, 2);
	native(LIBRARY, 3);
	eval();
	native(LIBRARY, 4);
	function(3, 0x6f10);
	function(1, 0x7310);
	earlier = true;
	EXPECT("n8 outer:10 n8 ");
}

Test(python, a_cut_stack_is_made_whole_by_the_interpreters_chain)
{
	version(0x030d);
	native(LIBRARY, 1);
	eval();
	frames[count] = (struct frame){ MARK_TRUNCATED, 0, FRAME_MARK };
	sps[count++] = 0x7200;
	function(3, 0x7110);
	function(2, 0x9000);
	function(1, 0x9900);
	EXPECT("n8 inner:30 middle:20 outer:10 ");
	cr_expect(out.whole);
	chain->flags = PYTHON_CUT;
	EXPECT("n8 inner:30 middle:20 outer:10 | ");
	cr_expect(not(out.whole));
}

Test(python, without_a_place_python_stands_above_what_is_native)
{
	version(0x030c);
	native(LIBRARY, 1);
	native(LIBRARY, 2);
	function(1, 0x10);
	EXPECT("n8 n8 outer:10 ");
}

Test(python, up_to_3_10_each_call_of_the_interpreter_is_one_function)
{
	version(0x0308);
	native(LIBRARY, 1);
	eval();
	native(INTERPRETER, 2);
	eval();
	native(LIBRARY, 3);
	function(2, 0);
	function(1, 0);
	EXPECT("n8 middle:20 outer:10 n8 ");
}

Test(python, a_call_that_is_only_just_beginning_is_no_function_yet)
{
	version(0x0308);
	eval();
	native(INTERPRETER, 2);
	eval();
	native(LIBRARY, 3);
	function(1, 0);
	EXPECT("i7 i7 outer:10 n8 ");
}

Test(python, a_function_that_was_not_told_is_unknown)
{
	version(0x030c);
	eval();
	native(LIBRARY, 1);
	function(99, 0x7010);
	EXPECT("?:0 n8 ");
}

Test(python, numbers_beyond_reason_are_passed_over)
{
	struct event_python_code event = {
		.code = UINT32_MAX, .file = "", .name = "", .table = (const uint8_t *)""
	};

	cr_expect(python_add_code(&python, codes, &event));
	cr_expect(lt(u32, python.told.count, 100));
}

Test(python, a_chain_of_callers_is_a_call_and_those_that_lead_to_it)
{
	version(0x030b);
	chain->count = 2;
	chain->frames[0] = (struct python_frame){ .code = 3, .instruction = -1 };
	chain->frames[1] = (struct python_frame){ .code = 1, .instruction = -1 };
	cr_assert(python_add_chain(&python, codes,
	                           &(struct event_python_chain){ .number = 5, .chain = chain }));
	const struct code_call *call = codes_get_call(codes, python_chain_of(&python, 5));
	cr_assert(call != NULL);
	cr_expect(eq(u32, frame_python_code(call->frame), 3));
	call = codes_get_call(codes, call->caller);
	cr_expect(eq(u32, frame_python_code(call->frame), 1));
	cr_expect(eq(u32, call->caller, 0));
	cr_expect(eq(u32, python_chain_of(&python, 4), 0));
	cr_expect(eq(u32, python_chain_of(&python, 6), 0));
	chain->count = 1;
	python_add_chain(&python, codes,
	                 &(struct event_python_chain){ .number = 5, .chain = chain });
	cr_expect(ne(u32, codes_get_call(codes, python_chain_of(&python, 5))->caller, 0),
	          "what was told first counts");
	cr_expect(python_add_chain(
			  &python, codes,
			  &(struct event_python_chain){ .number = UINT32_MAX, .chain = chain }),
	          "a number that cannot be is not kept");
	cr_expect(eq(u32, python_chain_of(&python, UINT32_MAX), 0));
}

Test(python, a_module_stands_above_the_frame_that_runs_it)
{
	struct torch_call calls[] = { { .frame = 1, .module = 9 }, { .frame = 0, .module = 77 } };

	version(0x030b);
	chain->count = 2;
	chain->frames[0] = (struct python_frame){ .code = 3, .instruction = -1 };
	chain->frames[1] = (struct python_frame){ .code = 1, .instruction = -1 };
	cr_assert(python_name_module(&python, codes, &(struct event_torch_module){ 9, "Net" }));
	cr_assert(python_add_chain(
		&python, codes,
		&(struct event_python_chain){
			.number = 5, .module_count = 2, .chain = chain, .modules = calls }));
	cr_assert(python_name_module(&python, codes, &(struct event_torch_module){ 9, "Net.a" }));
	const struct code_call *call = codes_get_call(codes, python_chain_of(&python, 5));
	call = codes_get_call(codes, call->caller);
	cr_expect(eq(u32, frame_python_code(call->frame), 1), "module 77 was never told");
	call = codes_get_call(codes, call->caller);
	cr_assert(eq(u32, call->frame.kind, FRAME_MODULE));
	cr_expect(eq(str, (char *)codes_module(codes, (uint32_t)call->frame.address), "Net.a"));
	cr_expect(eq(u32, call->caller, 0));
}
