// SPDX-License-Identifier: MIT
#include "base/x86.h"
#include "tests/support/expect.h"

Test(x86, instructions_of_all_forms)
{
	static const struct {
		const char *name;
		uint8_t code[16];
		unsigned length, flow, relative_at, relative_size;
		bool memory;
	} rows[] = {
		{ "push rbp", { 0x55 }, 1, X86_NEXT, 0, 0, false },
		{ "push r12", { 0x41, 0x54 }, 2, X86_NEXT, 0, 0, false },
		{ "mov rbp, rsp", { 0x48, 0x89, 0xe5 }, 3, X86_NEXT, 0, 0, false },
		{ "sub rsp, 0x28", { 0x48, 0x83, 0xec, 0x28 }, 4, X86_NEXT, 0, 0, false },
		{ "sub rsp, 0x1000",
		  { 0x48, 0x81, 0xec, 0, 0x10, 0, 0 },
		  7,
		  X86_NEXT,
		  0,
		  0,
		  false },
		{ "mov eax, 1", { 0xb8, 1, 0, 0, 0 }, 5, X86_NEXT, 0, 0, false },
		{ "mov ax, 1", { 0x66, 0xb8, 1, 0 }, 4, X86_NEXT, 0, 0, false },
		{ "movabs", { 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8 }, 10, X86_NEXT, 0, 0, false },
		{ "mov eax, moffs", { 0xa1, 1, 2, 3, 4, 5, 6, 7, 8 }, 9, X86_NEXT, 0, 0, false },
		{ "mov rax, [rsp+8]", { 0x48, 0x8b, 0x44, 0x24, 8 }, 5, X86_NEXT, 0, 0, false },
		{ "mov eax, [disp32]", { 0x8b, 0x04, 0x25, 1, 2, 3, 4 }, 7, X86_NEXT, 0, 0, false },
		{ "lea rax, [rip+4]", { 0x48, 0x8d, 0x05, 4, 0, 0, 0 }, 7, X86_NEXT, 3, 4, true },
		{ "cmp byte [rip+4], 1", { 0x80, 0x3d, 4, 0, 0, 0, 1 }, 7, X86_NEXT, 2, 4, true },
		{ "test cl, 1", { 0xf6, 0xc1, 1 }, 3, X86_NEXT, 0, 0, false },
		{ "not ecx", { 0xf7, 0xd1 }, 2, X86_NEXT, 0, 0, false },
		{ "test ecx, 1", { 0xf7, 0xc1, 1, 0, 0, 0 }, 6, X86_NEXT, 0, 0, false },
		{ "enter", { 0xc8, 1, 0, 0 }, 4, X86_NEXT, 0, 0, false },
		{ "jne rel8", { 0x75, 0x10 }, 2, X86_BRANCH, 1, 1, false },
		{ "jne rel32", { 0x0f, 0x85, 1, 0, 0, 0 }, 6, X86_BRANCH, 2, 4, false },
		{ "jrcxz", { 0xe3, 2 }, 2, X86_BRANCH, 1, 1, false },
		{ "jmp rel8", { 0xeb, 0xfe }, 2, X86_JUMP, 1, 1, false },
		{ "bnd jmp rel32", { 0xf2, 0xe9, 1, 0, 0, 0 }, 6, X86_JUMP, 2, 4, false },
		{ "call rel32", { 0xe8, 1, 0, 0, 0 }, 5, X86_CALL, 1, 4, false },
		{ "call of thread-local",
		  { 0x66, 0x66, 0x48, 0xe8, 1, 0, 0, 0 },
		  8,
		  X86_CALL,
		  4,
		  4,
		  false },
		{ "call [rip]", { 0xff, 0x15, 1, 0, 0, 0 }, 6, X86_CALL_INDIRECT, 2, 4, true },
		{ "call r11", { 0x41, 0xff, 0xd3 }, 3, X86_CALL_INDIRECT, 0, 0, false },
		{ "notrack jmp rax", { 0x3e, 0xff, 0xe0 }, 3, X86_JUMP_INDIRECT, 0, 0, false },
		{ "ret", { 0xc3 }, 1, X86_RETURN, 0, 0, false },
		{ "repz ret", { 0xf3, 0xc3 }, 2, X86_RETURN, 0, 0, false },
		{ "ret 8", { 0xc2, 8, 0 }, 3, X86_RETURN, 0, 0, false },
		{ "ud2", { 0x0f, 0x0b }, 2, X86_STOP, 0, 0, false },
		{ "endbr64", { 0xf3, 0x0f, 0x1e, 0xfa }, 4, X86_NEXT, 0, 0, false },
		{ "syscall", { 0x0f, 0x05 }, 2, X86_NEXT, 0, 0, false },
		{ "pshufd", { 0x66, 0x0f, 0x70, 0xc1, 0x4e }, 5, X86_NEXT, 0, 0, false },
		{ "pshufb", { 0x66, 0x0f, 0x38, 0x00, 0xc1 }, 5, X86_NEXT, 0, 0, false },
		{ "palignr", { 0x66, 0x0f, 0x3a, 0x0f, 0xc1, 8 }, 6, X86_NEXT, 0, 0, false },
		{ "vzeroupper", { 0xc5, 0xf8, 0x77 }, 3, X86_NEXT, 0, 0, false },
		{ "vmovups [rip]",
		  { 0xc5, 0xfc, 0x10, 0x05, 1, 0, 0, 0 },
		  8,
		  X86_NEXT,
		  4,
		  4,
		  true },
		{ "vinsertf128", { 0xc4, 0xe3, 0x75, 0x18, 0xc1, 1 }, 6, X86_NEXT, 0, 0, false },
		{ "evex vmovups",
		  { 0x62, 0xf1, 0x7c, 0x48, 0x10, 0x47, 1 },
		  7,
		  X86_NEXT,
		  0,
		  0,
		  false },
		{ "xop vpcomb", { 0x8f, 0xe8, 0x78, 0xcc, 0xc1, 1 }, 6, X86_NEXT, 0, 0, false },
		{ "pop [rax]", { 0x8f, 0x00 }, 2, X86_NEXT, 0, 0, false },
		{ "xbegin", { 0xc7, 0xf8, 1, 0, 0, 0 }, 6, X86_BRANCH, 2, 4, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct x86 x;
		cr_expect(x86_decode(rows[i].code, sizeof(rows[i].code), &x), "%s", rows[i].name);
		cr_expect(eq(uint, x.length, rows[i].length), "%s", rows[i].name);
		cr_expect(eq(uint, x.flow, rows[i].flow), "%s", rows[i].name);
		cr_expect(eq(uint, x.relative_at, rows[i].relative_at), "%s", rows[i].name);
		cr_expect(eq(uint, x.relative_size, rows[i].relative_size), "%s", rows[i].name);
		cr_expect(eq(int, x.memory, rows[i].memory), "%s", rows[i].name);
		// Nor is anything read beyond its end.
		cr_expect(not(x86_decode(rows[i].code, rows[i].length - 1, &x)), "%s cut",
		          rows[i].name);
	}
}

Test(x86, what_is_no_instruction_of_this_mode_is_not_known)
{
	static const uint8_t rows[][16] = {
		{ 0x06 },             // push es
		{ 0x60 },             // pusha
		{ 0x9a, 1, 2, 3, 4 }, // far call
		{ 0xd6 },             // salc
		{ 0x0f, 0x04 },
		{ 0x66, 0xe9, 1, 0 },             // processors differ
		{ 0x67, 0x8b, 0x05, 1, 0, 0, 0 }, // from eip
		{ 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
		  0x66, 0x66, 0x90 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct x86 x;
		cr_expect(not(x86_decode(rows[i], sizeof(rows[i]), &x)), "row %zu", i);
	}
}

Test(x86, targets_count_from_the_end)
{
	static const uint8_t back[] = { 0xeb, 0xfe }, call[] = { 0xe8, 0, 1, 0, 0 };
	struct x86 x;

	cr_assert(x86_decode(back, sizeof(back), &x));
	cr_expect(eq(u64, x86_target(&x, back, 0x1000), 0x1000));
	cr_assert(x86_decode(call, sizeof(call), &x));
	cr_expect(eq(u64, x86_target(&x, call, 0x1000), 0x1105));
}

Test(x86, padding_is_told_from_what_does_something)
{
	static const uint8_t nop[] = { 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 };
	static const uint8_t exchange[] = { 0x41, 0x90 }; // xchg r8, rax
	struct x86 x;

	cr_assert(x86_decode(nop, sizeof(nop), &x));
	cr_expect(x.nop && x.length == sizeof(nop));
	cr_assert(x86_decode(exchange, sizeof(exchange), &x));
	cr_expect(not(x.nop));
}
