// SPDX-License-Identifier: MIT
#include "merge/file/callgrind.h"

#include "base/error.h"
#include "base/strings.h"
#include "merge/profile/counts.h"
#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

static struct counts counts;
static struct strings *strings;
static struct error err;

static void begin(void)
{
	memset(&counts, 0, sizeof(counts));
	strings = strings_new();
}

static void end(void)
{
	counts_fini(&counts);
	strings_free(strings);
}

TestSuite(callgrind, .init = begin, .fini = end);

static int read_text(const char *text)
{
	const struct bytes bytes = { (const uint8_t *)text, strlen(text) };

	return callgrind_read(bytes, &counts, strings, &err);
}

static const struct count_function *function(const char *name)
{
	for (uint32_t i = 0; i < counts.function_count; i++)
		if (counts.functions[i].name == strings_find(strings, name))
			return &counts.functions[i];
	cr_assert(false, "no function %s", name);
	abort();
}

static uint64_t at(const char *file, uint32_t line)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < counts.line_count; i++)
		if (counts.lines[i].file == strings_find(strings, file) &&
		    counts.lines[i].line == line)
			sum += counts.lines[i].self;
	return sum;
}

Test(callgrind, lines_and_functions)
{
	cr_assert(read_text("version: 1\nevents: Ir\n\nob=/bin/app\nfl=a.c\nfn=main\n3 10\n4 5\n"
	                    "fn=f\n9 7\n9 1\n") == 0,
	          "%s", err.text);
	cr_expect(eq(u64, function("main")->self, 15));
	cr_expect(eq(u64, function("f")->self, 8));
	cr_expect(eq(u64, at("a.c", 9), 8));
	cr_expect(eq(u64, counts.all, 23));
	cr_expect(eq(str, (char *)strings_get(strings, function("f")->module), "/bin/app"));
}

Test(callgrind, positions_go_by_the_last_one)
{
	cr_assert(read_text("events: Ir\nfl=a.c\nfn=f\n10 1\n+5 2\n* 4\n-3 8\n") == 0, "%s",
	          err.text);
	cr_expect(eq(u64, at("a.c", 10), 1));
	cr_expect(eq(u64, at("a.c", 15), 6));
	cr_expect(eq(u64, at("a.c", 12), 8));
}

Test(callgrind, addresses_may_stand_before_lines)
{
	cr_assert(
		read_text("positions: instr line\nevents: Ir\nfl=a.c\nfn=f\n0x10 3 1\n+4 +1 2\n") ==
			0,
		"%s", err.text);
	cr_expect(eq(u64, at("a.c", 3), 1));
	cr_expect(eq(u64, at("a.c", 4), 2));
}

Test(callgrind, names_have_numbers)
{
	cr_assert(read_text("events: Ir\nfl=(1) a.c\nfn=(7) f\n1 1\nfl=(2) b.c\nfn=(8) g\n1 2\n"
	                    "fl=(1)\nfn=(7)\n2 4\n") == 0,
	          "%s", err.text);
	cr_expect(eq(u32, counts.function_count, 2));
	cr_expect(eq(u64, function("f")->self, 5));
	cr_expect(eq(u64, at("a.c", 2), 4));
}

Test(callgrind, inlined_lines_are_of_their_own_file)
{
	cr_assert(read_text("events: Ir\nfl=a.c\nfn=f\n1 1\nfi=b.h\n1 2\nfe=a.c\n2 4\n") == 0, "%s",
	          err.text);
	cr_expect(eq(u64, function("f")->self, 7));
	cr_expect(eq(u64, at("b.h", 1), 2));
	cr_expect(eq(u64, at("a.c", 1), 1));
}

Test(callgrind, calls_are_not_the_functions_own)
{
	cr_assert(read_text("events: Ir\nob=app\nfl=a.c\nfn=main\n1 1\ncob=lib\ncfi=l.c\ncfn=work\n"
	                    "calls=3 9\n2 30\n3 1\nob=lib\nfl=l.c\nfn=work\n9 30\n") == 0,
	          "%s", err.text);
	cr_expect(eq(u64, function("main")->self, 2));
	cr_expect(eq(u64, function("main")->callees, 30));
	cr_expect(eq(u64, function("work")->calls, 3));
	cr_expect(eq(u64, function("work")->called, 30));
	cr_expect(eq(u32, counts.function_count, 2));
}

// fib(n) calls itself: what callgrind writes of the inner calls is in the outer one.
Test(callgrind, recursion_counts_once)
{
	cr_assert(read_text("events: Ir\nfl=a.c\nfn=main\n1 1\ncfn=fib\ncalls=1 2\n1 100\n"
	                    "fn=fib\n2 10\ncfn=fib'2\ncalls=2 2\n3 90\n"
	                    "fn=fib'2\n2 90\ncfn=fib'2\ncalls=8 2\n3 80\n") == 0,
	          "%s", err.text);
	cr_expect(eq(u32, counts.function_count, 2));
	cr_expect(eq(u64, function("fib")->self, 100));
	cr_expect(eq(u64, function("fib")->called, 100));
	cr_expect(eq(u64, function("fib")->calls, 1));
}

Test(callgrind, of_several_events_instructions_count)
{
	cr_assert(read_text("events: Dr Ir Dw\nfl=a.c\nfn=f\n1 5 7 9\n2 5\n") == 0, "%s", err.text);
	cr_expect(eq(u64, counts.all, 7));
}

Test(callgrind, files_add_up)
{
	const char *text = "events: Ir\nfl=a.c\nfn=f\n1 1\n";

	cr_assert(read_text(text) == 0);
	cr_assert(read_text(text) == 0);
	cr_expect(eq(u32, counts.function_count, 1));
	cr_expect(eq(u64, function("f")->self, 2));
}

Test(callgrind, what_is_not_the_format_is_refused_by_its_line)
{
	cr_expect(read_text("") < 0);
	cr_expect(read_text("hello\n") < 0);
	cr_expect(read_text("version: 2\nevents: Ir\n") < 0);
	cr_expect(read_text("version: 1\n") < 0);
	cr_expect(read_text("events: Ir\n1 1\n") < 0);
	cr_assert(read_text("events: Ir\nfn=f\n1 x\n") < 0);
	cr_expect(eq(str, err.text, "line 3 is not callgrind's format"));
}
