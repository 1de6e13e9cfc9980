// SPDX-License-Identifier: MIT
#include "sampler/python/python_remote.h"

#include "base/clock.h"
#include "base/code.h"
#include "sampler/python/python.h"
#include "sampler/python/python_remote_names.h"
#include "sampler/unwind/address_space.h"
#include "tests/support/expect.h"
#include "tests/support/python_image.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BASE UINT64_C(0x7f0000000000)
#define TID  4711u

static struct image image;
static struct python python;
static struct python_stack placed;
static struct codes *codes;
static struct address_space *space;
static struct remote_memory *memory;
static struct python_remote *remote;
static uint64_t now_ns;
static uint32_t forked_by;
static uint64_t sp;

static void set_up(uint32_t version, uint64_t base)
{
	image_init(&image, version, base);
	const struct event_python event = {
		.version = version,
		.runtime = image.runtime,
		.code_type = image.code_type,
	};
	python_begin(&python, &event);
	codes = codes_new();
	space = address_space_new();
	memory = calloc(1, sizeof(*memory));
	remote = python_remote_new();
	now_ns = NS_PER_SEC;
	forked_by = 0;
	sp = BASE;
}

static void tear_down(void)
{
	python_fini(&python);
	python_remote_free(remote);
	codes_free(codes);
	address_space_free(space);
	free(memory);
	image_fini(&image);
}

static const struct python_chain *chain_of(uint32_t tid)
{
	struct python_remote_thread who = {
		.pid = 100, .tid = tid, .forked_by = forked_by, .sp = sp, .now_ns = now_ns
	};

	now_ns += NS_PER_MS;
	remote_memory_begin(memory, image_read, &image);
	return python_remote_chain(remote, &python, codes, memory, &who);
}

// "inner:20 outer:10"
static const char *text_of(const struct python_chain *chain)
{
	static char text[8192];
	const struct python_native native = { .space = space };

	if (!chain)
		return "none";
	python_place(&python, chain, &native, &placed);
	text[0] = '\0';
	for (size_t i = 0; i < placed.count && i < 8; i++) {
		const struct code *code = codes_get(codes, frame_python_code(placed.frames[i]));
		size_t used = strlen(text);
		snprintf(text + used, sizeof(text) - used, "%s%s:%u", i ? " " : "", code->name,
		         frame_python_line(placed.frames[i]));
	}
	return text;
}

#define EXPECT(chain, wanted) cr_expect(eq(str, (char *)text_of(chain), wanted))

static uint64_t function(const char *name, uint32_t first_line)
{
	return image_code(&image, image_text(&image, "a.py"), image_text(&image, name), first_line);
}

static void two_functions(void)
{
	image_frame(&image, function("outer", 10), 0);
	image_frame(&image, function("inner", 20), 0);
}

Test(python_remote, a_thread_s_frames_are_read_as_its_version_lays_them_out)
{
	for (uint32_t minor = 8; minor <= 15; minor++) {
		set_up(PYTHON_VERSION(minor), BASE);
		two_functions();
		image_thread(&image, TID);
		const struct python_chain *chain = chain_of(TID);
		cr_assert(chain != NULL, "3.%u", minor);
		cr_expect(eq(u32, chain->count, 2), "3.%u", minor);
		cr_expect(eq(u32, chain->flags, 0), "3.%u", minor);
		cr_expect(eq(str, (char *)text_of(chain), "inner:20 outer:10"), "3.%u", minor);
		tear_down();
	}
}

Test(python_remote, other_threads_are_other_states)
{
	set_up(PYTHON_VERSION(12), BASE);
	two_functions();
	image_thread(&image, TID);
	image_frame(&image, function("other", 30), 0);
	image_thread(&image, TID + 1);
	EXPECT(chain_of(TID + 1), "other:30");
	EXPECT(chain_of(TID), "inner:20 outer:10");
	EXPECT(chain_of(TID + 2), "none");
	tear_down();
}

Test(python_remote, a_new_thread_is_found_at_once)
{
	set_up(PYTHON_VERSION(11), BASE);
	two_functions();
	image_thread(&image, TID);
	EXPECT(chain_of(TID), "inner:20 outer:10");
	EXPECT(chain_of(TID + 1), "none");
	image_frame(&image, function("new", 40), 0);
	image_thread(&image, TID + 1);
	EXPECT(chain_of(TID + 1), "new:40");
	tear_down();
}

Test(python_remote, a_thread_that_was_just_starting_is_found_at_the_next_look)
{
	set_up(PYTHON_VERSION(11), BASE);
	two_functions();
	image_thread(&image, TID);
	image_frame(&image, function("new", 40), 0);
	uint64_t state = image_thread(&image, 0);
	image_poke(&image, state, image.layout.thread_pthread, 0, 8);
	EXPECT(chain_of(TID + 1), "none");
	image_poke(&image, state, image.layout.thread_tid, TID + 1, 8);
	EXPECT(chain_of(TID + 1), "new:40");
	tear_down();
}

Test(python_remote, who_runs_no_python_is_not_looked_for_each_time)
{
	set_up(PYTHON_VERSION(11), BASE);
	two_functions();
	image_thread(&image, TID);
	chain_of(TID + 1);
	image.reads = 0;
	chain_of(TID + 1);
	cr_expect(le(u32, image.reads, 2), "the runtime and the interpreter");
	tear_down();
}

Test(python_remote, a_state_that_was_freed_is_none_although_its_memory_lasts)
{
	set_up(PYTHON_VERSION(10), BASE);
	two_functions();
	uint64_t first = image_thread(&image, TID);
	image_frame(&image, function("last", 50), 0);
	uint64_t last = image_thread(&image, TID + 1);
	EXPECT(chain_of(TID), "inner:20 outer:10");
	image_poke(&image, last, image.layout.thread_next, 0, 8);
	EXPECT(chain_of(TID), "none");
	cr_expect(ne(u64, first, last));
	EXPECT(chain_of(TID + 1), "last:50");
	tear_down();
}

Test(python_remote, a_forked_child_s_state_may_have_its_parent_s_number)
{
	set_up(PYTHON_VERSION(11), BASE);
	two_functions();
	uint64_t state = image_thread(&image, TID);
	image_poke(&image, state, image.layout.thread_tid, 99, 8);
	EXPECT(chain_of(TID), "inner:20 outer:10");
	tear_down();
}

// Before it has run at all, both of its numbers are its parent's.
Test(python_remote, a_forked_child_that_was_looked_at_too_early_is_found_soon_after)
{
	set_up(PYTHON_VERSION(12), BASE);
	two_functions();
	image_thread(&image, TID);
	EXPECT(chain_of(TID + 1), "none");
	image_poke(&image, image.newest, image.layout.thread_tid, TID + 1, 8);
	now_ns += NS_PER_MS;
	EXPECT(chain_of(TID + 1), "inner:20 outer:10");
	tear_down();
}

Test(python_remote, a_forked_child_has_its_frames_before_it_has_run)
{
	for (uint32_t minor = 8; minor <= 15; minor++) {
		set_up(PYTHON_VERSION(minor), BASE);
		two_functions();
		uint64_t state = image_thread(&image, TID);
		forked_by = TID;
		EXPECT(chain_of(TID + 1), "inner:20 outer:10");
		if (image.layout.thread_tid >= 0)
			image_poke(&image, state, image.layout.thread_tid, TID + 1, 8);
		EXPECT(chain_of(TID + 1), "inner:20 outer:10");
		tear_down();
	}
}

Test(python_remote, at_its_end_the_interpreter_is_left_alone)
{
	set_up(PYTHON_VERSION(11), BASE);
	two_functions();
	uint64_t state = image_thread(&image, TID);
	image_poke(&image, image.runtime, image.layout.runtime_finalizing, state + 64, 8);
	EXPECT(chain_of(TID), "none");
	image_poke(&image, image.runtime, image.layout.runtime_finalizing, state, 8);
	EXPECT(chain_of(TID), "inner:20 outer:10"); // it is the one that ends it
	tear_down();
}

Test(python_remote, the_shim_below_a_call_is_its_anchor)
{
	set_up(PYTHON_VERSION(13), BASE);
	uint64_t low = image_shim(&image);
	image_frame(&image, function("outer", 10), 0);
	uint64_t high = image_shim(&image);
	image_frame(&image, function("middle", 20), 0);
	image_frame(&image, function("inner", 30), 0);
	image_thread(&image, TID);
	const struct python_chain *chain = chain_of(TID);
	cr_assert(eq(u32, chain->count, 3));
	cr_expect(eq(u64, chain->frames[0].anchor, 0));
	cr_expect(eq(u64, chain->frames[1].anchor, high));
	cr_expect(eq(u64, chain->frames[2].anchor, low));
	sp = high + 8; // the call began after that was taken
	chain = chain_of(TID);
	cr_expect(eq(u64, chain->frames[1].anchor, high));
	tear_down();
}

Test(python_remote, in_3_11_the_c_frame_of_a_call_is_its_anchor)
{
	set_up(PYTHON_VERSION(11), BASE);
	const struct python_layout *l = &image.layout;
	uint64_t outer = image_frame(&image, function("outer", 10), 0);
	uint64_t inner = image_frame(&image, function("inner", 20), 0);
	uint64_t state = image_thread(&image, TID);
	// Innermost first, and lower: the call of inner, that of outer, the one in the state.
	uint64_t calls[2] = { BASE + 60000, BASE + 60032 };
	image_poke(&image, state, l->thread_frame, calls[0], 8);
	image_poke(&image, calls[0], l->cframe_current, inner, 8);
	image_poke(&image, calls[0], l->cframe_previous, calls[1], 8);
	image_poke(&image, calls[1], l->cframe_current, outer, 8);
	image_poke(&image, calls[1], l->cframe_previous, state + 64, 8);
	image_poke(&image, inner, l->frame_entry, 1, 1);
	image_poke(&image, outer, l->frame_entry, 1, 1);
	const struct python_chain *chain = chain_of(TID);
	cr_assert(eq(u32, chain->count, 2));
	cr_expect(eq(u64, chain->frames[0].anchor, calls[0]));
	cr_expect(eq(u64, chain->frames[1].anchor, calls[1]));
	sp = calls[1]; // the call of inner began after that was taken
	chain = chain_of(TID);
	cr_expect(eq(u64, chain->frames[0].anchor, calls[0]));
	cr_expect(eq(u64, chain->frames[1].anchor, calls[1]));
	tear_down();
}

Test(python_remote, what_is_at_the_place_of_a_freed_code_object_is_another_function)
{
	set_up(PYTHON_VERSION(12), BASE);
	uint64_t code = function("before", 10);
	image_frame(&image, code, 0);
	image_thread(&image, TID);
	EXPECT(chain_of(TID), "before:10");
	uint32_t number = chain_of(TID)->frames[0].code;
	cr_expect(eq(u32, chain_of(TID)->frames[0].code, number));
	image_poke(&image, code, image.layout.code_name, image_text(&image, "after"), 8);
	EXPECT(chain_of(TID), "after:10");
	cr_expect(ne(u32, chain_of(TID)->frames[0].code, number));
	tear_down();
}

Test(python_remote, names_are_utf_8)
{
	static const uint32_t name[] = { 'n', 0xe4, 0x20ac, 0x1f40d, 0xd800 };

	set_up(PYTHON_VERSION(12), BASE);
	image_frame(
		&image,
		image_code(&image, image_text(&image, "a.py"), image_wide_text(&image, name, 5), 7),
		0);
	image_thread(&image, TID);
	EXPECT(chain_of(TID), "nä€🐍\ufffd:7");
	tear_down();
}

Test(python_remote, a_chain_that_goes_in_circles_ends)
{
	set_up(PYTHON_VERSION(12), BASE);
	uint64_t outer = image_frame(&image, function("outer", 10), 0);
	uint64_t inner = image_frame(&image, function("inner", 20), 0);
	image_thread(&image, TID);
	image_poke(&image, outer, image.layout.frame_previous, inner, 8);
	const struct python_chain *chain = chain_of(TID);
	cr_expect(eq(u32, chain->count, PYTHON_FRAMES_MAX));
	cr_expect(eq(u32, chain->flags, PYTHON_CUT));
	image_poke(&image, outer, image.layout.frame_previous, outer, 8);
	cr_expect(eq(u32, chain_of(TID)->count, 1), "it does not call itself");
	tear_down();
}

Test(python_remote, what_is_no_code_object_cuts_the_chain)
{
	set_up(PYTHON_VERSION(12), BASE);
	uint64_t outer = image_frame(&image, function("outer", 10), 0);
	image_frame(&image, function("inner", 20), 0);
	image_thread(&image, TID);
	image_poke(&image, outer, image.layout.frame_code, image.interpreter, 8);
	const struct python_chain *chain = chain_of(TID);
	cr_expect(eq(u32, chain->count, 1));
	cr_expect(eq(u32, chain->flags, PYTHON_CUT));
	tear_down();
}

// C functions among a frame's operands.

#define FUNCTION UINT64_C(0x7f00dead0000) // its code

static char told[1024]; // "{built-in method a.b}@0 "

static void tell(void *context, uint64_t address, const char *name)
{
	size_t used = strlen(told);

	(void)context;
	snprintf(told + used, sizeof(told) - used, "%s@%u ", name, (unsigned)(address - FUNCTION));
}

static const char *look(void)
{
	const struct python_name_sink sink = { tell, NULL };

	told[0] = '\0';
	chain_of(TID);
	python_remote_called(remote, &python, memory, &sink);
	return told;
}

static void word(uint64_t object, unsigned index, uint64_t value)
{
	image_poke(&image, object, image.layout.object_type + 8 + 8 * (int32_t)index, value, 8);
}

static uint64_t characters(const char *text)
{
	uint64_t at = image_take(&image, strlen(text) + 1);

	for (int32_t i = 0; text[i]; i++)
		image_poke(&image, at, i, (uint8_t)text[i], 1);
	return at;
}

static uint64_t object(uint64_t type)
{
	uint64_t at = image_take(&image, 512);

	image_poke(&image, at, image.layout.object_type, type, 8);
	return at;
}

static uint64_t type(const char *name, uint64_t methods, uint64_t base)
{
	uint64_t at = object(python.types.type);

	word(at, 1, characters(name));
	word(at, 27, methods);
	word(at, 30, base);
	return at;
}

static uint64_t method(const char *name, unsigned number)
{
	uint64_t at = image_take(&image, 64);

	image_poke(&image, at, 0, characters(name), 8);
	image_poke(&image, at, 8, FUNCTION + number, 8);
	return at;
}

static void set_up_types(uint32_t minor)
{
	set_up(PYTHON_VERSION(minor), BASE);
	python.types = (struct python_types){
		.function = object(0),
		.method = object(0),
		.class_method = object(0),
		.module = object(0),
		.type = object(0),
	};
}

static uint64_t function_of(uint64_t self, uint64_t module, uint64_t definition)
{
	uint64_t at = object(python.types.function);

	word(at, 0, definition);
	word(at, 1, self);
	word(at, 2, module);
	return at;
}

static uint64_t descriptor_of(uint64_t of, uint64_t definition)
{
	uint64_t at = object(python.types.method);

	word(at, 0, of);
	word(at, 3, definition);
	return at;
}

Test(python_remote, c_functions_that_a_frame_calls_have_their_names_of_python)
{
	for (uint32_t minor = 8; minor <= 15; minor++) {
		set_up_types(minor);
		uint64_t append = method("append", 3);
		uint64_t base = type("list", append, 0), list = type("mine", 0, base);
		const uint64_t operands[] = {
			0,
			function_of(object(python.types.module), image_text(&image, "builtins"),
			            method("len", 1)),
			descriptor_of(type("re.Pattern", 0, 0), method("sub", 2)),
			function_of(object(list), 0, append),
			object(base), // an argument
		};
		image_operands(&image, function("f", 1), 3, operands, 5);
		image_thread(&image, TID);
		const char *wanted = "{built-in method builtins.len}@1 "
				     "{method 'sub' of 're.Pattern' objects}@2 "
				     "{method 'append' of 'list' objects}@3 ";
		cr_expect(eq(str, (char *)look(), (char *)wanted), "3.%u", minor);
		cr_expect(eq(str, (char *)look(), ""), "told once");
		tear_down();
	}
}

Test(python_remote, what_operators_call_has_the_name_of_the_type_that_defines_it)
{
	for (uint32_t minor = 8; minor <= 15; minor++) {
		set_up_types(minor);
		python.types.code_start = FUNCTION + 100;
		python.types.code_end = FUNCTION + 200;
		uint64_t base = type("numpy.ndarray", 0, 0), own = type("mine", 0, base);
		uint64_t mapping = image_take(&image, 64), numbers = image_take(&image, 512);
		image_poke(&image, mapping, 8, FUNCTION + 1, 8);    // subscript
		image_poke(&image, numbers, 0, FUNCTION + 2, 8);    // add
		image_poke(&image, numbers, 8, FUNCTION + 2, 8);    // sub: the same function
		image_poke(&image, numbers, 16, FUNCTION + 150, 8); // mul: the interpreter's
		word(base, 12, mapping);
		word(own, 12, mapping);
		word(own, 10, numbers);
		word(own, 23, FUNCTION + 3);
		const uint64_t operands[] = { object(own), object(base) };
		image_operands(&image, function("f", 1), 0, operands, 2);
		image_thread(&image, TID);
		const char *wanted = "{slot '__getitem__' of 'numpy.ndarray' objects}@1 "
				     "{comparison of 'mine' objects}@3 "
				     "{slot '__add__' of 'mine' objects}@2 ";
		cr_expect(eq(str, (char *)look(), (char *)wanted), "3.%u", minor);
		cr_expect(eq(str, (char *)look(), ""), "told once");
		tear_down();
	}
}

Test(python_remote, a_function_that_goes_by_several_names_has_none)
{
	set_up_types(12);
	uint64_t list = type("list", 0, 0);
	const uint64_t operands[] = { descriptor_of(list, method("a", 1)),
		                      descriptor_of(list, method("b", 1)),
		                      descriptor_of(list, method("c", 1)) };

	image_operands(&image, function("f", 1), 0, operands, 3);
	image_thread(&image, TID);
	cr_expect(eq(str, (char *)look(), "{method 'a' of 'list' objects}@1 @1 "));
	tear_down();
}

Test(python_remote, what_only_looks_like_a_c_function_has_no_name)
{
	set_up_types(12);
	uint64_t list = type("list", 0, 0);
	const uint64_t operands[] = {
		descriptor_of(list, method("two words", 1)), // no name of C's
		descriptor_of(list, 0),
		descriptor_of(0, method("a", 2)),
		function_of(object(list), 0, method("__new__", 3)), // no type has it
		object(0),
		BASE + 3,
		UINT64_MAX,
	};

	image_operands(&image, function("f", 1), 0, operands, 7);
	image_thread(&image, TID);
	cr_expect(eq(str, (char *)look(), ""));
	tear_down();
}

Test(python_remote, a_list_of_threads_that_goes_in_circles_ends)
{
	set_up(PYTHON_VERSION(12), BASE);
	two_functions();
	uint64_t state = image_thread(&image, TID);
	image_poke(&image, state, image.layout.thread_next, state, 8);
	EXPECT(chain_of(TID), "inner:20 outer:10");
	tear_down();
}

Test(python_remote, an_unknown_version_has_no_frames)
{
	set_up(PYTHON_VERSION(12), BASE);
	two_functions();
	image_thread(&image, TID);
	python.version = PYTHON_VERSION(16);
	EXPECT(chain_of(TID), "none");
	tear_down();
}

Test(python_remote, who_waits_within_the_gil_waits_for_it)
{
	for (uint32_t minor = 8; minor <= 15; minor++) {
		set_up(PYTHON_VERSION(minor), BASE);
		const struct python_layout *l = &image.layout;
		uint64_t gil = image.runtime + (uint64_t)l->runtime_gil;
		if (l->runtime_gil < 0)
			memcpy(&gil, image.bytes + (image.interpreter - BASE) + l->interpreter_gil,
			       8);
		const uint64_t timed = (uint64_t)l->gil_locked + 16;
		two_functions();
		image_thread(&image, TID);
		image_poke(&image, gil, l->gil_holder - 8, 5000, 8);
		cr_expect(not(python_remote_is_gil(remote, gil + 40)), "not known yet");
		chain_of(TID);
		cr_expect(python_remote_is_gil(remote, gil + 40), "3.%u", minor);
		cr_expect(not(python_remote_is_gil(remote, gil - 8)), "3.%u", minor);
		cr_expect(eq(u64, python_remote_gil_step_ns(remote, gil + timed), 5000000), "3.%u",
		          minor);
		cr_expect(eq(u64, python_remote_gil_step_ns(remote, gil + timed + 88), 0), "3.%u",
		          minor);
		cr_expect(not(python_remote_is_gil(remote, gil + (uint64_t)l->gil_bytes)), "3.%u",
		          minor);
		tear_down();
	}
}

Test(python_remote, the_gil_tells_who_holds_it)
{
	for (uint32_t minor = 8; minor <= 15; minor++) {
		uint32_t holder;
		set_up(PYTHON_VERSION(minor), BASE);
		const struct python_layout *l = &image.layout;
		uint64_t gil = image.runtime + (uint64_t)l->runtime_gil;
		if (l->runtime_gil < 0)
			memcpy(&gil, image.bytes + (image.interpreter - BASE) + l->interpreter_gil,
			       8);
		two_functions();
		uint64_t state = image_thread(&image, TID);
		chain_of(TID);
		image_poke(&image, gil, l->gil_holder, state, 8);
		remote_memory_begin(memory, image_read, &image);
		cr_expect(python_remote_gil(remote, memory, 0, &holder), "3.%u", minor);
		cr_expect(eq(u32, holder, 0), "3.%u: it held it last", minor);
		image_poke(&image, gil, l->gil_locked, 1, 4);
		remote_memory_begin(memory, image_read, &image);
		python_remote_gil(remote, memory, 0, &holder);
		cr_expect(eq(u32, holder, TID), "3.%u", minor);
		cr_expect(not(python_remote_gil(remote, memory, 1, &holder)), "3.%u", minor);
		tear_down();
	}
}

Test(python_remote, a_look_at_a_deep_stack_takes_few_system_calls)
{
	set_up(PYTHON_VERSION(12), BASE);
	uint64_t code = function("again", 10);
	for (int i = 0; i < 100; i++)
		image_frame(&image, code, 0);
	image_thread(&image, TID);
	chain_of(TID);
	image.reads = 0;
	cr_expect(eq(u32, chain_of(TID)->count, 100));
	cr_expect(le(u32, image.reads, 12));
	tear_down();
}

Test(python_remote, a_look_ends)
{
	uint8_t byte;

	set_up(PYTHON_VERSION(12), BASE);
	remote_memory_begin(memory, image_read, &image);
	for (uint64_t i = 0; i < 2 * REMOTE_READS_MAX; i++)
		remote_memory_read(memory, i * REMOTE_PAGE, &byte, 1);
	cr_expect(eq(u32, image.reads, REMOTE_READS_MAX));
	cr_expect(not(remote_memory_read(memory, BASE, &byte, 1)));
	remote_memory_begin(memory, image_read, &image);
	cr_expect(remote_memory_read(memory, BASE, &byte, 1));
	tear_down();
}

Test(python_remote, memory_of_a_process_is_read_by_the_kernel)
{
	int pid = getpid();
	struct python_remote_thread who = { .pid = (uint32_t)pid,
		                            .tid = TID,
		                            .now_ns = NS_PER_SEC };

	set_up(PYTHON_VERSION(12), 0); // our own memory, as it is
	two_functions();
	image_thread(&image, TID);
	remote_memory_begin(memory, remote_memory_of_process, &pid);
	EXPECT(python_remote_chain(remote, &python, codes, memory, &who), "inner:20 outer:10");
	uint64_t word;
	cr_expect(not(remote_memory_read(memory, 8, &word, 8)), "nothing is there");
	cr_expect(not(remote_memory_read(memory, UINT64_MAX - 3, &word, 8)));
	tear_down();
}
