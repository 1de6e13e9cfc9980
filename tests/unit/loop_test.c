// SPDX-License-Identifier: MIT
// Kinds that compilers' code has are tested by tests/loops; this is code byte by byte.
#include "symbolize/loop/loop.h"

#include "symbolize/loop/insn.h"
#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

// mov (%rdi),%rdi; test %rdi,%rdi; jne: a list is walked.
static const uint8_t walk[] = { 0x48, 0x8b, 0x3f, 0x48, 0x85, 0xff, 0x75, 0xf8, 0xc3 };
// nop; divsd %xmm1,%xmm0; inc %rax; cmp %rsi,%rax; nop (7 times); jne
static const uint8_t divide[] = { 0x90, 0xf2, 0x0f, 0x5e, 0xc1, 0x48, 0xff, 0xc0, 0x48, 0x39, 0xf0,
	                          0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x75, 0xec, 0xc3 };

static enum loop_kind kind_of(const uint8_t *code, size_t size, uint32_t at)
{
	const struct loop_sample sample = { at, 100, NULL, NULL };
	struct loop_found found;

	// A copy of just that size, so that sanitizers see what is read beyond.
	uint8_t *copy = malloc(size + !size);
	cr_assert(copy != NULL);
	memcpy(copy, code, size);
	cr_assert(loops_find((struct bytes){ copy, size }, &sample, 1, 32, &found));
	free(copy);
	return found.fact.kind;
}

static void need_decoder(void)
{
	if (!insn_decoder())
		cr_skip("built without Zydis");
}

Test(loop, a_walk_along_a_list)
{
	need_decoder();
	cr_expect(eq(int, kind_of(walk, sizeof(walk), 3), LOOP_CHASE));
}

Test(loop, a_nop_reads_nothing)
{
	// nopw %cs:0x0(%rax,%rax,1) with two prefixes more, nopl 0x0(%rax), xchg %ax,%ax
	static const uint8_t nops[][12] = {
		{ 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00 },
		{ 0x0f, 0x1f, 0x40, 0x00 },
		{ 0x66, 0x90 },
	};
	struct insn insn;

	need_decoder();
	for (size_t i = 0; i < sizeof(nops) / sizeof(nops[0]); i++) {
		cr_assert(insn_decode(nops[i], sizeof(nops[i]), 0, &insn));
		cr_expect(not(insn.loads || insn.stores || insn.more_memory), "nop %zu", i);
	}
}

// addsd (%rdi),%xmm0; add %rdx,%rdi; cmp %rcx,%rdi; jne
static const uint8_t step[] = { 0xf2, 0x0f, 0x58, 0x07, 0x48, 0x01, 0xd7,
	                        0x48, 0x39, 0xcf, 0x75, 0xf4, 0xc3 };
// The same with two elements: addsd (%rdi),%xmm0; addsd (%rdi,%rdx),%xmm1; lea (%rdi,%rdx,2),%rdi;
// prefetcht0 (%rdi); cmp %rcx,%rdi; jne
static const uint8_t unrolled[] = { 0xf2, 0x0f, 0x58, 0x07, 0xf2, 0x0f, 0x58, 0x0c,
	                            0x17, 0x48, 0x8d, 0x3c, 0x57, 0x0f, 0x18, 0x0f,
	                            0x48, 0x39, 0xcf, 0x75, 0xeb, 0xc3 };

// A step that is in a register is what samples found there, where they did.
Test(loop, how_far_a_loop_walks_is_known_by_its_registers)
{
	static const struct {
		const uint8_t *code;
		size_t size;
		bool sampled;
		uint64_t rdx;
		enum loop_kind kind;
		uint64_t bytes;
	} table[] = {
		{ step, sizeof(step), false, 0, LOOP_STRIDE, 0 },
		{ step, sizeof(step), true, 4096, LOOP_STRIDE, 4096 },
		{ step, sizeof(step), true, (uint64_t)-4096, LOOP_STRIDE, 4096 },
		{ step, sizeof(step), true, 8, LOOP_NONE, 0 },
		{ step, sizeof(step), true, 0, LOOP_NONE, 0 },
		{ unrolled, sizeof(unrolled), true, 4096, LOOP_STRIDE, 4096 },
		{ unrolled, sizeof(unrolled), true, 8, LOOP_NONE, 0 },
	};

	need_decoder();
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const uint64_t regs[16] = { [2] = table[i].rdx };
		const struct loop_sample samples[] = {
			{ 0, 100, table[i].sampled ? regs : NULL, NULL },
			{ 4, 10, NULL, NULL },
		};
		struct loop_found found[2];
		cr_assert(loops_find((struct bytes){ table[i].code, table[i].size }, samples, 2, 32,
		                     found));
		cr_expect(eq(int, found[0].fact.kind, table[i].kind), "row %zu", i);
		cr_expect(eq(u64, found[0].fact.bytes, table[i].bytes), "row %zu", i);
		cr_expect_eq(found[0].fact.measured, table[i].bytes != 0, "row %zu", i);
	}
}

// mov %al,(%rdi); mov %al,0x40(%rdi) … mov %al,0x1c0(%rdi); add $0x200,%rdi; cmp %rsi,%rdi; jne
static const uint8_t lines[] = { 0x88, 0x07, 0x88, 0x47, 0x40, 0x88, 0x87, 0x80, 0x00, 0x00, 0x00,
	                         0x88, 0x87, 0xc0, 0x00, 0x00, 0x00, 0x88, 0x87, 0x00, 0x01, 0x00,
	                         0x00, 0x88, 0x87, 0x40, 0x01, 0x00, 0x00, 0x88, 0x87, 0x80, 0x01,
	                         0x00, 0x00, 0x88, 0x87, 0xc0, 0x01, 0x00, 0x00, 0x48, 0x81, 0xc7,
	                         0x00, 0x02, 0x00, 0x00, 0x48, 0x39, 0xf7, 0x75, 0xcb, 0xc3 };
// mov %al,(%rdi); mov %al,8(%rdi); add $0x200,%rdi; cmp %rsi,%rdi; jne
static const uint8_t fields[] = { 0x88, 0x07, 0x88, 0x47, 0x08, 0x48, 0x81, 0xc7, 0x00,
	                          0x02, 0x00, 0x00, 0x48, 0x39, 0xf7, 0x75, 0xef, 0xc3 };
// The same by 513 bytes.
static const uint8_t odd[] = { 0x88, 0x07, 0x88, 0x47, 0x08, 0x48, 0x81, 0xc7, 0x01,
	                       0x02, 0x00, 0x00, 0x48, 0x39, 0xf7, 0x75, 0xef, 0xc3 };
// mov %al,(%rdi); mov %al,0x100(%rdi); add $0x200,%rdi; cmp %rsi,%rdi; jne
static const uint8_t halves[] = { 0x88, 0x07, 0x88, 0x87, 0x00, 0x01, 0x00, 0x00, 0x48, 0x81, 0xc7,
	                          0x00, 0x02, 0x00, 0x00, 0x48, 0x39, 0xf7, 0x75, 0xec, 0xc3 };

// Each of them moves on by 512 bytes and more.
Test(loop, an_unrolled_loop_walks_from_one_access_to_the_next)
{
	static const struct {
		const uint8_t *code;
		size_t size;
		enum loop_kind kind;
		uint64_t bytes;
	} table[] = {
		{ lines, sizeof(lines), LOOP_NONE, 0 },
		{ fields, sizeof(fields), LOOP_STRIDE, 512 },
		{ odd, sizeof(odd), LOOP_STRIDE, 513 },
		{ halves, sizeof(halves), LOOP_STRIDE, 256 },
	};

	need_decoder();
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct loop_sample sample = { 0, 100, NULL, NULL };
		struct loop_found found;
		cr_assert(loops_find((struct bytes){ table[i].code, table[i].size }, &sample, 1, 32,
		                     &found));
		cr_expect(eq(int, found.fact.kind, table[i].kind), "row %zu", i);
		cr_expect(eq(u64, found.fact.bytes, table[i].bytes), "row %zu", i);
	}
}

// mov (%rdi),%eax; add %eax,%edx; sub $-128,%rdi; cmp %rsi,%rdi; jne: caches may have all of it.
Test(loop, a_near_stride_is_one_where_samples_show_that_the_loop_waits_for_it)
{
	static const uint8_t code[] = { 0x8b, 0x07, 0x01, 0xc2, 0x48, 0x83, 0xef,
		                        0x80, 0x48, 0x39, 0xf7, 0x75, 0xf3, 0xc3 };
	static const struct {
		uint64_t offset;
		enum loop_kind kind;
		uint64_t bytes;
	} table[] = { { 2, LOOP_STRIDE, 128 }, { 8, LOOP_NONE, 0 }, { 11, LOOP_NONE, 0 } };

	need_decoder();
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct loop_sample sample = { table[i].offset, 100, NULL, NULL };
		struct loop_found found;
		cr_assert(loops_find((struct bytes){ code, sizeof(code) }, &sample, 1, 32, &found));
		cr_expect(eq(int, found.fact.kind, table[i].kind), "row %zu", i);
		cr_expect(eq(u64, found.fact.bytes, table[i].bytes), "row %zu", i);
	}
}

Test(loop, a_sample_outside_of_the_loop_has_no_kind)
{
	need_decoder();
	cr_expect(eq(int, kind_of(walk, sizeof(walk), 8), LOOP_NONE));
	cr_expect(eq(int, kind_of(walk, sizeof(walk), 1), LOOP_NONE), "within an instruction");
	cr_expect(eq(int, kind_of(walk, sizeof(walk), 4711), LOOP_NONE), "beyond the code");
}

Test(loop, divisions_count_where_samples_are_at_them)
{
	need_decoder();
	cr_expect(eq(int, kind_of(divide, sizeof(divide), 5), LOOP_DIVIDE));
	cr_expect(eq(int, kind_of(divide, sizeof(divide), 14), LOOP_NONE));
}

// call; pxor %xmm0,%xmm0; cvtsi2sd %eax,%xmm0; divsd 16(%rip),%xmm0; inc %rbx; cmp %r12,%rbx; jne
static const uint8_t of_call[] = { 0xe8, 0x40, 0x00, 0x00, 0x00, 0x66, 0x0f, 0xef, 0xc0, 0xf2,
	                           0x0f, 0x2a, 0xc0, 0xf2, 0x0f, 0x5e, 0x05, 0x10, 0x00, 0x00,
	                           0x00, 0x48, 0xff, 0xc3, 0x4c, 0x39, 0xe3, 0x75, 0xe3, 0xc3 };
// The same of %r12d: cvtsi2sd %r12d,%xmm0.
static const uint8_t beside_call[] = { 0xe8, 0x40, 0x00, 0x00, 0x00, 0x66, 0x0f, 0xef,
	                               0xc0, 0xf2, 0x41, 0x0f, 0x2a, 0xc4, 0xf2, 0x0f,
	                               0x5e, 0x05, 0x10, 0x00, 0x00, 0x00, 0x48, 0xff,
	                               0xc3, 0x4c, 0x39, 0xe3, 0x75, 0xe2, 0xc3 };

// Samples at the division are as much of what was called, whose result the division waits for.
Test(loop, a_division_of_what_a_call_returns_proves_nothing)
{
	need_decoder();
	cr_expect(eq(int, kind_of(of_call, sizeof(of_call), 13), LOOP_NONE));
	cr_expect(eq(int, kind_of(beside_call, sizeof(beside_call), 14), LOOP_DIVIDE));
}

Test(loop, code_that_is_cut_off)
{
	for (size_t size = 0; size < sizeof(walk) - 1; size++)
		cr_expect(eq(int, kind_of(walk, size, 0), LOOP_NONE), "%zu bytes", size);
}

// A loop that is entered in its middle as well is none that anything is said of.
Test(loop, a_loop_with_two_entries)
{
	// test %esi,%esi; je to the test of walk; then walk
	uint8_t code[4 + sizeof(walk)] = { 0x85, 0xf6, 0x74, 0x03 };

	need_decoder();
	memcpy(code + 4, walk, sizeof(walk));
	cr_expect(eq(int, kind_of(code, sizeof(code), 7), LOOP_NONE));
}

Test(loop, jumps_without_end_take_a_bounded_time)
{
	static uint8_t code[LOOP_CODE_MAX];

	// Each leads back to the first: loops within loops.
	for (size_t at = 0; at + 6 <= sizeof(code); at += 6) {
		int32_t back = -(int32_t)(at + 6);
		code[at] = 0x0f;
		code[at + 1] = 0x85;
		memcpy(code + at + 2, &back, sizeof(back));
	}
	cr_expect(eq(int, kind_of(code, sizeof(code), 6), LOOP_NONE));
	// Each leads back to itself, or to the one before.
	for (size_t at = 0; at + 2 <= sizeof(code); at += 2) {
		code[at] = 0x75;
		code[at + 1] = at % 4 ? 0xfc : 0xfe;
	}
	kind_of(code, sizeof(code), 6);
}

// lock incq (%rdi); dec %rax; jne
static const uint8_t counts[] = { 0xf0, 0x48, 0xff, 0x07, 0x48, 0xff, 0xc8, 0x75, 0xf7, 0xc3 };
// incq (%rdi); dec %rax; jne
static const uint8_t adds[] = { 0x48, 0xff, 0x07, 0x48, 0xff, 0xc8, 0x75, 0xf8, 0xc3 };
// mov %rax,(%rdi); add $8,%rdi; dec %rax; jne: each thread goes through its part.
static const uint8_t fills[] = { 0x48, 0x89, 0x07, 0x48, 0x83, 0xc7, 0x08,
	                         0x48, 0xff, 0xc8, 0x75, 0xf4, 0xc3 };

// What two threads held in the register that a loop stores by.
Test(loop, threads_that_store_to_one_cache_line)
{
	static const struct {
		const uint8_t *code;
		size_t size;
		uint64_t rdi, other;
		bool shared;
		uint64_t bytes;
		uint32_t detail;
	} table[] = {
		{ counts, sizeof(counts), 0x1000, 0x1000, true, 0, SHARING_ATOMIC },
		{ counts, sizeof(counts), 0x1000, 0x1038, true, 56, SHARING_ATOMIC },
		{ counts, sizeof(counts), 0x1000, 0x1040, false, 0, 0 },
		{ adds, sizeof(adds), 0x1038, 0x1030, true, 8, SHARING_PLAIN },
		{ adds, sizeof(adds), 0x1000, 0, false, 0, 0 },
		{ fills, sizeof(fills), 0x1000, 0x1008, false, 0, 0 },
	};

	need_decoder();
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const uint64_t regs[16] = { [7] = table[i].rdi },
			       two[16] = { [7] = table[i].other };
		const struct loop_sample sample = { 0, 100, regs, table[i].other ? two : NULL };
		struct loop_found found;
		cr_assert(loops_find((struct bytes){ table[i].code, table[i].size }, &sample, 1, 32,
		                     &found));
		cr_expect_eq(found.fact.kind == LOOP_SHARED, table[i].shared, "row %zu", i);
		if (!table[i].shared)
			continue;
		cr_expect(eq(u64, found.fact.bytes, table[i].bytes), "row %zu", i);
		cr_expect(eq(u32, found.fact.detail, table[i].detail), "row %zu", i);
	}
}

// call; lock incq (%rbx) or (%rdi); dec %r12; jne
static const uint8_t counts_call[] = { 0xe8, 0x40, 0x00, 0x00, 0x00, 0xf0, 0x48, 0xff,
	                               0x03, 0x49, 0xff, 0xcc, 0x75, 0xf2, 0xc3 };

// A call keeps rbx, and may return with anything in rdi.
Test(loop, threads_that_count_in_one_place_between_calls)
{
	const uint64_t regs[16] = { [3] = 0x1000, [7] = 0x1000 };
	const struct loop_sample sample = { 5, 100, regs, regs };
	uint8_t code[sizeof(counts_call)];
	struct loop_found found;

	need_decoder();
	memcpy(code, counts_call, sizeof(code));
	for (int kept = 1; kept >= 0; kept--) {
		code[8] = kept ? 0x03 : 0x07;
		cr_assert(loops_find((struct bytes){ code, sizeof(code) }, &sample, 1, 32, &found));
		cr_expect_eq(found.fact.kind == LOOP_SHARED, kept);
		cr_expect(!kept || found.fact.detail == SHARING_ATOMIC);
	}
}
