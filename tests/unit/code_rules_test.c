// SPDX-License-Identifier: MIT
#include "base/record.h"
#include "sampler/unwind/code_rules.h"
#include "tests/support/expect.h"

#include <string.h>
#include <unistd.h>

#define BASE UINT64_C(0x7f0000001ff0) /* not far from the end of a page */

struct code {
	const uint8_t *bytes;
	size_t size;
};

static bool read_code(void *context, uint64_t address, void *to, size_t size)
{
	const struct code *code = context;
	uint64_t page = BASE & ~(uint64_t)(REMOTE_PAGE - 1), end = page + 2 * REMOTE_PAGE;

	if (address < page || address > end || size > end - address)
		return false;
	memset(to, 0, size);
	for (size_t i = 0; i < size; i++)
		if (address + i - BASE < code->size)
			((uint8_t *)to)[i] = code->bytes[address + i - BASE];
	return true;
}

#define RULE(kind, add_, offset_, rbp_kind, rbp_at)                                                \
	{                                                                                          \
		.cfa = (kind), .add = (add_), .offset = (offset_), .rbp = (rbp_kind),              \
		.rbp_offset = (rbp_at)                                                             \
	}

Test(code_rules, the_rest_of_a_function_says_where_its_return_address_lies)
{
	// push rbp; mov rbp, rsp; sub rsp, 32; add eax, ecx; leave; ret
	static const uint8_t pointer[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83,
		                           0xec, 32,   0x01, 0xc8, 0xc9, 0xc3 };
	// push rbp; push rbx; sub rsp, 0x208; mov rbp, 0x200; dec rdi; jne -5; add rsp, 0x208; pop
	// rbx; pop rbp; ret
	static const uint8_t data[] = { 0x55, 0x53, 0x48, 0x81, 0xec, 8,    2,    0,
		                        0,    0x48, 0xc7, 0xc5, 0,    2,    0,    0,
		                        0x48, 0xff, 0xcf, 0x75, 0xfb, 0x48, 0x81, 0xc4,
		                        8,    2,    0,    0,    0x5b, 0x5d, 0xc3 };
	// push rbx; push rbp; mov rbx, rsp; and rsp, -64; xor ebp, ebp; mov rsp, rbx; pop rbp; pop
	// rbx; ret
	static const uint8_t aligned[] = { 0x53, 0x55, 0x48, 0x89, 0xe3, 0x48, 0x83, 0xe4, 0xc0,
		                           0x31, 0xed, 0x48, 0x89, 0xdc, 0x5d, 0x5b, 0xc3 };
	// sub rsp, 24; mov [rsp+8], rbp; vaddps zmm0, zmm1, zmm2; mov rbp, [rsp+8]; add rsp, 24;
	// vzeroupper; ret
	static const uint8_t moved[] = { 0x48, 0x83, 0xec, 24,   0x48, 0x89, 0x6c, 0x24, 8,    0x62,
		                         0xf1, 0x74, 0x48, 0x58, 0xc2, 0x48, 0x8b, 0x6c, 0x24, 8,
		                         0x48, 0x83, 0xc4, 24,   0xc5, 0xf8, 0x77, 0xc3 };
	// mov rax, rsp; sub rsp, 64; and rsp, -64; mov [rsp+16], rax; nop; mov rsp, [rsp+16]; ret
	static const uint8_t stored[] = { 0x48, 0x89, 0xe0, 0x48, 0x83, 0xec, 64,   0x48,
		                          0x83, 0xe4, 0xc0, 0x48, 0x89, 0x44, 0x24, 16,
		                          0x90, 0x48, 0x8b, 0x64, 0x24, 16,   0xc3 };
	// push rbx; call rsi; test eax, eax; je +2; jmp -8 (to the call); pop rbx; ret
	static const uint8_t loop[] = { 0x53, 0xff, 0xd6, 0x85, 0xc0, 0x74,
		                        2,    0xeb, 0xf8, 0x5b, 0xc3 };
	// sub rsp, 8; jmp +1; int3; lea rsp, [rsp+8]; ret 16
	static const uint8_t jump[] = { 0x48, 0x83, 0xec, 8, 0xeb, 1,  0xcc, 0x48,
		                        0x8d, 0x64, 0x24, 8, 0xc2, 16, 0 };
	// push rax; ud2
	static const uint8_t stops[] = { 0x50, 0x0f, 0x0b };
	// jmp rax
	static const uint8_t elsewhere[] = { 0xff, 0xe0 };
	// 1: jmp 1b
	static const uint8_t forever[] = { 0xeb, 0xfe };
	static const struct {
		const char *name;
		struct code code;
		uint64_t at;
		struct cfi_rule rule;
	} rows[] = {
#define CODE(name) { name, sizeof(name) }
		{ "entry", CODE(pointer), 0, RULE(CFI_RSP, 0, 8, CFI_RBP_KEPT, 0) },
		{ "pushed", CODE(pointer), 1, RULE(CFI_RSP, 0, 16, CFI_RBP_AT_CFA, -16) },
		{ "body", CODE(pointer), 8, RULE(CFI_RBP, 0, 16, CFI_RBP_AT_CFA, -16) },
		{ "at ret", CODE(pointer), 11, RULE(CFI_RSP, 0, 8, CFI_RBP_KEPT, 0) },
		{ "data, entry", CODE(data), 0, RULE(CFI_RSP, 0, 8, CFI_RBP_KEPT, 0) },
		{ "data, loop", CODE(data), 16, RULE(CFI_RSP, 0, 544, CFI_RBP_AT_CFA, -16) },
		{ "data, popped", CODE(data), 29, RULE(CFI_RSP, 0, 16, CFI_RBP_AT_CFA, -16) },
		{ "aligned, entry", CODE(aligned), 0, RULE(CFI_RSP, 0, 8, CFI_RBP_KEPT, 0) },
		{ "aligned", CODE(aligned), 9,
		  RULE(CFI_REGISTER, DWARF_RBX, 24, CFI_RBP_AT_CFA, -24) },
		{ "moved", CODE(moved), 9, RULE(CFI_RSP, 0, 32, CFI_RBP_AT_CFA, -24) },
		{ "stored", CODE(stored), 16, RULE(CFI_RSP_MEMORY, 8, 16, CFI_RBP_KEPT, 0) },
		{ "loop", CODE(loop), 3, RULE(CFI_RSP, 0, 16, CFI_RBP_KEPT, 0) },
		{ "loop, backwards", CODE(loop), 7, RULE(CFI_RSP, 0, 16, CFI_RBP_KEPT, 0) },
		{ "jump", CODE(jump), 4, RULE(CFI_RSP, 0, 16, CFI_RBP_KEPT, 0) },
		{ "stops", CODE(stops), 0, { .cfa = CFI_NO_RULE } },
		{ "elsewhere", CODE(elsewhere), 0, { .cfa = CFI_NO_RULE } },
		{ "forever", CODE(forever), 0, { .cfa = CFI_NO_RULE } },
	};
	cleanup(code_rules) struct code_rules *rules = code_rules_new();

	cr_assert(rules != NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cfi_rule got =
			code_rules_read(rules, BASE + rows[i].at, read_code, (void *)&rows[i].code);
		cr_expect(eq(u8, got.cfa, rows[i].rule.cfa), "%s: what", rows[i].name);
		cr_expect(eq(i32, got.offset, rows[i].rule.offset), "%s: offset", rows[i].name);
		cr_expect(eq(u8, got.add, rows[i].rule.add), "%s: add", rows[i].name);
		cr_expect(eq(u8, got.rbp, rows[i].rule.rbp), "%s: rbp", rows[i].name);
		cr_expect(eq(i32, got.rbp_offset, rows[i].rule.rbp_offset), "%s: of rbp",
		          rows[i].name);
	}
}

// vfmadd231ps zmm0, zmm1, zmm2 a thousand times, as kernels are unrolled.
Test(code_rules, long_code_is_followed_once)
{
	enum {
		COUNT = 1000,
		BYTES = 6
	};
	static const uint8_t unit[BYTES] = { 0x62, 0xf2, 0x75, 0x48, 0xb8, 0xc2 };
	static uint8_t code[2 + COUNT * BYTES + 2];
	cleanup(code_rules) struct code_rules *rules = code_rules_new();
	uint32_t wrong = 0;

	cr_assert(rules != NULL);
	code[0] = 0x55; // push rbp
	code[1] = 0x53; // push rbx
	for (size_t i = 0; i < COUNT; i++)
		memcpy(code + 2 + i * BYTES, unit, BYTES);
	memcpy(code + sizeof(code) - 2, "\x5b\xc3", 2); // pop rbx; ret
	// This process's own memory is what is read.
	for (size_t i = 0; i < COUNT; i++) {
		struct cfi_rule rule = code_rules_find(
			rules, 7, (uint64_t)(uintptr_t)(code + 2 + i * BYTES), getpid());
		wrong += rule.cfa != CFI_RSP || rule.offset != 16;
	}
	cr_expect(eq(u32, wrong, 0));
	// Other code stands there now: what is known of it holds until it is doubted.
	uint64_t pc = (uint64_t)(uintptr_t)(code + 2);
	memset(code + 2, 0xcc, sizeof(code) - 2);
	cr_expect(eq(u8, code_rules_find(rules, 7, pc, getpid()).cfa, CFI_RSP));
	code_rules_doubt(rules);
	cr_expect(eq(u8, code_rules_find(rules, 7, pc, getpid()).cfa, CFI_NO_RULE));
	// A process that has gone, another module.
	cr_expect(eq(u8, code_rules_find(rules, 8, pc, 0).cfa, CFI_NO_RULE));
}

// A megabyte of nops: what a hostile stack points to, again and again.
Test(code_rules, what_one_stack_asks_for_is_bounded)
{
	enum {
		BYTES = 1 << 20
	};
	static const uint8_t returns[] = { 0x55, 0x5d, 0xc3 }; // push rbp; pop rbp; ret
	static uint8_t code[BYTES];
	cleanup(code_rules) struct code_rules *rules = code_rules_new();
	uint64_t nops = (uint64_t)(uintptr_t)code, good = (uint64_t)(uintptr_t)returns + 1;

	cr_assert(rules != NULL);
	memset(code, 0x90, sizeof(code));
	for (uint64_t pc = nops; pc < nops + 4096; pc++)
		cr_assert(eq(u8, code_rules_find(rules, 7, pc, getpid()).cfa, CFI_NO_RULE));
	cr_expect(eq(u8, code_rules_find(rules, 7, good, getpid()).cfa, CFI_NO_RULE), "too much");
	code_rules_begin_stack(rules);
	cr_expect(eq(u8, code_rules_find(rules, 7, good, getpid()).cfa, CFI_RSP), "not kept");
}
