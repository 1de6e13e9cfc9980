// SPDX-License-Identifier: MIT
#include "tracer/agent/waits/waits_folded.h"

#include "tests/support/expect.h"

#define AT  7
#define TAG 42

static struct waits_folded folded;

// Group N lasts 100 ns, of which thread 1 has 60 and thread 2 + N % OTHERS the rest.
static void push(uint32_t n, uint32_t others)
{
	struct folded_group group = { .from_ns = 100 * n, .to_ns = 100 * (n + 1), .tag = TAG };

	folded_add(&group, 1, 50);
	folded_add(&group, 2 + n % others, 40);
	folded_add(&group, 1, 10);
	folded_push(&folded, AT, &group);
}

static uint64_t ns_of(uint64_t from_ns, uint64_t to_ns, uint32_t tid)
{
	struct folded_group sum = { .from_ns = from_ns, .to_ns = to_ns, .tag = TAG };
	uint64_t ns = 0;

	folded_between(&folded, AT, &sum);
	for (uint32_t i = 0; i < sum.count; i++)
		ns += sum.owners[i].tid == tid ? sum.owners[i].ns : 0;
	return ns;
}

Test(waits_folded, a_part_of_a_group_has_its_share)
{
	push(1, 1);
	push(2, 1);
	cr_expect(eq(u64, ns_of(100, 300, 1), 120));
	cr_expect(eq(u64, ns_of(100, 300, 2), 80));
	cr_expect(eq(u64, ns_of(150, 250, 1), 60));
	cr_expect(eq(u64, ns_of(0, 100, 1), 0));
	cr_expect(eq(u64, ns_of(0, 1000, 3), 0));
}

Test(waits_folded, sums_stay_however_often_the_owner_changes)
{
	for (uint32_t n = 0; n < 1000; n++)
		push(n, 3);
	cr_expect(le(u32, folded.count, FOLDED_GROUPS));
	cr_expect(eq(u64, ns_of(0, 100000, 1), 60000));
	cr_expect(eq(u64, ns_of(0, 100000, 2) + ns_of(0, 100000, 3) + ns_of(0, 100000, 4), 40000));
	// The newest are as they came, and old ones have their shares.
	cr_expect(eq(u64, ns_of(99900, 100000, 1), 60));
	cr_expect(eq(u64, ns_of(99900, 100000, 2 + 999 % 3), 40));
	cr_expect(ge(u64, ns_of(20000, 30000, 1), 5990));
	cr_expect(le(u64, ns_of(20000, 30000, 1), 6000));
}

Test(waits_folded, of_many_owners_the_time_of_some_is_nobodys)
{
	for (uint32_t n = 0; n < 320; n++)
		push(n, 40);
	cr_expect(eq(u64, ns_of(0, 32000, 1), 19200));
	uint64_t others = ns_of(0, 32000, 0);
	for (uint32_t tid = 2; tid < 42; tid++)
		others += ns_of(0, 32000, tid);
	cr_expect(eq(u64, others, 12800));
	cr_expect(gt(u64, ns_of(0, 32000, 0), 0));
}

Test(waits_folded, another_place_or_address_has_none_of_it)
{
	struct folded_group sum = { .to_ns = 1000, .tag = TAG + 1 };

	push(1, 1);
	cr_expect(!folded_between(&folded, AT, &sum));
	sum.tag = TAG;
	cr_expect(!folded_between(&folded, AT + 64, &sum));
	cr_expect(folded_between(&folded, AT, &sum));
	struct folded_group other = { .from_ns = 200, .to_ns = 300, .tag = TAG };
	folded_add(&other, 9, 100);
	folded_push(&folded, AT + 64, &other);
	cr_expect(eq(u64, ns_of(0, 1000, 1), 0));
}

Test(waits_folded, what_is_being_written_is_neither_read_nor_written)
{
	push(1, 1);
	folded.sequence++;
	push(2, 1);
	cr_expect(eq(u64, ns_of(0, 1000, 1), 0));
	folded.sequence++;
	cr_expect(eq(u64, ns_of(0, 1000, 1), 60));
}
