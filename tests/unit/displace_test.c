// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/trace/displace.h"

#include <string.h>
#include <sys/mman.h>

#define AT   UINT64_C(0x400000)
#define AWAY UINT64_C(0x500000)

static enum patch_reason try(const uint8_t *code, size_t size, size_t room, struct displace *d)
{
	struct displace_function f = { code, AT, size, room, false };

	return displace(&f, AWAY, d);
}

Test(displace, what_is_moved_and_where_it_goes_on)
{
	// push rbp; mov rbp, rsp; sub rsp, 16; leave; ret
	static const uint8_t code[] = {
		0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xc9, 0xc3
	};
	static const uint8_t jump[] = { 0xe9, 0xfb, 0xff, 0xef, 0xff }; // AT + 8 - (AWAY + 13)
	struct displace d;

	cr_assert(eq(int, try(code, sizeof(code), sizeof(code), &d), PATCH_DONE));
	cr_expect(eq(uint, d.entry, 0));
	cr_expect(eq(uint, d.length, 8));
	cr_expect(not(d.whole));
	cr_assert(eq(sz, d.size, 13));
	cr_expect(eq(int, memcmp(d.code, code, 8), 0));
	cr_expect(eq(int, memcmp(d.code + 8, jump, 5), 0));
	cr_assert(eq(uint, d.row_count, 4));
	for (unsigned i = 0; i < 4; i++) {
		static const uint16_t offsets[] = { 0, 1, 4, 8 };
		cr_expect(eq(u16, d.rows[i].at, offsets[i]));
		cr_expect(eq(u16, d.rows[i].offset, offsets[i]));
		cr_expect(eq(u16, d.rows[i].pushed, 0));
	}
}

Test(displace, the_jump_comes_behind_an_endbr64)
{
	static const uint8_t code[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 1, 0, 0, 0, 0xc3 };
	struct displace d;

	cr_assert(eq(int, try(code, sizeof(code), sizeof(code), &d), PATCH_DONE));
	cr_expect(eq(uint, d.entry, 4));
	cr_expect(eq(uint, d.length, 5));
	cr_expect(d.whole);
	cr_expect(eq(u16, d.rows[0].offset, 4));
}

Test(displace, a_moved_call_returns_to_where_it_was)
{
	// sub rsp, 8; call AT + 0x100; add rsp, 8; ret
	static const uint8_t code[] = { 0x48, 0x83, 0xec, 8,    0xe8, 0xf7, 0,
		                        0,    0,    0x48, 0x83, 0xc4, 8,    0xc3 };
	// sub rsp, 8; push AT + 9; mov dword [rsp + 4], 0; jmp AT + 0x100
	static const uint8_t moved[] = { 0x48, 0x83, 0xec, 8, 0x68, 9, 0,    0x40, 0, 0xc7, 0x44,
		                         0x24, 4,    0,    0, 0,    0, 0xe9, 0xea, 0, 0xf0, 0xff };
	struct displace d;

	cr_assert(eq(int, try(code, sizeof(code), sizeof(code), &d), PATCH_DONE));
	cr_assert(eq(sz, d.size, sizeof(moved)));
	cr_expect(eq(int, memcmp(d.code, moved, sizeof(moved)), 0));
	cr_assert(eq(uint, d.row_count, 3));
	cr_expect(eq(u16, d.rows[2].at, 9)); // behind the push
	cr_expect(eq(u16, d.rows[2].offset, 4));
	cr_expect(eq(u16, d.rows[2].pushed, 8));
}

Test(displace, functions_that_are_left_alone)
{
	static const struct {
		const char *name;
		uint8_t code[16];
		size_t size, room;
		enum patch_reason reason;
	} rows[] = {
		{ "one byte, another function behind",
		  { 0xc3, 0x55, 0x48, 0x89, 0xe5 },
		  1,
		  1,
		  PATCH_SHORT },
		{ "one byte, and code behind",
		  { 0xc3, 0x55, 0x48, 0x89, 0xe5 },
		  1,
		  5,
		  PATCH_SHORT },
		{ "falls out of its end", { 0x31, 0xc0 }, 2, 16, PATCH_SHORT },
		{ "a loop at its start",
		  { 0xff, 0xc7, 0x83, 0xff, 5, 0x75, 0xf9, 0xc3 },
		  8,
		  8,
		  PATCH_LOOPS },
		{ "a loop within what is displaced",
		  { 0x55, 0xff, 0xc7, 0x83, 0xff, 5, 0x75, 0xf9, 0xc3 },
		  9,
		  9,
		  PATCH_LOOPS },
		{ "reads its own code",
		  { 0x8b, 0x05, 0xfc, 0xff, 0xff, 0xff, 0xc3 },
		  7,
		  7,
		  PATCH_LOOPS },
		{ "calls what comes next",
		  { 0xff, 0xd0, 0x90, 0x90, 0x90, 0xc3 },
		  6,
		  6,
		  PATCH_UNMOVABLE },
		{ "calls by its stack",
		  { 0x90, 0x90, 0xff, 0x54, 0x24, 8, 0xc3 },
		  7,
		  7,
		  PATCH_UNMOVABLE },
		{ "no instruction", { 0xb8, 1, 0, 0, 0, 0x06, 0xc3 }, 7, 7, PATCH_UNKNOWN },
		{ "ends in the middle of one", { 0xb8, 1, 0, 0, 0, 0xe8, 1 }, 7, 7, PATCH_UNKNOWN },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct displace d;
		cr_expect(
			eq(int, try(rows[i].code, rows[i].size, rows[i].room, &d), rows[i].reason),
			"%s", rows[i].name);
	}
}

Test(displace, padding_behind_a_short_function_is_used)
{
	static const uint8_t nops[] = { 0xc3, 0x66, 0x0f, 0x1f, 0x44, 0, 0 };
	static const uint8_t traps[] = { 0xc3, 0xcc, 0xcc, 0xcc, 0xcc };
	struct displace d;

	cr_expect(eq(int, try(nops, 1, sizeof(nops), &d), PATCH_DONE));
	cr_expect(eq(sz, d.size, 1)); // there is nothing to go back to
	cr_expect(eq(int, try(traps, 1, sizeof(traps), &d), PATCH_DONE));
}

Test(displace, what_is_too_far_away_cannot_be_reached)
{
	static const uint8_t code[] = {
		0x48, 0x8d, 0x05, 0, 1, 0, 0, 0xc3
	}; // lea rax, [rip + 256]
	struct displace_function f = { code, AT, sizeof(code), sizeof(code), false };
	struct displace d;

	cr_expect(eq(int, displace(&f, AT + (UINT64_C(3) << 30), &d), PATCH_UNMOVABLE));
}

// Moved code is run: what it does is what it did.
static long run(const uint8_t *code, size_t size, long argument)
{
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
	                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct displace_function f = { page, (uint64_t)page, size, size, false };
	struct displace d;

	cr_assert(ne(ptr, page, MAP_FAILED));
	memcpy(page, code, size);
	cr_assert(eq(int, displace(&f, (uint64_t)page + 4096, &d), PATCH_DONE));
	memcpy(page + 4096, d.code, d.size);
	memset(page + d.entry, 0xcc, d.length); // nobody goes there any more
	long result = ((long (*)(long))(uintptr_t)(page + 4096))(argument);
	munmap(page, 8192);
	return result;
}

Test(displace, moved_code_does_what_it_did)
{
	static const struct {
		const char *name;
		uint8_t code[32];
		size_t size;
		long argument, result;
	} rows[] = {
		// lea rax, [rdi * 2 + 1]; ret
		{ "no branch", { 0x48, 0x8d, 0x44, 0x3f, 1, 0xc3 }, 6, 20, 41 },
		// test rdi, rdi; je +6; mov eax, 7; ret; mov eax, 9; ret
		{ "branch taken",
		  { 0x48, 0x85, 0xff, 0x74, 6, 0xb8, 7, 0, 0, 0, 0xc3, 0xb8, 9, 0, 0, 0, 0xc3 },
		  17,
		  0,
		  9 },
		{ "branch not taken",
		  { 0x48, 0x85, 0xff, 0x74, 6, 0xb8, 7, 0, 0, 0, 0xc3, 0xb8, 9, 0, 0, 0, 0xc3 },
		  17,
		  1,
		  7 },
		// mov rcx, rdi; jrcxz +6; the same
		{ "jrcxz taken",
		  { 0x48, 0x89, 0xf9, 0xe3, 6, 0xb8, 7, 0, 0, 0, 0xc3, 0xb8, 9, 0, 0, 0, 0xc3 },
		  17,
		  0,
		  9 },
		{ "jrcxz not taken",
		  { 0x48, 0x89, 0xf9, 0xe3, 6, 0xb8, 7, 0, 0, 0, 0xc3, 0xb8, 9, 0, 0, 0, 0xc3 },
		  17,
		  3,
		  7 },
		// mov eax, [rip + 1]; ret; nops
		{ "relative operand",
		  { 0x8b, 0x05, 1, 0, 0, 0, 0xc3, 0x90, 0x90, 0x90, 0x90 },
		  11,
		  0,
		  0x90909090 },
		// sub rsp, 8; call +5; add rsp, 8; ret; lea rax, [rdi + 1]; ret
		{ "call",
		  { 0x48, 0x83, 0xec, 8, 0xe8, 5, 0, 0, 0, 0x48, 0x83, 0xc4, 8, 0xc3, 0x48, 0x8d,
		    0x47, 1, 0xc3 },
		  19,
		  5,
		  6 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect(
			eq(long, run(rows[i].code, rows[i].size, rows[i].argument), rows[i].result),
			"%s", rows[i].name);
}
