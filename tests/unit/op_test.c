// SPDX-License-Identifier: MIT
#include "base/op.h"
#include "tests/support/expect.h"

static struct op nvtx(const char *domain, const char *name)
{
	return (struct op){ .provider = OP_NVTX, .domain = domain, .category = "", .name = name };
}

Test(op, one_name_in_one_domain_is_one_op)
{
	cleanup(ops) struct ops *o = ops_new();
	struct op step = nvtx("", "step"), other = nvtx("cuDNN", "step");
	struct op itt = step;

	itt.provider = OP_ITT;
	const struct op *first = ops_add(o, &step);
	cr_assert(first != NULL);
	cr_expect(eq(u32, first->id, 1));
	cr_expect(eq(ptr, (void *)ops_add(o, &step), (void *)first));
	cr_expect(ne(ptr, (void *)ops_add(o, &other), (void *)first), "another domain");
	cr_expect(ne(ptr, (void *)ops_add(o, &itt), (void *)first), "another provider");
	cr_expect(eq(u32, ops_count(o), 3));
}

Test(op, the_first_category_stays)
{
	cleanup(ops) struct ops *o = ops_new();
	struct op load = nvtx("", "load"), later;

	load.category = "io";
	later = load;
	later.category = "net";
	ops_add(o, &load);
	cr_expect(eq(str, (char *)ops_add(o, &later)->category, "io"));
}

Test(op, texts_are_copied_and_entries_stay_where_they_are)
{
	cleanup(ops) struct ops *o = ops_new();
	char name[32] = "op 0";
	struct op wanted = nvtx("", name);
	const struct op *first = ops_add(o, &wanted);

	for (int i = 1; i < 5000; i++) {
		snprintf(name, sizeof(name), "op %d", i);
		cr_assert(ops_add(o, &wanted) != NULL);
	}
	cr_expect(eq(ptr, (void *)ops_get(o, 1), (void *)first));
	cr_expect(eq(str, (char *)first->name, "op 0"));
	cr_expect(eq(str, (char *)ops_get(o, 5000)->name, "op 4999"));
	cr_expect(eq(ptr, (void *)ops_get(o, 5001), NULL));
	cr_expect(eq(ptr, (void *)ops_get(o, 0), NULL));
}

Test(op, a_shells_op_is_named_after_a_line)
{
	static const struct {
		enum op_provider provider;
		const char *name;
		int line;
	} table[] = {
		{ OP_SHELL, "tally.sh:11", 11 },
		{ OP_SHELL, "tally.sh:11 (count)", 11 },
		{ OP_SHELL, "tally.sh", 0 },
		{ OP_SHELL, "tally.sh:-4", 0 },
		{ OP_SHELL, "tally.sh:99999999999", 0 },
		{ OP_NVTX, "tally.sh:11", 0 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct op op = { .provider = table[i].provider, .name = table[i].name };
		cr_expect(eq(int, op_line(&op), table[i].line), "%s", table[i].name);
	}
}

Test(op, providers_have_names)
{
	cr_expect(eq(str, (char *)op_provider_name(OP_LAPACK), "lapack"));
	cr_expect(eq(str, (char *)op_provider_name((enum op_provider)0), "unknown"));
	cr_expect(eq(str, (char *)op_provider_name((enum op_provider)200), "unknown"));
	for (int i = 1; i < OP_PROVIDERS; i++)
		cr_expect(ne(str, (char *)op_provider_name((enum op_provider)i), "unknown"));
}
