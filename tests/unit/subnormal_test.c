// SPDX-License-Identifier: MIT
#include "symbolize/loop/subnormal.h"

#include "symbolize/loop/insn.h"
#include "tests/support/expect.h"

// mulsd xmm1, xmm0; addss xmm3, xmm2; paddd xmm5, xmm4
static const uint8_t code[] = { 0xf2, 0x0f, 0x59, 0xc1, 0xf3, 0x0f,
	                        0x58, 0xda, 0x66, 0x0f, 0xfe, 0xec };

static struct subnormal_use use_of(uint32_t subnormal, uint32_t looks)
{
	struct subnormal_looks held = { 0 };
	const struct subnormal_spot spots[] = { { &held }, { NULL } };

	for (uint32_t i = 0; i < looks; i++)
		subnormal_look(&held, i % 4 ? subnormal : 0);
	return subnormal_find((struct bytes){ code, sizeof(code) }, 0, sizeof(code), spots, 2);
}

Test(subnormal, registers_count_where_floating_point_operations_use_them)
{
	if (!insn_decoder())
		cr_skip("nothing decodes instructions here");
	static const struct {
		const char *name;
		uint32_t subnormal;
		double share;
		bool adds, multiplies;
	} table[] = {
		{ "nothing", 0, 0, false, false },
		{ "a double that is multiplied", 1u << 1, 0.75, false, true },
		{ "a float that is added", 1u << (16 + 3), 0.75, true, false },
		{ "a float in the registers of doubles", 1u << (16 + 1), 0, false, false },
		{ "a double in the registers of floats", 1u << 3, 0, false, false },
		{ "integers", 1u << 4 | 1u << 5 | 1u << (16 + 4), 0, false, false },
		{ "a register that is not used", 1u << 9, 0, false, false },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct subnormal_use use = use_of(table[i].subnormal, 40);
		cr_expect_float_eq(use.share, table[i].share, 1e-9, "%s", table[i].name);
		cr_expect_eq(use.adds, table[i].adds, "%s", table[i].name);
		cr_expect_eq(use.multiplies, table[i].multiplies, "%s", table[i].name);
		cr_expect(!use.divides, "%s", table[i].name);
	}
}

Test(subnormal, without_looks_nothing_is_found)
{
	cr_expect_float_eq(use_of(2, 0).share, 0, 1e-9);
}

Test(subnormal, no_operation_is_faster_with_them)
{
	const struct subnormal_use use = { .multiplies = true, .divides = true, .adds = true };
	const struct subnormal_use none = { 0 };

	cr_expect(subnormal_slowdown(&use) >= 1);
	cr_expect_float_eq(subnormal_slowdown(&none), 1, 1e-9);
}
