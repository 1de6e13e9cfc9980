// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/trace/intruders.h"

#include <string.h>

#define AT   UINT64_C(0x1000)
#define SIZE 512

static uint8_t code[SIZE];
static Elf64_Sym table[3];
static const char strings[] = "\0f\0g";

// f at 256, of 32 bytes, whose first 7 are displaced; g at 160, of 64.
static bool intruded(void)
{
	struct symbols symbols = {
		.symbols = table, .count = 3, .strings = strings, .string_bytes = sizeof(strings)
	};
	struct intruder_code all = { code, AT, SIZE };
	struct intruded f = { .address = AT + 256, .size = 32, .length = 7 };

	table[1] = (Elf64_Sym){ 1, STT_FUNC, 0, 1, AT + 256, 32 };
	table[2] = (Elf64_Sym){ 3, STT_FUNC, 0, 1, AT + 160, 64 };
	intruders_find(&all, &symbols, &f, 1);
	return f.intruded;
}

static void put(size_t at, const void *bytes, size_t size)
{
	memset(code, 0x90, sizeof(code));
	memcpy(code + at, bytes, size);
}

static void put_far(size_t at, uint8_t opcode, size_t target)
{
	int32_t distance = (int32_t)(target - (at + 5));

	put(at, &opcode, 1);
	memcpy(code + at + 1, &distance, 4);
}

Test(intruders, near_and_far_jumps_into_the_middle)
{
	static const uint8_t near[] = { 0xeb, 36 };   // from 220 to 258
	static const uint8_t branch[] = { 0x74, 33 }; // from 222 to 257

	put_far(170, 0xe9, 259);
	cr_expect(intruded());
	put_far(170, 0xe8, 262);
	cr_expect(intruded());
	put(220, near, sizeof(near));
	cr_expect(intruded());
	put(222, branch, sizeof(branch));
	cr_expect(intruded());
}

Test(intruders, jumps_to_its_start_and_behind_are_none)
{
	static const uint8_t near[] = { 0xeb, 34 }; // from 220 to 256

	put_far(170, 0xe9, 256);
	cr_expect(not(intruded()));
	put_far(170, 0xe9, 263);
	cr_expect(not(intruded()));
	put(220, near, sizeof(near));
	cr_expect(not(intruded()));
}

Test(intruders, what_is_in_the_middle_of_an_instruction_is_no_jump)
{
	static const uint8_t lea[] = { 0x48, 0x8d, 0x74, 38, 0x20 }; // 74 26 is at 218
	static const uint8_t outside[] = { 0x74, 33 };

	put(216, lea, sizeof(lea));
	cr_expect(not(intruded()));
	put(230, outside, sizeof(outside)); // in no function, but behind g
	code[231] = 258 - 232;
	cr_expect(intruded());
}

Test(intruders, between_functions_instructions_are_read_from_the_last_one_before)
{
	static const uint8_t move_and_test[] = { 0x4c, 0x89, 0xe3, 0x1d, 0x01, 0x00, 0x00, 0x00 };
	static const uint8_t unknown = 0x06; // no instruction of 64 bits

	put(228, move_and_test, sizeof(move_and_test)); // jrcxz, to 261, is at 230
	cr_expect(not(intruded()));
	code[226] = unknown;
	cr_expect(intruded(), "what is not read may be a jump");
	put(100, move_and_test, 2);
	code[150] = 0xeb;
	code[151] = 106;
	cr_expect(intruded(), "before all functions nothing is read");
}
