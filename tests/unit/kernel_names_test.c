// SPDX-License-Identifier: MIT
#include "merge/record/kernel_names.h"

#include "base/op.h"
#include "cli/short_name.h"
#include "tests/support/expect.h"

Test(kernel_names, a_short_name_has_no_parameters_and_no_type)
{
	static const struct {
		const char *name, *expected;
	} rows[] = {
		{ "vecadd(float const*, float*, int)", "vecadd" },
		{ "void gemm<float, 128>(float*, int)", "gemm<float, 128>" },
		{ "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
		  "std::array<char*, 1ul> >(int, float)",
		  "at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
		  "std::array<char*, 1ul> >" },
		{ "(anonymous namespace)::k(int)", "(anonymous namespace)::k" },
		{ "void (anonymous namespace)::k<(int)3>(int)",
		  "(anonymous namespace)::k<(int)3>" },
		{ "ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn" },
		{ "f(void (*)(int))", "f" },
		{ "()", "()" },
		{ ")", ")" },
		{ "", "" },
	};
	char buffer[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		short_name(rows[i].name, buffer, sizeof(buffer));
		cr_expect(eq(str, buffer, (char *)rows[i].expected), "%s", rows[i].name);
	}
}

Test(kernel_names, compilers_names_become_readable_once)
{
	struct kernel_names names = { 0 };
	struct ops *ops = ops_new();
	struct op mangled = {
		.provider = OP_GPU, .domain = "", .category = "", .name = "_Z6vecaddPKfS0_Pfi"
	};
	struct op plain = { .provider = OP_GPU, .domain = "", .category = "", .name = "scale" };
	uint32_t id = ops_add(ops, &mangled)->id, other = ops_add(ops, &plain)->id;

	uint32_t readable = kernel_names_get(&names, ops, id);
	cr_expect(eq(str, (char *)ops_get(ops, readable)->name,
	             "vecadd(float const*, float const*, float*, int)"));
	cr_expect(eq(u32, kernel_names_get(&names, ops, id), readable));
	cr_expect(eq(u32, kernel_names_get(&names, ops, other), other));
	cr_expect(eq(u32, kernel_names_get(&names, ops, 0), 0));
	kernel_names_fini(&names);
	ops_free(ops);
}
