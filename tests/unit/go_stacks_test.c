// SPDX-License-Identifier: MIT
#include "sampler/unwind/go_stacks.h"

#include "tests/support/expect.h"

#define TEXT     0x401000

#define FIXED_G  0x25, 0xf8, 0xff, 0xff, 0xff // %fs:-8
#define LOAD_RCX 0x48, 0xc7, 0xc1, 0xf8, 0xff, 0xff, 0xff

/* Looks for CODE, of SIZE bytes, in other code. */
static bool find(const uint8_t *code, size_t size, struct go_switch *found)
{
	uint8_t text[256];

	memset(text, 0xcc, sizeof(text));
	memcpy(text + 32, code, size);
	return go_switch_find(text, sizeof(text), TEXT, found);
}

static bool same(struct cfi_rule a, struct cfi_rule b)
{
	return memcmp(&a, &b, sizeof(a)) == 0;
}

/* As go build has them in programs with cgo. */
Test(go_stacks, calls_of_c_are_found_in_the_code_of_each_version)
{
	static const uint8_t go_1_19[] = { 0xff, 0xd0, 0x48, 0x8b, 0x7c,    0x24, 0x30, 0x48,
		                           0x8b, 0x77, 0x08, 0x48, 0x2b,    0x74, 0x24, 0x28,
		                           0x64, 0x48, 0x89, 0x3c, FIXED_G, 0x48, 0x89, 0xf4,
		                           0x89, 0x44, 0x24, 0x18, 0xc3 };
	static const uint8_t go_1_24_pie[] = { 0xe8, 0x7f, 0xff, 0xff, 0xff, LOAD_RCX, 0x48, 0x8b,
		                               0x7c, 0x24, 0x08, 0x48, 0x8b, 0x77,     0x08, 0x48,
		                               0x2b, 0x34, 0x24, 0x64, 0x48, 0x89,     0x39, 0x48,
		                               0x89, 0xf4, 0x89, 0x44, 0x24, 0x20,     0x5d, 0xc3 };
	struct go_switch found;

	cr_assert(find(go_1_19, sizeof(go_1_19), &found));
	cr_expect(same(found.rule,
	               (struct cfi_rule){
			       .cfa = CFI_GO_CALL, .add = 8, .offset = 0x30, .rbp_offset = 0x28 }));
	cr_expect(eq(u64, found.start, TEXT + 32));
	cr_expect(eq(u64, found.end, TEXT + 32 + 3), "the return address is still below");
	cr_assert(find(go_1_24_pie, sizeof(go_1_24_pie), &found));
	cr_expect(
		same(found.rule, (struct cfi_rule){ .cfa = CFI_GO_CALL, .add = 16, .offset = 8 }));
	for (size_t i = 0; i < sizeof(go_1_24_pie); i++) {
		uint8_t other[sizeof(go_1_24_pie)];
		memcpy(other, go_1_24_pie, sizeof(other));
		other[i] ^= 0x80;
		bool operand = (i > 0 && i < 5) || i == 35;
		cr_expect(find(other, sizeof(other), &found) == operand, "byte %zu", i);
	}
}

Test(go_stacks, a_call_of_c_from_the_threads_own_stack_has_aligned_it)
{
	static const uint8_t code[] = { 0xe8, 0x44, 0xff, 0xff, 0xff, 0x48, 0x8b, 0x34, 0x24,
		                        0x48, 0x89, 0xf4, 0x89, 0x44, 0x24, 0x20, 0x5d, 0xc3 };
	struct go_switch found;

	cr_assert(find(code, sizeof(code), &found));
	cr_expect(same(found.rule, (struct cfi_rule){ .cfa = CFI_RSP_MEMORY,
	                                              .rbp = CFI_RBP_AT_CFA,
	                                              .add = 16,
	                                              .rbp_offset = -16 }));
}

Test(go_stacks, the_runtimes_own_changes_are_found)
{
	static const uint8_t system[] = {
		0xff, 0xd7, 0x64, 0x48, 0x8b, 0x04, FIXED_G, 0x48, 0x8b, 0x58,    0x30, 0x48, 0x8b,
		0x83, 0xb8, 0x00, 0x00, 0x00, 0x64, 0x48,    0x89, 0x04, FIXED_G, 0x48, 0x8b, 0x60,
		0x38, 0x48, 0x8b, 0x68, 0x60, 0x48, 0xc7,    0x40, 0x38, 0x00,    0x00, 0x00, 0x00,
		0x48, 0xc7, 0x40, 0x60, 0x00, 0x00, 0x00,    0x00, 0x5d, 0xc3
	};
	static const uint8_t mcall[] = { 0x50, 0x4c, 0x8b, 0x22, 0x41, 0xff,
		                         0xd4, 0x90, 0x58, 0xe9, 0xeb, 0x45 };
	static const uint8_t goexit[] = { 0x90, 0xe8, 0xba, 0x24, 0x00, 0x00, 0x90 };
	struct go_switch found;

	cr_assert(find(system, sizeof(system), &found));
	cr_expect(same(found.rule, (struct cfi_rule){ .cfa = CFI_GO_SYSTEM,
	                                              .add = 16,
	                                              .offset = 0xb8,
	                                              .rbp_offset = 0x38 }));
	cr_assert(find(mcall, sizeof(mcall), &found));
	cr_expect(same(found.rule, (struct cfi_rule){ .cfa = CFI_OUTERMOST }));
	cr_expect(eq(u64, found.start, TEXT + 33), "its push is not done before");
	cr_assert(find(goexit, sizeof(goexit), &found));
	cr_expect(same(found.rule, (struct cfi_rule){ .cfa = CFI_OUTERMOST }));
	cr_expect(not(find(mcall, 8, &found)), "the rest is missing");
}

Test(go_stacks, callers_are_those_of_the_same_call_as_deep_in_a_stack)
{
	const struct go_caller_key key = { 7, 1, 1, 0x1000, 0x180 };
	const struct frame frames[] = { { 1, 1, FRAME_RETURN }, { 2, 1, FRAME_RETURN } };
	const uint64_t sps[] = { 0x100, 0x180 };
	struct go_callers callers = { 0 };
	struct frame found[2];
	uint64_t found_sps[2];

	cr_expect(eq(sz, go_callers_find(&callers, &key, found, found_sps, 2), 0));
	go_callers_keep(&callers, &key, frames, sps, 2);
	cr_expect(eq(sz, go_callers_find(&callers, &key, found, found_sps, 2), 2));
	cr_expect(eq(u64, found[1].address, 2));
	cr_expect(eq(u64, found_sps[0], 0x100));
	cr_expect(eq(sz, go_callers_find(&callers, &key, found, found_sps, 1), 0), "no room");
	for (int i = 0; i < 5; i++) {
		struct go_caller_key other = key;
		other.pid += i == 0;
		other.module += i == 1;
		other.callee_module += i == 2;
		other.callee += i == 3;
		other.distance += i == 4 ? 8 : 0;
		cr_expect(eq(sz, go_callers_find(&callers, &other, found, found_sps, 2), 0), "%d",
		          i);
	}
	go_callers_fini(&callers);
}
