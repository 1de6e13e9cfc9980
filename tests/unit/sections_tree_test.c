// SPDX-License-Identifier: MIT
// The call tree as rows.
#include "tests/support/expect.h"
#include "tests/unit/fake_profile.h"
#include "tests/unit/fake_units.h"
#include "tests/unit/made_section.h"

#include <string.h>

TestSuite(sections_tree, .init = made_begin, .fini = made_end);

static struct call_node leaf = { .name = "leaf", .self = MS(10), .total = MS(10) };
static struct call_node second = { .name = "step", .op = true, .total = MS(10), .child = &leaf };
static struct call_node first = { .name = "work",
	                          .file = "/src/a.c",
	                          .line = 9,
	                          .self = MS(30),
	                          .total = MS(30),
	                          .next = &second };
static struct call_node main_node = { .name = "main", .total = MS(40), .child = &first };
static struct call_node start = { .name = "_start", .total = MS(40), .child = &main_node };

static struct section *make(void)
{
	struct profile *p = fake_profile();

	p->tree = &start;
	return made_section(p, READER_TEXT, section_call_tree);
}

Test(sections_tree, branches_stand_before_names_and_chains_are_one_column_in)
{
	cr_expect_str_eq(made_text(make()),
	                 "call tree: callers above, heavier first; «ops» in brackets\n"
	                 "40000000 | 40000000/40000000 | ? | \n main | ?\n"
	                 "30000000 | 30000000/40000000 | 30000000/40000000 |  \n├─ work | "
	                 "/src/a.c:9\n"
	                 "10000000 | 10000000/40000000 | ? |  \n└─ «step» | ?\n"
	                 "10000000 | 10000000/40000000 | 10000000/40000000 |     \n leaf | ?\n");
}

Test(sections_tree, gpu_time_has_a_tree_where_there_is_some)
{
	const struct section *s = make();

	cr_expect(s->shown);
	cr_assert(s->next != NULL);
	cr_expect_str_eq(s->next->title, "call tree of GPU time");
	cr_expect_eq(s->next->shown, false);
}
