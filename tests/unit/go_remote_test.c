// SPDX-License-Identifier: MIT
#include "sampler/go/go_remote.h"

#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

// A process whose memory begins at BASE: the list, its length, words for waits, g's and stacks.
#define BASE        UINT64_C(0xc000000000)
#define BYTES       (UINT64_C(8) << 20)
#define LENGTH_AT   (BASE + 0)
#define POINTER_AT  (BASE + 8)
#define REASONS_AT  (BASE + 64)
#define TEXT_AT     (BASE + 512)
#define LIST_AT     (BASE + 4096)
#define GS_AT       (BASE + (UINT64_C(1) << 20))
#define STACKS_AT   (BASE + (UINT64_C(3) << 20))
#define STACK_BYTES UINT64_C(4096)

static const struct go_layout layout = {
	.all_pointer = 8,
	.all_length = 0,
	.reasons = 64,
	.reason_count = 3,
	.stack_high = 8,
	.sp = 16,
	.pc = 24,
	.bp = 32,
	.status = 40,
	.reason = 44,
	.goid = 48,
	.start = 56,
	.call_sp = 64,
	.call_pc = 72,
	.call_bp = 80,
	.g_bytes = 88,
};

static uint8_t *bytes;
static struct go_room *room;
static struct go_remote *remote;
static uint64_t moved; // a goroutine goes on once its stack has been read; 0: none

static void put(uint64_t at, uint64_t word)
{
	memcpy(bytes + (at - BASE), &word, sizeof(word));
}

static void read_image(void *context, struct go_read *reads, size_t count)
{
	(void)context;
	for (size_t i = 0; i < count; i++) {
		struct go_read *r = &reads[i];
		r->done = r->address >= BASE && r->address - BASE <= BYTES &&
		          r->size <= BYTES - (r->address - BASE);
		if (r->done)
			memcpy(r->to, bytes + (r->address - BASE), r->size);
		if (moved && r->address >= STACKS_AT)
			put(moved + (uint64_t)layout.sp, 8);
	}
}

static uint64_t g_at(uint64_t i)
{
	return GS_AT + 128 * i;
}

// Goroutine I, which has FRAMES callers at 0x500, 0x501 ... above gopark at 0x400.
static void put_g(uint64_t i, uint32_t status, uint8_t reason, uint64_t frames)
{
	uint64_t g = g_at(i), stack = STACKS_AT + STACK_BYTES * (i % 64), bp = stack + 128;

	put(LIST_AT + 8 * i, g);
	put(g + (uint64_t)layout.stack_high, stack + STACK_BYTES);
	put(g + (uint64_t)layout.sp, stack + 64);
	put(g + (uint64_t)layout.pc, 0x400);
	put(g + (uint64_t)layout.bp, bp);
	put(g + (uint64_t)layout.status, status | (uint64_t)reason << 32);
	put(g + (uint64_t)layout.goid, i + 1);
	put(g + (uint64_t)layout.start, 0x1000);
	for (uint64_t k = 0; k < frames; k++, bp += 32) {
		put(bp, k + 1 < frames ? bp + 32 : 0);
		put(bp + 8, 0x500 + k);
	}
}

static void set_up(void)
{
	static const char text[] = "chan receivesleep\x01"
				   "bad";

	bytes = calloc(1, BYTES);
	moved = 0;
	memcpy(bytes + (TEXT_AT - BASE), text, sizeof(text));
	put(POINTER_AT, LIST_AT);
	put(REASONS_AT, TEXT_AT);
	put(REASONS_AT + 8, 12);
	put(REASONS_AT + 16, TEXT_AT + 12);
	put(REASONS_AT + 24, 5);
	put(REASONS_AT + 32, TEXT_AT);
	put(REASONS_AT + 40, UINT64_C(1) << 40);
	room = go_room_new();
	cr_assert(ne(ptr, room, NULL));
	remote = go_remote_new(&layout, BASE, room);
}

static void tear_down(void)
{
	go_remote_free(remote);
	go_room_free(room);
	free(bytes);
}

static const struct go_group *pass(uint64_t listed, size_t *count)
{
	*count = 0;
	put(LENGTH_AT, listed);
	return go_remote_pass(remote, read_image, NULL, count);
}

TestSuite(go_remote, .init = set_up, .fini = tear_down);

Test(go_remote, goroutines_that_wait_at_the_same_place_are_one_group)
{
	size_t count;

	for (uint64_t i = 0; i < 20; i++)
		put_g(i, 4, 0, 3);
	put_g(20, 4, 1, 3);
	put_g(21, 4 | 0x1000, 0, 3); // its stack is scanned
	const struct go_group *groups = pass(22, &count);
	cr_assert(ne(ptr, (void *)groups, NULL));
	cr_assert(eq(u64, count, 2));
	cr_expect(eq(u64, groups[0].goroutines, 21));
	cr_expect(eq(int, (int)groups[0].state, GOROUTINE_WAITING));
	cr_expect(eq(str, (char *)groups[0].reason, "chan receive"));
	cr_expect(eq(u64, groups[0].start, 0x1000));
	cr_assert(eq(u64, groups[0].count, 4));
	cr_expect(eq(u64, groups[0].frames[0], 0x400));
	cr_expect(eq(u64, groups[0].frames[1], 0x500));
	cr_expect(eq(u64, groups[0].frames[3], 0x502));
	cr_expect(eq(str, (char *)groups[1].reason, "sleep"));
}

Test(go_remote, states_are_those_of_the_runtime)
{
	static const struct {
		uint32_t status;
		int state; // -1: it counts as none
	} rows[] = {
		{ 0, -1 },
		{ 1, GOROUTINE_RUNNABLE },
		{ 2, GOROUTINE_RUNNING },
		{ 3, GOROUTINE_IN_CALL },
		{ 4, GOROUTINE_WAITING },
		{ 6, -1 },
		{ 8, GOROUTINE_RUNNING },
		{ 9, GOROUTINE_RUNNABLE },
		{ 10, GOROUTINE_WAITING },
		{ 77, -1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t count;
		put_g(0, rows[i].status, 0, 1);
		const struct go_group *groups = pass(1, &count);
		cr_assert(ne(ptr, (void *)groups, NULL));
		cr_expect(eq(u64, count, rows[i].state >= 0), "status %u", rows[i].status);
		if (count)
			cr_expect(eq(int, (int)groups[0].state, rows[i].state), "status %u",
			          rows[i].status);
	}
}

Test(go_remote, what_goes_on_while_its_stack_is_read_waits_at_no_place)
{
	size_t count;

	put_g(0, 4, 0, 3);
	moved = g_at(0);
	const struct go_group *groups = pass(1, &count);
	cr_assert(ne(ptr, (void *)groups, NULL));
	cr_assert(eq(u64, count, 1));
	cr_expect(eq(int, (int)groups[0].state, GOROUTINE_WAITING));
	cr_expect(eq(u64, groups[0].count, 0));
}

Test(go_remote, a_call_has_its_own_place_as_far_as_its_version_keeps_it)
{
	struct go_layout older = layout;
	size_t count;

	older.call_bp = -1;
	put_g(0, 3, 0, 3);
	put(g_at(0) + (uint64_t)layout.call_sp, STACKS_AT + 96);
	put(g_at(0) + (uint64_t)layout.call_pc, 0x900);
	put(g_at(0) + (uint64_t)layout.call_bp, STACKS_AT + 128);
	for (int old = 0; old < 2; old++) {
		const struct go_group *groups = pass(1, &count);
		cr_assert(ne(ptr, (void *)groups, NULL));
		cr_assert(eq(u64, count, 1));
		cr_expect(eq(u64, groups[0].frames[0], 0x900));
		cr_expect(eq(u64, groups[0].count, old ? 1 : 4));
		go_remote_free(remote);
		remote = go_remote_new(&older, BASE, room);
	}
}

Test(go_remote, of_very_many_some_stand_for_all)
{
	const uint64_t all = 10007;
	uint64_t sum = 0, sleeping = 0;
	size_t count;

	for (uint64_t i = 0; i < all; i++)
		put_g(i, 4, i % 4 == 0, 0);
	for (int k = 0; k < 20; k++) {
		const struct go_group *groups = pass(all, &count);
		cr_assert(ne(ptr, (void *)groups, NULL));
		for (size_t i = 0; i < count; i++) {
			sum += groups[i].goroutines;
			if (strcmp(groups[i].reason, "sleep") == 0)
				sleeping += groups[i].goroutines;
		}
	}
	cr_expect(eq(u64, go_remote_looked(remote), GO_LOOKED_MAX));
	cr_expect(eq(u64, go_remote_listed(remote), all));
	cr_expect(eq(u64, sum, 20 * all));
	// Of 20,000 drawn, a quarter: its deviation is 0.3 points.
	cr_expect(epsilon_eq(dbl, (double)sleeping / (double)sum, 0.25, 0.02));
}

Test(go_remote, what_cannot_be_is_left_out)
{
	static const struct {
		const char *what;
		uint64_t at, word;
		size_t frames; // that are believed
	} rows[] = {
		{ "a frame pointer below the stack", GS_AT + 32, 8, 1 },
		{ "one that is not aligned", GS_AT + 32, STACKS_AT + 129, 1 },
		{ "one beyond the stack", GS_AT + 32, STACKS_AT + STACK_BYTES - 8, 1 },
		{ "one that leads to itself", STACKS_AT + 128, STACKS_AT + 128, 2 },
		{ "one that leads back", STACKS_AT + 160, STACKS_AT + 128, 3 },
		{ "no code", GS_AT + 24, 0, 0 },
		{ "a stack below its pointer", GS_AT + 8, STACKS_AT, 0 },
		{ "a stack of everything", GS_AT + 8, UINT64_MAX, 0 },
		{ "a stack that is not there", GS_AT + 16, 64, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t count;
		put_g(0, 4, 0, 3);
		put(rows[i].at, rows[i].word);
		const struct go_group *groups = pass(1, &count);
		cr_assert(ne(ptr, (void *)groups, NULL), "%s", rows[i].what);
		cr_assert(eq(u64, count, 1), "%s", rows[i].what);
		cr_expect(eq(u64, groups[0].count, rows[i].frames), "%s", rows[i].what);
	}
}

Test(go_remote, a_list_that_cannot_be_is_none)
{
	size_t count;

	put_g(0, 4, 0, 1);
	cr_expect(eq(ptr, (void *)pass(0, &count), NULL));
	cr_expect(eq(ptr, (void *)pass(UINT64_MAX, &count), NULL));
	cr_expect(eq(ptr, (void *)pass(UINT64_C(1) << 27, &count), NULL));
	put(POINTER_AT, 3);
	cr_expect(eq(ptr, (void *)pass(1, &count), NULL));
	put(POINTER_AT, 0);
	cr_expect(eq(ptr, (void *)pass(1, &count), NULL));
	put(POINTER_AT, LIST_AT);
	put(LIST_AT, 12345); // no g is there
	cr_expect(ne(ptr, (void *)pass(1, &count), NULL));
	cr_expect(eq(u64, count, 0));
}

Test(go_remote, words_that_are_no_text_are_not_shown)
{
	size_t count;

	for (uint8_t reason = 2; reason < 4; reason++) {
		put_g(0, 4, reason, 1);
		const struct go_group *groups = pass(1, &count);
		cr_assert(ne(ptr, (void *)groups, NULL));
		cr_expect(eq(str, (char *)groups[0].reason, ""));
	}
}

Test(go_remote, a_deep_stack_is_read_in_pieces_up_to_a_limit)
{
	size_t count;

	put_g(0, 4, 0, 60);
	const struct go_group *groups = pass(1, &count);
	cr_assert(ne(ptr, (void *)groups, NULL));
	cr_assert(eq(u64, groups[0].count, GO_FRAMES_MAX));
	cr_expect(eq(u64, groups[0].frames[GO_FRAMES_MAX - 1], 0x500 + GO_FRAMES_MAX - 2));
}
