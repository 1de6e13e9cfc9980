// SPDX-License-Identifier: MIT
#include "merge/profile/profile.h"
#include "symbolize/early.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

static struct fixture f;
static uint32_t modules[16];
static size_t counts[16];
static unsigned questions;
static bool refuses;

bool early_ask(struct early *e, const struct module *module, const uint64_t *addresses,
               size_t count)
{
	(void)e;
	for (size_t i = 1; i < count; i++)
		cr_expect(gt(u64, addresses[i], addresses[i - 1]), "in order, each once");
	modules[questions] = module->id;
	counts[questions++] = count;
	return !refuses;
}

static void begin(void)
{
	fixture_init(&f, NULL);
	questions = 0;
	refuses = false;
}

static void end(void)
{
	fixture_fini(&f);
}

TestSuite(ask_early, .init = begin, .fini = end);

Test(ask_early, one_question_for_each_module)
{
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1 > work a.c:2 > memcpy@libc");
	profile_ask_early(f.profile, NULL);
	cr_assert(eq(u32, questions, 2));
	cr_expect(ne(u32, modules[0], modules[1]));
	cr_expect(eq(sz, counts[0] + counts[1], 3));
}

Test(ask_early, only_what_is_new_is_asked)
{
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1 > work a.c:2");
	profile_ask_early(f.profile, NULL);
	cr_assert(eq(u32, questions, 1));
	profile_ask_early(f.profile, NULL);
	cr_expect(eq(u32, questions, 1));
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1 > work a.c:2 > leaf a.c:3");
	profile_ask_early(f.profile, NULL);
	cr_assert(eq(u32, questions, 2));
	cr_expect(ge(sz, counts[1], 1));
}

Test(ask_early, nobody_to_ask_is_no_harm)
{
	refuses = true;
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1 > memcpy@libc");
	profile_ask_early(f.profile, NULL);
	cr_expect(eq(u32, questions, 1), "the first refusal is enough");
	name_all(&f);
	cr_expect(eq(str, (char *)ask(&f, &(struct query){ 0 }), "memcpy 1/1, main 0/1"));
}
