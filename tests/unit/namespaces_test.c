// SPDX-License-Identifier: MIT
#include "base/namespaces.h"
#include "tests/support/expect.h"

#include <unistd.h>

Test(namespaces, the_first_and_the_last_number_of_a_process_are_taken)
{
	struct namespace_pids pids;

	cr_assert(namespaces_parse_pids("Name:\tx\nPid:\t70\nPPid:\t69\nNStgid:\t70\t2\t1\n"
	                                "NSpid:\t70\t2\t1\nNSpgid:\t70\t2\t1\n",
	                                &pids));
	cr_expect(eq(u32, pids.parent, 69));
	cr_expect(eq(u32, pids.outer, 70));
	cr_expect(eq(u32, pids.inner, 1));
	cr_expect(eq(u32, pids.depth, 3));
}

Test(namespaces, what_is_no_status_or_is_cut_is_refused)
{
	const char *texts[] = {
		"",
		"NSpid:\t70\t1\n",               // no parent
		"PPid:\t69\n",                   // a kernel without NSpid
		"PPid:\t69\nNSpid:\t70\t1",      // cut, perhaps within a number
		"PPid:\t69\nNSpid:\t\n",         // none
		"PPid:\t69\nNSpid:\t70\tx\n",    // no number
		"PPid:\t69\nNSpid:\t70\t-1\n",   // no pid
		"PPid:\t2147483648\nNSpid:\t1\n" // no pid
	};
	struct namespace_pids pids = { 0 };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_expect(not(namespaces_parse_pids(texts[i], &pids)), "text %zu", i);
	cr_expect(eq(u32, pids.depth, 0), "it changes only on success");
}

Test(namespaces, filters_are_counted_or_unknown)
{
	static const struct {
		const char *text;
		uint32_t filters;
	} rows[] = {
		{ "Seccomp:\t0\nSeccomp_filters:\t0\n", 0 },
		{ "Seccomp:\t2\nSeccomp_filters:\t13\n", 13 },
		{ "Seccomp:\t0\n", 0 }, // before 5.9
		{ "Seccomp:\t2\n", NAMESPACES_FILTERS_UNKNOWN },
		{ "Seccomp:\t2\nSeccomp_filters:\t1", NAMESPACES_FILTERS_UNKNOWN }, // cut
		{ "", NAMESPACES_FILTERS_UNKNOWN },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect(eq(u32, namespaces_parse_filters(rows[i].text), rows[i].filters), "%zu",
		          i);
	cr_expect(ne(u32, namespaces_read_filters(), NAMESPACES_FILTERS_UNKNOWN));
}

Test(namespaces, offsets_may_be_negative)
{
	int64_t ns = 0;

	cr_assert(namespaces_parse_offset("monotonic       86400         5\nboottime 0 0\n", &ns));
	cr_expect(eq(i64, ns, 86400000000005));
	cr_assert(namespaces_parse_offset("monotonic  -2 500000000\nboottime 0 0\n", &ns));
	cr_expect(eq(i64, ns, -1500000000));
	cr_expect(not(namespaces_parse_offset("monotonic 99999999999 0\n", &ns)));
	cr_expect(not(namespaces_parse_offset("monotonic 5\n", &ns)));
	cr_expect(not(namespaces_parse_offset("boottime 5 5\n", &ns)));
}

Test(namespaces, a_process_knows_its_own)
{
	struct namespaces own, again;

	namespaces_read(&own);
	namespaces_read(&again);
	cr_expect(ne(u32, own.pid, 0));
	cr_expect(eq(u32, own.pid, again.pid));
}
