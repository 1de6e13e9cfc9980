// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tests/support/temporary.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/python/python_code.h"
#include "tracer/agent/python/python_frames.h"
#include "tracer/agent/python/python_guard.h"
#include "tracer/agent/python/python_text.h"
#include "tracer/agent/python/python_threads.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE  ((size_t)4096)
#define WORDS 64

// An interpreter's memory: objects of some words each, at any offset of which something is put.
struct block {
	uintptr_t words[WORDS];
};

static struct block code_type, thread, code, other_code, lines;
static struct {
	uintptr_t header[3];
	struct block frames[4];
} chunk;
static struct block stack[4]; // of the machine, lowest first
static struct python_runtime runtime;
static struct guard guard;

static void put(void *object, int32_t offset, uintptr_t value)
{
	memcpy((char *)object + offset, &value, sizeof(value));
}

static void put_byte(void *object, int32_t offset, uint8_t value)
{
	((uint8_t *)object)[offset] = value;
}

static uintptr_t at(const void *object)
{
	return (uintptr_t)object;
}

static void put_code(struct block *c, uintptr_t size)
{
	const struct python_layout *l = &runtime.layout;

	put(c, l->object_type, at(&code_type));
	put(c, l->code_size, size);
	put(c, l->code_lines, at(&lines));
}

static void begin(uint32_t minor)
{
	memset(&thread, 0, sizeof(thread));
	memset(&chunk, 0, sizeof(chunk));
	memset(stack, 0, sizeof(stack));
	memset(&code, 0, sizeof(code));
	memset(&other_code, 0, sizeof(other_code));
	memset(&lines, 0, sizeof(lines));
	memset(&guard, 0, sizeof(guard));
	runtime = (struct python_runtime){ .code_type = at(&code_type) };
	cr_assert(python_layout_of(PYTHON_VERSION(minor), &runtime.layout));
	const struct python_layout *l = &runtime.layout;
	guard.stack_low = at(stack);
	guard.stack_high = at(stack + 4);
	chunk.header[1] = sizeof(chunk);
	if (l->thread_chunk >= 0) {
		put(&thread, l->thread_chunk, at(&chunk));
		put(&thread, l->thread_top, at(&chunk.frames[3]));
	}
	put_code(&code, 10);
	put_code(&other_code, 20);
}

static void put_frame(void *frame, const void *of, const void *caller, uintptr_t instruction)
{
	const struct python_layout *l = &runtime.layout;

	put(frame, l->frame_code, at(of));
	put(frame, l->frame_previous, at(caller));
	put(frame, l->frame_instruction, instruction);
}

// An instruction at OFFSET of the code object OF.
static uintptr_t instruction(const void *of, uintptr_t offset)
{
	return at(of) + (uintptr_t)runtime.layout.code_start + offset;
}

static struct python_frames start(void)
{
	struct python_frames frames;

	cr_assert(python_frames_start(&frames, &runtime, &guard, at(&thread)));
	return frames;
}

static void expect_step(struct python_frames *frames, const void *of, int32_t place,
                        const void *anchor)
{
	struct python_step step;

	cr_assert(python_frames_next(frames, &step));
	cr_expect(eq(ulong, step.code, at(of)));
	cr_expect(eq(int, python_frames_instruction(&runtime, &guard, &step), place));
	cr_expect(eq(ulong, step.anchor, at(anchor)));
}

static void expect_end(struct python_frames *frames)
{
	struct python_step step;

	cr_expect(not(python_frames_next(frames, &step)));
}

Test(agent_python, up_to_3_10_frames_are_a_list)
{
	begin(10);
	put(&thread, runtime.layout.thread_frame, at(&chunk.frames[1]));
	put_frame(&chunk.frames[1], &code, &chunk.frames[0], 7);
	put_frame(&chunk.frames[0], &other_code, NULL, (uint32_t)-1);

	struct python_frames frames = start();
	expect_step(&frames, &code, 14, NULL); // in units of two bytes
	expect_step(&frames, &other_code, -1, NULL);
	expect_end(&frames);
}

// stack[0] is the newest call's cframe, stack[2] the one before; the root is in the thread.
static void put_cframe(void *cframe, const void *current, const void *previous)
{
	put(cframe, runtime.layout.cframe_current, at(current));
	put(cframe, runtime.layout.cframe_previous, at(previous));
}

static void put_two_calls(void)
{
	const struct python_layout *l = &runtime.layout;
	char *root = (char *)&thread + l->thread_bytes - 24;

	put(&thread, l->thread_frame, at(&stack[0]));
	put_cframe(&stack[0], &chunk.frames[2], &stack[2]);
	put_cframe(&stack[2], &chunk.frames[0], root);
	put_cframe(root, NULL, NULL);
	put_frame(&chunk.frames[2], &code, &chunk.frames[1], instruction(&code, 4));
	put_frame(&chunk.frames[1], &code, &chunk.frames[0], instruction(&code, 6));
	put_frame(&chunk.frames[0], &other_code, NULL, instruction(&other_code, 8));
	put_byte(&chunk.frames[1], l->frame_entry, 1);
	put_byte(&chunk.frames[0], l->frame_entry, 1);
}

Test(agent_python, in_3_11_the_outermost_frame_of_a_call_stands_at_its_cframe)
{
	begin(11);
	put_two_calls();

	struct python_frames frames = start();
	expect_step(&frames, &code, 4, NULL);
	expect_step(&frames, &code, 6, &stack[0]);
	expect_step(&frames, &other_code, 8, &stack[2]);
	expect_end(&frames);
}

Test(agent_python, a_call_that_is_ending_has_no_frames_left)
{
	begin(11);
	put_two_calls();
	put_cframe(&stack[0], &chunk.frames[0], &stack[2]);

	struct python_frames frames = start();
	expect_step(&frames, &other_code, 8, &stack[2]);
	expect_end(&frames);
}

Test(agent_python, what_earlier_calls_have_left_is_no_frame)
{
	struct python_frames frames;
	struct python_step step;

	begin(11);
	put_two_calls();
	put(&thread, runtime.layout.thread_top, at(&chunk.frames[2]));
	cr_assert(python_frames_start(&frames, &runtime, &guard, at(&thread)));
	cr_expect(not(python_frames_next(&frames, &step)));
}

// A call of eval has just made stack[0] the newest cframe; what it holds was left by others.
Test(agent_python, while_a_call_begins_the_cframe_before_is_in_a_register)
{
	uint64_t registers[DWARF_REGISTERS] = { 0 };

	begin(11);
	put_two_calls();
	put_cframe(&stack[0], &code, &other_code);
	runtime.eval_start = 0x400000;
	registers[DWARF_RIP] = 0x400040;
	registers[DWARF_RBX] = 0x1234;
	registers[DWARF_R12] = at(&stack[0]);
	registers[DWARF_R13] = at(&stack[1]);
	registers[DWARF_R14] = at(&stack[2]);

	struct python_frames frames = start();
	cr_assert(python_frames_enter(&frames, registers));
	expect_step(&frames, &other_code, 8, &stack[2]);
	expect_end(&frames);

	frames = start();
	registers[DWARF_R14] = 0;
	cr_expect(not(python_frames_enter(&frames, registers)), "it is in none");
}

Test(agent_python, a_call_that_has_begun_is_told)
{
	uint64_t registers[DWARF_REGISTERS] = { 0 };

	begin(11);
	put_two_calls();
	runtime.eval_start = 0x400000;
	registers[DWARF_RIP] = 0x400080;
	registers[DWARF_R14] = at(&stack[2]);
	struct python_frames frames = start();
	cr_assert(python_frames_enter(&frames, registers));
	expect_step(&frames, &code, 4, NULL);
}

Test(agent_python, a_frame_that_was_just_taken_from_the_stack_has_returned)
{
	uint64_t registers[DWARF_REGISTERS] = { 0 };

	begin(11);
	put_two_calls();
	put(&thread, runtime.layout.thread_top, at(&chunk.frames[2]));
	struct python_frames frames = start();
	cr_assert(python_frames_enter(&frames, registers));
	expect_step(&frames, &code, 6, &stack[0]);
}

// push_chunk() of CPython 3.11 is interrupted; the thread has no frame yet.
Test(agent_python, a_thread_that_just_gets_its_first_chunk_is_in_no_frame)
{
	uint64_t registers[DWARF_REGISTERS] = { 0 };

	begin(11);
	put_cframe(&stack[0], NULL, NULL);
	put(&thread, runtime.layout.thread_frame, at(&stack[0]));
	put(&thread, runtime.layout.thread_top, 0);
	struct python_frames frames = start();
	cr_expect(not(python_frames_enter(&frames, registers)));
	expect_end(&frames);
}

// What is left of its chunk is less than a frame, and then there may be no more memory.
Test(agent_python, a_frame_is_not_read_beyond_its_chunk)
{
	uint64_t registers[DWARF_REGISTERS] = { 0 };
	uintptr_t last = at(&chunk) + sizeof(chunk) - 8;

	begin(11);
	runtime.eval_start = 0x400000; // and it is not in there
	put_cframe(&stack[0], (void *)last, NULL);
	put(&thread, runtime.layout.thread_frame, at(&stack[0]));
	put(&thread, runtime.layout.thread_top, last);
	struct python_frames frames = start();
	cr_expect(python_frames_enter(&frames, registers));
	cr_expect(eq(ulong, frames.frame, last), "it is left to the walk, which refuses it");
	expect_end(&frames);
}

static void *own_thread(void)
{
	return &thread;
}

// It runs, and gives back the memory of its frames: 3.13, whose interpreter tells its own layout.
Test(agent_python, the_frames_of_another_interpreters_thread_are_not_looked_at)
{
	struct block interpreters[2] = { 0 }, other = { 0 };
	uintptr_t *gone =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool holds_gil;

	begin(12);
	struct python_layout *l = &runtime.layout;
	l->version = PYTHON_VERSION(13);
	l->cframe_current = l->cframe_previous = -1;
	struct block all = { 0 };
	put(&all, l->runtime_interpreters, at(&interpreters[0]));
	put(&interpreters[0], l->interpreter_next, at(&interpreters[1]));
	put(&interpreters[0], l->interpreter_threads, at(&thread));
	put(&interpreters[1], l->interpreter_threads, at(&other));
	gone[PYTHON_CHUNK_SIZE / 8] = 2 * PAGE;
	put(&other, l->thread_chunk, at(gone));
	put(&other, l->thread_top, at(gone) + 2 * PAGE);
	put(&other, l->thread_frame, at(gone) + PAGE);
	cr_assert(eq(int, mprotect((char *)gone + PAGE, PAGE, PROT_NONE), 0));
	runtime.runtime = at(&all);
	runtime.own = own_thread;
	cr_expect(eq(ulong, python_threads_own(&runtime, &guard, 1, &holds_gil), at(&thread)));
	cr_expect(not(holds_gil));
	munmap(gone, 2 * PAGE);
}

Test(agent_python, a_thread_of_its_own_copy_of_the_bytecode_is_in_its_code)
{
	uintptr_t copies[3] = { 2, 0x10000, 0x20000 };

	begin(12);
	runtime.layout.frame_tlbc = 60;
	runtime.layout.code_tlbc = 160;
	put(&code, runtime.layout.code_tlbc, at(copies));
	struct python_step step = { .code = at(&code), .instruction = 0x20010, .tlbc = 1 };
	cr_expect(eq(int, python_frames_instruction(&runtime, &guard, &step), 0x10));
	step.tlbc = 2; // there are two
	cr_expect(eq(int, python_frames_instruction(&runtime, &guard, &step), -2));
	step = (struct python_step){ .code = at(&code), .instruction = instruction(&code, 6) };
	cr_expect(eq(int, python_frames_instruction(&runtime, &guard, &step), 6));
}

Test(agent_python, a_cframe_that_is_not_on_the_stack_is_not_read)
{
	struct python_frames frames;

	begin(11);
	put(&thread, runtime.layout.thread_frame, at(&code));
	cr_expect(not(python_frames_start(&frames, &runtime, &guard, at(&thread))));
}

Test(agent_python, from_3_12_on_a_call_stands_at_its_shim)
{
	begin(12);
	const struct python_layout *l = &runtime.layout;
	put(&thread, l->thread_frame, at(&stack[0]));
	put_cframe(&stack[0], &chunk.frames[1], NULL);
	put_frame(&chunk.frames[1], &code, &stack[1], instruction(&code, 2));
	put_byte(&stack[1], l->frame_owner, PYTHON_OWNER_SHIM);
	put_frame(&stack[1], NULL, &chunk.frames[0], 0);
	put_byte(&stack[1], l->frame_owner, PYTHON_OWNER_SHIM);
	put_frame(&chunk.frames[0], &other_code, &stack[3], instruction(&other_code, 0) - 2);
	put_frame(&stack[3], NULL, NULL, 0);
	put_byte(&stack[3], l->frame_owner, PYTHON_OWNER_SHIM);

	struct python_frames frames = start();
	expect_step(&frames, &code, 2, &stack[1]);
	expect_step(&frames, &other_code, -2, &stack[3]);
	expect_end(&frames);
}

Test(agent_python, a_frame_that_calls_itself_or_cannot_be_read_ends_the_walk)
{
	static const uintptr_t wild[] = { 8, 0x1001, 0xdeadbeef0000, UINTPTR_MAX - 7 };

	for (size_t i = 0; i <= sizeof(wild) / sizeof(wild[0]); i++) {
		begin(10);
		put(&thread, runtime.layout.thread_frame, at(&chunk.frames[1]));
		put_frame(&chunk.frames[1], &code, &chunk.frames[0], 0);
		put_frame(&chunk.frames[0], &code, i ? (void *)wild[i - 1] : &chunk.frames[0], 0);
		struct python_frames frames = start();
		struct python_step step;
		int count = 0;
		while (python_frames_next(&frames, &step))
			count++;
		cr_expect(le(int, count, 2), "%zu", i);
		cr_expect(ge(int, count, 1), "%zu", i);
	}
}

Test(agent_python, memory_is_read_only_where_it_can_be)
{
	unsigned char *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct guard g = { 0 };

	cr_assert(pages != MAP_FAILED);
	mprotect(pages + PAGE, PAGE, PROT_NONE);
	cr_expect(guard_works());
	cr_expect(guard_readable(&g, at(pages), PAGE));
	cr_expect(guard_readable(&g, at(pages) + PAGE - 8, 8));
	cr_expect(not(guard_readable(&g, at(pages) + PAGE - 8, 9)));
	cr_expect(not(guard_readable(&g, at(pages) + PAGE, 1)));
	cr_expect(not(guard_readable(&g, 0, 8)));
	cr_expect(not(guard_readable(&g, UINTPTR_MAX - 3, 8)));
	cr_expect(not(guard_readable(&g, at(pages), SIZE_MAX)));
	munmap(pages, 2 * PAGE);
}

static const struct text_case {
	const char *what;
	uint8_t kind;
	bool ascii, compact;
	size_t length;
	uint32_t characters[4];
	size_t limit;
	const char *utf8;
} texts[] = {
	{ "ascii", 1, true, true, 3, { 'a', 'b', 'c' }, 99, "abc" },
	{ "latin-1", 1, false, true, 2, { 'a', 0xe9 }, 99, "a\xc3\xa9" },
	{ "two bytes each", 2, false, true, 2, { 0x65e5, 'x' }, 99, "\xe6\x97\xa5x" },
	{ "four bytes each", 4, false, true, 1, { 0x1f600 }, 99, "\xf0\x9f\x98\x80" },
	{ "a byte that is no UTF-8", 2, false, true, 1, { 0xdc80 }, 99, "\xef\xbf\xbd" },
	{ "no character", 4, false, true, 1, { 0x110000 }, 99, "\xef\xbf\xbd" },
	{ "cut between characters", 2, false, true, 2, { 0x65e5, 0x65e5 }, 5, "\xe6\x97\xa5" },
	{ "empty", 1, true, true, 0, { 0 }, 99, "" },
	{ "not compact", 1, true, false, 3, { 'a', 'b', 'c' }, 99, "" },
	{ "of no kind", 3, false, true, 3, { 'a', 'b', 'c' }, 99, "" },
};

static void put_text(struct block *text, const struct text_case *c)
{
	const struct python_layout *l = &runtime.layout;
	char *to = (char *)text + (c->ascii ? l->text_ascii : l->text_compact);

	memset(text, 0, sizeof(*text));
	put(text, l->text_length, c->length);
	put(text, l->text_state,
	    (uintptr_t)(c->kind | c->compact << 3 | c->ascii << 4) << l->text_kind_bit);
	for (size_t i = 0; i < 4; i++)
		memcpy(to + i * c->kind, &c->characters[i], c->kind);
}

Test(agent_python, texts_become_utf8)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct text_case *c = &texts[i];
		struct block text;
		uint8_t utf8[64] = { 0 };
		begin(12);
		put_text(&text, c);
		struct python_text t = python_text_of(&runtime.layout, &guard, at(&text), c->limit);
		cr_assert(le(ulong, t.bytes, sizeof(utf8)));
		python_text_write(&t, utf8);
		cr_expect(eq(ulong, t.bytes, strlen(c->utf8)), "%s", c->what);
		cr_expect(eq(int, memcmp(utf8, c->utf8, strlen(c->utf8)), 0), "%s", c->what);
	}
}

Test(agent_python, a_text_that_is_said_to_be_endless_is_cut_or_empty)
{
	struct block text;
	const struct text_case c = { "", 1, true, true, SIZE_MAX, { 'a' }, 16, "" };

	begin(12);
	put_text(&text, &c);
	cr_expect(eq(ulong, python_text_of(&runtime.layout, &guard, at(&text), 16).bytes, 16));
	cr_expect(eq(ulong, python_text_of(&runtime.layout, &guard, 0, 16).bytes, 0));
	cr_expect(eq(ulong, python_text_of(&runtime.layout, &guard, 64, 16).bytes, 0));
}

struct told {
	char directory[64];
	struct agent agent;
	struct lane *lane;
	struct ring ring;
};

static struct told *open_rings(void)
{
	struct told *t = calloc(1, sizeof(*t));

	cr_assert(t != NULL);
	temporary_make(t->directory, sizeof(t->directory));
	t->agent.pid = 77;
	cr_assert(rings_start(&t->agent.rings, t->directory, 77, 5));
	t->lane = rings_claim(&t->agent.rings, 78);
	cr_assert(t->lane != NULL);
	cr_assert(ring_open(&t->ring, t->lane->ring.header,
	                    RING_HEADER_BYTES + t->lane->ring.mask + 1));
	return t;
}

static void close_rings(struct told *t)
{
	rings_abandon(&t->agent.rings);
	temporary_remove(t->directory);
	free(t);
}

static uint32_t number_of(struct told *t, const void *of)
{
	return python_code_number(&runtime, &guard, &t->agent, t->lane, at(of));
}

static const struct record_python_code *next_code(struct told *t)
{
	ring_advance(&t->ring);
	const struct record *record = ring_peek(&t->ring, NULL);

	cr_assert(not(record && record->type != RECORD_PYTHON_CODE));
	return (const struct record_python_code *)record;
}

Test(agent_python, a_code_object_is_told_before_its_number_is_used_and_once)
{
	static const struct text_case name = { "", 1, true, true, 1, { 'f' }, 9, "f" };
	static const struct text_case file = { "", 2, false, true, 1, { 0xe9 }, 9, "\xc3\xa9" };
	struct block name_text, file_text;
	struct told *t = open_rings();

	begin(11);
	const struct python_layout *l = &runtime.layout;
	put_text(&name_text, &name);
	put_text(&file_text, &file);
	put(&code, l->code_name, at(&name_text));
	put(&code, l->code_file, at(&file_text));
	put(&code, l->code_first_line, 33);
	put(&lines, l->bytes_size, 2);
	memcpy((char *)&lines + l->bytes_data, "\x80\x01", 2);

	uint32_t number = number_of(t, &code);
	const struct record_python_code *told =
		(const struct record_python_code *)ring_peek(&t->ring, NULL);
	cr_assert(told != NULL);
	cr_expect(eq(u16, told->head.type, RECORD_PYTHON_CODE));
	cr_expect(eq(u32, told->head.pid, 77));
	cr_expect(eq(u32, told->code, number));
	cr_expect(eq(u32, told->first_line, 33));
	cr_expect(eq(u32, told->version, PYTHON_VERSION(11)));
	cr_expect(eq(u32, told->file_bytes, 2));
	cr_expect(eq(int,
	             memcmp(told + 1,
	                    "\xc3\xa9"
	                    "f\x80\x01",
	                    5),
	             0));
	cr_expect(eq(u32, number_of(t, &code), number));
	cr_expect(eq(ptr, (void *)next_code(t), NULL));
	close_rings(t);
}

Test(agent_python, another_code_object_in_the_same_place_has_another_number)
{
	struct told *t = open_rings();

	begin(11);
	put(&code, runtime.layout.code_first_line, 5);
	uint32_t first = number_of(t, &code);
	cr_expect(ne(u32, first, 0));
	put(&code, runtime.layout.code_first_line, 6);
	uint32_t second = number_of(t, &code);
	cr_expect(ne(u32, second, 0));
	cr_expect(ne(u32, second, first));
	close_rings(t);
}

Test(agent_python, code_objects_that_say_the_same_have_one_number)
{
	struct told *t = open_rings();

	begin(12);
	uint32_t number = number_of(t, &code);
	cr_expect(ne(u32, number, 0));
	cr_expect(eq(u32, number_of(t, &other_code), number));
	put(&code, runtime.layout.code_version, 7);
	cr_expect(eq(u32, number_of(t, &code), number));
	cr_assert(ring_peek(&t->ring, NULL) != NULL);
	cr_expect(eq(ptr, (void *)next_code(t), NULL), "told once");
	close_rings(t);
}

Test(agent_python, code_objects_that_differ_only_in_their_lines_are_two)
{
	struct told *t = open_rings();

	for (uint32_t minor = 8; minor <= 12; minor++) {
		begin(minor);
		const struct python_layout *l = &runtime.layout;
		put(&lines, l->bytes_size, 2);
		memcpy((char *)&lines + l->bytes_data, "\x02\x01", 2);
		uint32_t first = number_of(t, &code);
		cr_expect(eq(u32, number_of(t, &code), first), "3.%u", minor);
		// Another one, as its version says where there is one.
		memcpy((char *)&lines + l->bytes_data, "\x02\x03", 2);
		if (l->code_version >= 0)
			put_byte(&code, l->code_version, 7);
		cr_expect(ne(u32, number_of(t, &code), first), "3.%u", minor);
	}
	close_rings(t);
}

Test(agent_python, a_forked_child_tells_all_again)
{
	struct told *t = open_rings();

	begin(11);
	uint32_t number = number_of(t, &code);
	cr_assert(ring_peek(&t->ring, NULL) != NULL);
	cr_expect(eq(ptr, (void *)next_code(t), NULL));
	python_code_fork();
	cr_expect(eq(u32, number_of(t, &code), number));
	const struct record_python_code *again =
		(const struct record_python_code *)ring_peek(&t->ring, NULL);
	cr_assert(again != NULL);
	cr_expect(eq(u32, again->code, number));
	close_rings(t);
}

Test(agent_python, what_is_not_a_code_object_has_no_number)
{
	struct told *t = open_rings();

	begin(11);
	put(&code, runtime.layout.object_type, at(&thread));
	cr_expect(eq(u32, number_of(t, &code), 0));
	cr_expect(eq(u32, number_of(t, NULL), 0));
	cr_expect(eq(u32, number_of(t, (void *)0xdeadbeef0000), 0));
	cr_expect(eq(u32, number_of(t, (char *)&other_code + 4), 0));
	close_rings(t);
}

Test(agent_python, a_code_object_that_finds_no_room_is_told_later)
{
	struct told *t = open_rings();
	size_t all;

	begin(11);
	while ((all = lane_room(t->lane)) > 64) {
		struct record *filler =
			lane_reserve(t->lane, t->agent.rings.by_populate, all > 65536 ? 32768 : 64);
		cr_assert(filler != NULL);
		filler->type = RECORD_NOTE;
		lane_commit(t->lane, filler, all > 65536 ? 32768 : 64);
	}
	cr_expect(eq(u32, number_of(t, &code), 0));
	while (ring_peek(&t->ring, NULL))
		ring_advance(&t->ring);
	cr_expect(ne(u32, number_of(t, &code), 0));
	close_rings(t);
}
