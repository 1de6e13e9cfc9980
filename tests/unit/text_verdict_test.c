// SPDX-License-Identifier: MIT
// The sentence that a report of a hand-made profile begins with.
#include "base/clock.h"
#include "base/rung.h"
#include "tests/support/expect.h"
#include "tests/support/golden.h"
#include "tests/unit/text_page.h"

#include <stdlib.h>
#include <string.h>

TestSuite(text_verdict, .init = golden_use_utf8);

// The first lines below the header.
static char *verdict_of(struct profile *profile)
{
	struct view view = view_default();
	char *page = text_page(profile, &view, golden_terminal(300, false, false));
	char *start = strchr(page, '\n') + 1;
	char *end = strstr(start, "\n\n");

	if (end)
		*end = '\0';
	memmove(page, start, strlen(start) + 1);
	return page;
}

static void expect_verdict(struct profile *profile, const char *sentence)
{
	char *verdict = verdict_of(profile);

	cr_expect(ne(ptr, strstr(verdict, sentence), NULL), "no \"%s\" in \"%s\"", sentence,
	          verdict);
	free(verdict);
}

static void expect_no_words(struct profile *profile, const char *words)
{
	char *verdict = verdict_of(profile);

	cr_expect(eq(ptr, strstr(verdict, words), NULL), "\"%s\" in \"%s\"", words, verdict);
	free(verdict);
}

Test(text_verdict, the_verdict_names_one_number_and_one_place)
{
	expect_verdict(fake_profile(),
	               "48.1 % of all time (CPU + waiting) is spent in deflate_slow "
	               "(deflate.c:1790).");
}

Test(text_verdict, a_library_function_is_blamed_on_its_caller)
{
	static const struct row row = { .name = "memcpy",
		                        .module = "/usr/lib/libc.so.6",
		                        .self = 900 * NS_PER_MS,
		                        .total = 900 * NS_PER_MS,
		                        .self_ns = { [METRIC_ON_CPU] = 900 * NS_PER_MS } };
	struct profile *profile = fake_profile();

	profile->functions = &row;
	profile->function_count = 1;
	profile->totals.on_cpu_ns = profile->all = NS_PER_SEC;
	expect_verdict(profile, "90.0 % of the CPU time is spent in memcpy in libc.so.6, mostly "
	                        "called from deflate_slow (deflate.c:1790).");
}

static struct profile *with_idleness(void)
{
	static const struct rule rule = { .id = "IO-IDLE", .subject = RULES_IO };
	struct profile *profile = fake_profile_with_findings();

	profile->findings[0] = (struct finding){ .rule = &rule,
		                                 .severity = SEVERITY_INFO,
		                                 .share = 0.6,
		                                 .value = 60,
		                                 .fact = "waiting for requests: 60 % of the run",
		                                 .advice = "It is idle." };
	profile->finding_count = profile->findings_shown = 1;
	return profile;
}

// Whoever profiles a server asks what it does when it is not idle.
Test(text_verdict, what_a_server_does_comes_before_that_it_is_idle)
{
	expect_verdict(with_idleness(),
	               "  48.1 % of all time (CPU + waiting) is spent in "
	               "deflate_slow (deflate.c:1790). The main thread was idle, waiting for "
	               "requests, for 60 % of the time.");
}

Test(text_verdict, a_server_without_requests_is_idle_and_nothing_else)
{
	struct profile *profile = with_idleness();

	profile->totals.on_cpu_ns = profile->run.wall_ns / 20;
	profile->totals.runnable_ns = 0;
	expect_verdict(profile, "  Waiting for requests: 60 % of the run.\n  It is idle.");
}

// A static program where there are no perf events: how its threads wait is known, what they do is
// not.
Test(text_verdict, code_that_could_not_be_seen_comes_before_what_explains_less)
{
	static const struct rule rule = { .id = "IO-SLEEP", .subject = RULES_IO };
	static const struct row row = { .name = "[stack not seen]",
		                        .self = 800 * NS_PER_MS,
		                        .total = 800 * NS_PER_MS,
		                        .self_ns = { [METRIC_ON_CPU] = 800 * NS_PER_MS } };
	struct profile *profile = fake_profile_with_findings();

	profile->findings[0] = (struct finding){ .rule = &rule,
		                                 .severity = SEVERITY_WARN,
		                                 .share = 0.2,
		                                 .saving_ns = 200 * NS_PER_MS,
		                                 .fact = "sleeping: 20 % of wall time" };
	profile->finding_count = profile->findings_shown = 1;
	profile->functions = &row;
	profile->function_count = 1;
	profile->totals.on_cpu_ns = profile->all = NS_PER_SEC;
	profile->run.rung = RUNG_AGENT;
	profile->run.rung_remedy = "Allow perf_event_open.";
	expect_verdict(profile,
	               "  80.0 % of the CPU time was spent in code whose stacks could not be "
	               "read: there are no perf events, and the agent is not loaded in that "
	               "program.\n  Allow perf_event_open. Next: sleeping: 20 % of wall time.");
}

// Symbols name functions of the interpreter, never of the script.
Test(text_verdict, symbols_of_an_interpreter_are_not_asked_for)
{
	static struct row row = { .self = 900 * NS_PER_MS,
		                  .total = 900 * NS_PER_MS,
		                  .self_ns = { [METRIC_ON_CPU] = 900 * NS_PER_MS } };
	static const char *const names[] = { "[perl]", "Perl_pp_add" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct profile *profile = fake_profile();
		row.name = names[i];
		row.module = "/usr/bin/perl";
		profile->functions = &row;
		profile->function_count = 1;
		profile->totals.on_cpu_ns = profile->all = NS_PER_SEC;
		expect_verdict(
			profile,
			"perl interprets a script, whose functions are not recorded; symbols "
			"of perl would not name them. Use a profiler of the script's language "
			"(perl -d:NYTProf SCRIPT).");
	}
	struct profile *profile = fake_profile();
	row.name = "[dash]";
	row.module = "/usr/bin/dash";
	profile->functions = &row;
	profile->function_count = 1;
	profile->totals.on_cpu_ns = profile->all = NS_PER_SEC;
	expect_verdict(profile,
	               "dash itself works, command by command: let one program go through "
	               "all items (awk, sed, sort), or write that loop in Python or Perl.");
	profile = fake_profile();
	row.name = "[libfoo.so]";
	row.module = "/usr/lib/libfoo.so";
	profile->functions = &row;
	profile->function_count = 1;
	profile->totals.on_cpu_ns = profile->all = NS_PER_SEC;
	expect_verdict(profile, "Get its symbols first");
}

// Code of MODULE alone, in which a sample has no name, below a function called CALLER.
static struct profile *with_nameless(struct call_node nodes[3], const char *name,
                                     const char *module, const char *caller)
{
	static struct row row;
	struct profile *profile = fake_profile();

	row = (struct row){ .name = name,
		            .module = module,
		            .self = 900 * NS_PER_MS,
		            .total = 900 * NS_PER_MS,
		            .self_ns = { [METRIC_ON_CPU] = 900 * NS_PER_MS } };
	nodes[0] = (struct call_node){ .name = "__libc_start_main",
		                       .module = "/usr/lib/libc.so.6",
		                       .total = 900 * NS_PER_MS,
		                       .child = &nodes[1] };
	nodes[1] = (struct call_node){
		.name = caller, .module = module, .total = 900 * NS_PER_MS, .child = &nodes[2]
	};
	nodes[2] = (struct call_node){
		.name = name, .module = module, .self = 900 * NS_PER_MS, .total = 900 * NS_PER_MS
	};
	profile->tree = nodes;
	profile->functions = &row;
	profile->function_count = 1;
	profile->totals.on_cpu_ns = profile->all = NS_PER_SEC;
	return profile;
}

Test(text_verdict, code_without_symbols_is_told_by_what_is_known_around_it)
{
	static const struct {
		const char *name, *module, *caller, *says, *advises;
	} rows[] = {
		{ "[liblzma.so.5]", "/usr/lib/liblzma.so.5", "lzma_code",
		  "in code without symbols in liblzma.so.5 (a library for compression), mostly "
		  "below lzma_code.",
		  "Work on less data" },
		{ "[libLLVM-14.so.1]", "/usr/lib/libLLVM-14.so.1", "llvm_run",
		  "in code without symbols in libLLVM-14.so.1 (a library for compiling), mostly "
		  "below llvm_run.",
		  "Compile less" },
		{ "[libfoo.so]", "/usr/lib/libfoo.so", "foo_run",
		  "in code without symbols in libfoo.so, mostly below foo_run.",
		  "Start with that caller" },
		{ "[cmp]", "/usr/bin/cmp", "[cmp]", "in code without symbols in cmp.",
		  "What cmp works on is up to its options and input" },
		{ "[gzip]", "/usr/bin/gzip", "[gzip]",
		  "in code without symbols in gzip (a program for compression).", "gzip -1" },
		{ "[sha256sum]", "/usr/bin/sha256sum", "[sha256sum]",
		  "in code without symbols in sha256sum (a program for checksums).", "xargs -P" },
		{ "[app]", "/home/u/app", "[app]", "in code without symbols in app.",
		  "Get its symbols first (see the limits)." },
	};
	struct call_node nodes[3];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct profile *profile =
			with_nameless(nodes, rows[i].name, rows[i].module, rows[i].caller);
		expect_verdict(profile, rows[i].says);
		expect_verdict(profile, rows[i].advises);
	}
}

// All scripts call libraries through the same functions of their interpreter.
Test(text_verdict, a_nameless_library_below_an_interpreter_is_its_scripts)
{
	struct call_node nodes[3];
	struct profile *profile =
		with_nameless(nodes, "[SHA.so]", "/usr/lib/perl/SHA.so", "Perl_pp_entersub");

	nodes[1].module = "/usr/bin/perl";
	expect_verdict(profile, "without symbols in SHA.so, mostly below Perl_pp_entersub.");
	expect_verdict(profile,
	               "Use a profiler of the script's language (perl -d:NYTProf SCRIPT).");
}

// A fact beside, which gives no advice to change a program of the distribution's.
Test(text_verdict, code_without_symbols_is_told_by_its_hottest_loop)
{
	struct call_node nodes[3];
	struct profile *profile = with_nameless(nodes, "[cmp]", "/usr/bin/cmp", "[cmp]");

	profile->loop = (struct nameless_loop){ { .kind = LOOP_CHASE }, 0x5a10, 600, 900 };
	expect_verdict(profile, "in code without symbols in cmp; 66.7 % of that in loops that "
	                        "follow dependent loads, most at cmp+0x5a10.");
	expect_verdict(profile, "What cmp works on is up to its options and input");
	profile->loop.ns = 80; // not what most of it does
	expect_verdict(profile, "in code without symbols in cmp.");
}

// Its user cannot change the loop, but what awk is asked to do.
Test(text_verdict, a_loop_of_an_installed_program_is_no_verdict)
{
	static const struct rule rule = { .id = "CPU-CHASE",
		                          .subject = RULES_CPU,
		                          .otherwise = true };
	struct call_node nodes[3];
	struct profile *profile = with_nameless(nodes, "[mawk]", "/usr/bin/mawk", "[mawk]");

	profile->findings[0] = (struct finding){ .rule = &rule,
		                                 .severity = SEVERITY_INFO,
		                                 .share = 0.7,
		                                 .saving_ns = 35 * NS_PER_SEC,
		                                 .function = "mawk",
		                                 .fact = "dependent loads" };
	profile->finding_count = profile->findings_shown = 1;
	expect_verdict(profile, "90.0 % of the CPU time is spent in");
	expect_verdict(profile, "Filter lines before");
}

// Its functions that have names are no place for the user to begin at.
Test(text_verdict, a_library_that_is_known_for_one_thing_has_advice_of_its_own)
{
	struct call_node nodes[3];

	expect_verdict(
		with_nameless(nodes, "sqlite3VdbeExec", "/usr/lib/libsqlite3.so.0", "sqlite3_step"),
		"EXPLAIN QUERY PLAN");
}

#define GIT  "/usr/bin/git"
#define LIBZ "/usr/lib/libz.so.1"

// A program without symbols, 300 ms, calls a library whose three functions, of which two have
// names, have 200, 150 and 100 ms; it asks the kernel for 250 ms. OWN: the program is the user's.
static struct profile *with_library(struct call_node nodes[6], struct row rows[5], bool own,
                                    struct finding *finding)
{
	static const uint64_t parts[] = { 300, 200, 150, 100, 250 };
	struct profile *profile = fake_profile_with_findings();
	const char *program = own ? "/home/u/unpack" : GIT;

	nodes[0] = (struct call_node){ .name = own ? "unpack" : "[git]",
		                       .file = own ? "/src/unpack.c" : NULL,
		                       .line = own ? 30 : 0,
		                       .module = program,
		                       .child = &nodes[1] };
	nodes[1] = (struct call_node){
		.name = "inflate", .module = LIBZ, .call_line = 31, .child = &nodes[2]
	};
	nodes[2] = (struct call_node){ .name = "[libz.so.1]", .module = LIBZ };
	nodes[3] = (struct call_node){ .name = "adler32", .module = LIBZ };
	nodes[4] = (struct call_node){ .name = "do_syscall_64", .module = "[kernel]" };
	nodes[4].kernel = true;
	nodes[2].next = &nodes[3];
	nodes[1].next = &nodes[4];
	static const int node_of[] = { 0, 2, 1, 3, 4 };
	for (int i = 0; i < 5; i++) {
		struct call_node *node = &nodes[node_of[i]];
		uint64_t ns = parts[i] * NS_PER_MS;
		node->self = ns;
		rows[i] = (struct row){ .name = node->name,
			                .module = node->module,
			                .file = node->file,
			                .line = node->line,
			                .kernel = node->kernel,
			                .self = ns,
			                .total = ns,
			                .self_ns = { [METRIC_ON_CPU] = ns } };
	}
	nodes[2].total = nodes[2].self;
	nodes[3].total = nodes[3].self;
	nodes[1].total = nodes[1].self + nodes[2].total + nodes[3].total;
	nodes[4].total = nodes[4].self;
	nodes[0].total = NS_PER_SEC;
	profile->tree = nodes;
	profile->functions = rows;
	profile->function_count = 5;
	profile->totals.on_cpu_ns = profile->all = NS_PER_SEC;
	profile->run.wall_ns = NS_PER_SEC;
	profile->findings[0] = *finding;
	profile->finding_count = profile->findings_shown = 1;
	return profile;
}

static struct finding kernel_time(uint64_t ms)
{
	static const struct rule rule = { .id = "CPU-SYS",
		                          .subject = RULES_CPU,
		                          .doing = ACTIVITY(KERNEL) };

	return (struct finding){ .rule = &rule,
		                 .severity = SEVERITY_WARN,
		                 .share = (double)ms / 1e3,
		                 .saving_ns = ms * NS_PER_MS,
		                 .fact = "kernel time",
		                 .advice = "Make fewer system calls." };
}

Test(text_verdict, a_library_whose_functions_take_most_together_comes_before_a_finding)
{
	struct finding finding = kernel_time(250);
	struct call_node nodes[6];
	struct row rows[5];

	expect_verdict(with_library(nodes, rows, false, &finding),
	               "45.0 % of the CPU time is spent in libz.so.1 (a library for compression), "
	               "most in or below inflate.");
	expect_verdict(with_library(nodes, rows, false, &finding), "Next: kernel time.");
}

// What a library for one thing asks the kernel and the disk for is part of that thing.
Test(text_verdict, a_library_has_the_page_faults_of_what_it_does)
{
	struct finding finding = kernel_time(380);
	struct call_node nodes[6], fault = { .name = "exc_page_fault", .module = "[kernel]" };
	struct row rows[5], both[5];

	struct profile *profile = with_library(nodes, rows, false, &finding);
	fault.kernel = true;
	fault.self = fault.total = 50 * NS_PER_MS;
	fault.next = nodes[1].child;
	nodes[1].child = &fault;
	nodes[4].self -= fault.self;
	expect_verdict(profile, "50.0 % of the CPU time is spent in libz.so.1");

	profile = with_library(nodes, rows, false, &finding);
	memcpy(both, rows, sizeof(both));
	for (int i = 0; i < 5; i++)
		if (strcmp(both[i].name, "inflate") == 0)
			both[i].self_ns[METRIC_OFF_FAULT] = 100 * NS_PER_MS;
	profile->functions = both;
	profile->totals.threads = 1;
	profile->account.lifetime_ns = 1100 * NS_PER_MS;
	expect_verdict(profile, "50.0 % of the main thread's time is spent in libz.so.1 (a library "
	                        "for compression), most in or below inflate; 18.2 % of that is "
	                        "waiting on page faults.");
}

// An agent does not see which of its functions the kernel is in, but for what it was entered.
Test(text_verdict, kernel_time_without_functions_is_no_unknown_code)
{
	struct call_node nodes[3];
	struct profile *profile = with_nameless(nodes, "[kernel]", NULL, "read");
	struct row row = profile->functions[0];

	row.kernel = nodes[2].kernel = true;
	nodes[1].module = "/usr/lib/libc.so.6";
	profile->functions = &row;
	expect_no_words(profile, "could not be identified");
	expect_verdict(profile, "90.0 % of the CPU time is spent in [kernel]");
}

Test(text_verdict, a_finding_that_explains_more_than_any_library_comes_first)
{
	struct finding finding = kernel_time(460);
	struct call_node nodes[6];
	struct row rows[5];

	expect_verdict(with_library(nodes, rows, false, &finding), "  Kernel time.");
	expect_no_words(with_library(nodes, rows, false, &finding), "Next:");
}

// A finding about what the library itself does says why it takes that long.
Test(text_verdict, a_finding_about_most_of_a_library_stands_for_it)
{
	static const struct rule rule = { .id = "CPU-COMPRESS",
		                          .subject = RULES_CPU,
		                          .doing = ACTIVITY(COMPRESS) };
	struct finding finding = kernel_time(350);
	struct call_node nodes[6];
	struct row rows[5];

	finding.rule = &rule;
	snprintf(finding.fact, sizeof(finding.fact), "compression");
	expect_verdict(with_library(nodes, rows, false, &finding), "  Compression.");
	finding.saving_ns = 200 * NS_PER_MS; // the smaller part of it
	expect_verdict(with_library(nodes, rows, false, &finding), "45.0 % of the CPU time");
}

Test(text_verdict, the_users_own_function_that_asks_for_a_library_is_named_instead)
{
	struct finding finding = kernel_time(250);
	struct call_node nodes[6];
	struct row rows[5];

	expect_verdict(with_library(nodes, rows, true, &finding),
	               "is spent in unpack (unpack.c:31) and in what it calls of libraries");
}

// What a library of ops is at work for is known by these.
Test(text_verdict, a_library_of_ops_is_told_by_its_ops)
{
	static const struct op_row op = { .name = "aten::mm",
		                          .provider = "torch",
		                          .domain = "",
		                          .shape = "",
		                          .stack = "",
		                          .calls = 9,
		                          .self_ns = 400 * NS_PER_MS,
		                          .total_ns = 400 * NS_PER_MS };
	struct finding finding = kernel_time(440);
	struct call_node nodes[6];
	struct row rows[5];
	struct profile *profile = with_library(nodes, rows, false, &finding);

	profile->ops = &op;
	profile->op_count = 1;
	expect_verdict(profile, "  Kernel time.");
	finding.saving_ns = 350 * NS_PER_MS;
	profile = with_library(nodes, rows, false, &finding);
	profile->ops = &op;
	profile->op_count = 1;
	expect_verdict(profile, "40.0 % of the time is spent in the op aten::mm.");
}

// The user's own function that calls most of a library is where the time of that comes from.
Test(text_verdict, a_finding_at_the_caller_of_a_library_stands_for_most_of_it)
{
	static const struct rule rule = { .id = "PY-SHORT", .subject = RULES_PYTHON };
	struct finding finding = kernel_time(350);
	struct call_node nodes[6];
	struct row rows[5];

	finding.rule = &rule;
	finding.function = "unpack";
	finding.file = "/src/unpack.c";
	finding.rows[0] = (struct finding_row){ .function = "unpack", .file = "/src/unpack.c" };
	finding.row_count = 1;
	snprintf(finding.fact, sizeof(finding.fact), "short calls");
	expect_verdict(with_library(nodes, rows, true, &finding), "  Short calls.");
}

// Each of many functions of the user's own asks for a part of it.
Test(text_verdict, a_library_that_many_functions_call_is_named_before_each_of_them)
{
	static struct call_node callers[10], calls[10];
	static struct row rows[10];
	struct profile *profile = fake_profile();
	static char names[10][16];

	for (int i = 0; i < 10; i++) {
		uint64_t ns = 80 * NS_PER_MS;
		snprintf(names[i], sizeof(names[i]), "field_%d", i);
		callers[i] = (struct call_node){ .name = names[i],
			                         .file = "/src/fields.c",
			                         .line = 10 + i,
			                         .module = "/home/u/app",
			                         .total = ns,
			                         .child = &calls[i],
			                         .next = i < 9 ? &callers[i + 1] : NULL };
		calls[i] = (struct call_node){ .name = i % 2 ? "[libpcre2-8.so.0]" : "pcre2_match",
			                       .module = "/usr/lib/libpcre2-8.so.0",
			                       .call_line = 10 + i,
			                       .self = ns,
			                       .total = ns };
	}
	for (int i = 0; i < 2; i++)
		rows[i] = (struct row){ .name = calls[i].name,
			                .module = calls[i].module,
			                .self = 400 * NS_PER_MS,
			                .total = 400 * NS_PER_MS,
			                .self_ns = { [METRIC_ON_CPU] = 400 * NS_PER_MS } };
	// The function with a name has but a half, as the other one.
	rows[0].self -= NS_PER_MS;
	calls[0].self -= NS_PER_MS;
	profile->tree = callers;
	profile->functions = rows;
	profile->function_count = 2;
	profile->totals.on_cpu_ns = profile->all = NS_PER_SEC;
	expect_verdict(profile, "79.9 % of the CPU time is spent in libpcre2-8.so.0 (a library for "
	                        "regular expressions)");
}

// Three functions call one helper, which takes as long for each of them as PARTS say.
static struct profile *with_helper(struct call_node nodes[6], const uint64_t parts[3])
{
	static const char *const callers[] = { "decode", "filter", "encode" };
	static struct row row = { .name = "work", .file = "/src/pipe.c", .line = 12 };
	struct profile *profile = fake_profile();

	row.self = row.total = row.self_ns[METRIC_ON_CPU] = 0;
	for (int i = 0; i < 3; i++) {
		uint64_t ns = parts[i] * NS_PER_MS;
		nodes[i] = (struct call_node){ .name = callers[i],
			                       .file = "/src/pipe.c",
			                       .line = 20 + i,
			                       .total = ns,
			                       .child = &nodes[3 + i],
			                       .next = i < 2 ? &nodes[i + 1] : NULL };
		nodes[3 + i] = (struct call_node){
			.name = "work", .file = "/src/pipe.c", .line = 12, .self = ns, .total = ns
		};
		row.self += ns;
	}
	row.total = row.self_ns[METRIC_ON_CPU] = row.self;
	profile->tree = nodes;
	profile->functions = &row;
	profile->function_count = 1;
	profile->totals.on_cpu_ns = profile->all = NS_PER_SEC;
	return profile;
}

Test(text_verdict, the_caller_that_most_of_a_helper_is_for_is_named)
{
	struct call_node nodes[6];

	expect_verdict(with_helper(nodes, (uint64_t[]){ 50, 900, 50 }),
	               "is spent in work (pipe.c:12).");
	expect_verdict(with_helper(nodes, (uint64_t[]){ 50, 900, 50 }),
	               "90.0 % of the time in work is spent for filter (pipe.c:21). Start there");
	// One caller says what the function says; of several equal ones none says more.
	expect_verdict(with_helper(nodes, (uint64_t[]){ 0, 1000, 0 }), "  Start there");
	expect_verdict(with_helper(nodes, (uint64_t[]){ 300, 400, 300 }), "  Start there");
}

// "memmem" of the C library, called by a function of another library.
static struct profile *with_outer(struct call_node nodes[3], const char *name, const char *module)
{
	struct profile *profile = with_nameless(nodes, "memmem", "/usr/lib/libc.so.6", "memmem");

	nodes[0].name = name;
	nodes[0].module = module;
	return profile;
}

Test(text_verdict, a_library_function_is_told_by_the_code_that_calls_its_library)
{
	static const struct {
		const char *name, *module, *says, *advises;
	} rows[] = {
		{ "rb_memsearch", "/usr/lib/libruby-3.1.so.3.1",
		  "in memmem in libc.so.6, mostly called from rb_memsearch in libruby-3.1.so.3.1.",
		  "interprets a script" },
		{ "[shuf]", "/usr/bin/shuf", "mostly called from code without symbols in shuf.",
		  "What shuf works on is up to its options and input" },
		{ "foo_run", "/usr/lib/libfoo.so", "mostly called from foo_run in libfoo.so.",
		  "Start with that caller: call it less often or with less work." },
		{ "[jit]", NULL,
		  "mostly called from code without symbols that a JIT compiler made.",
		  "Make the JIT compiler write symbol names" },
		{ "[truncated]", NULL, "in memmem in libc.so.6.", "See who calls it" },
	};
	struct call_node nodes[3];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		expect_verdict(with_outer(nodes, rows[i].name, rows[i].module), rows[i].says);
		expect_verdict(with_outer(nodes, rows[i].name, rows[i].module), rows[i].advises);
	}
}

// Its caller is who called importlib, of a program that is Python's own altogether.
Test(text_verdict, frozen_modules_hand_calls_on)
{
	struct call_node nodes[3];
	struct profile *profile = with_nameless(nodes, "compile", "/usr/bin/python3.11", "compile");

	nodes[0].name = "compile_file";
	nodes[0].module = NULL;
	nodes[0].file = "/usr/lib/python3.11/compileall.py";
	nodes[1].name = "_call_with_frames_removed";
	nodes[1].module = NULL;
	nodes[1].file = "<frozen importlib._bootstrap>";
	expect_verdict(profile, "mostly called from compile_file");
}

Test(text_verdict, a_function_compiled_at_run_time_is_told_by_the_one_that_calls_it)
{
	static const char jit[] = "[jit 4711]", jvm[] = "/usr/lib/jvm/lib/libjvm.so";
	struct call_node nodes[3], jvm_node = { .name = "JavaCalls::call_helper" };
	struct profile *profile = with_nameless(nodes, "Map.merge", jit, "Map.merge");

	jvm_node.module = jvm;
	jvm_node.child = profile->tree;
	profile->tree = &jvm_node;
	nodes[0].name = "App.words";
	nodes[0].module = jit;
	expect_verdict(profile, "is spent in Map.merge, mostly called from App.words.");
	expect_verdict(profile, "Start with that caller: call it less often or with less work.");
	// What is called by a method that is interpreted has no caller with a name.
	nodes[0].name = "Interpreter";
	expect_verdict(profile, "is spent in Map.merge.");
}

// Logging, half of it in each of two functions of a library that call a comparison of the user's
// own; PART_MS of that.
static struct profile *with_logging(struct profile *profile, struct call_node nodes[5],
                                    uint64_t part_ms)
{
	static struct row row;

	nodes[0] = (struct call_node){ .name = "main", .file = "/src/app.c", .line = 9 };
	nodes[1] = (struct call_node){ .name = "log_order", .file = "/src/log.c", .line = 21 };
	nodes[2] = (struct call_node){ .name = "vfprintf",
		                       .module = "/usr/lib/libc.so.6",
		                       .call_line = 24,
		                       .self = 400 * NS_PER_MS };
	nodes[3] = (struct call_node){ .name = "strftime",
		                       .module = "/usr/lib/libc.so.6",
		                       .call_line = 22,
		                       .self = 300 * NS_PER_MS };
	nodes[4] = (struct call_node){ .name = "compare", .file = "/src/app.c", .line = 40 };
	nodes[4].self = nodes[4].total = part_ms * NS_PER_MS;
	nodes[3].child = &nodes[4];
	nodes[2].next = &nodes[3];
	nodes[1].child = &nodes[2];
	nodes[0].child = &nodes[1];
	nodes[2].total = nodes[2].self;
	nodes[3].total = nodes[3].self + nodes[4].total;
	nodes[0].total = nodes[1].total = nodes[2].total + nodes[3].total;
	row = (struct row){ .name = "vfprintf",
		            .module = "/usr/lib/libc.so.6",
		            .self = 400 * NS_PER_MS,
		            .total = 400 * NS_PER_MS,
		            .self_ns = { [METRIC_ON_CPU] = 400 * NS_PER_MS } };
	profile->tree = nodes;
	profile->functions = &row;
	profile->function_count = 1;
	profile->totals.on_cpu_ns = profile->all = NS_PER_SEC;
	return profile;
}

Test(text_verdict, what_many_library_functions_do_for_one_of_the_users_is_its_time)
{
	struct call_node nodes[5];

	expect_verdict(
		with_logging(fake_profile(), nodes, 100),
		"70.0 % of the CPU time is spent in log_order (log.c:24) and in what it calls "
		"of libraries, most in vfprintf.");
}

// What a function hands to a library was written within it.
Test(text_verdict, closures_that_a_library_calls_are_time_of_who_wrote_them)
{
	static const char *const within[] = { "log_order.func1", "log_order::{{closure}}",
		                              "log_order::{lambda(int)#1}::operator()(int) const" };
	static const char *const others[] = { "log_order_all", "log_order.function",
		                              "compare::{{closure}}" };
	struct call_node nodes[5];

	for (size_t i = 0; i < sizeof(within) / sizeof(within[0]); i++) {
		struct profile *profile = with_logging(fake_profile(), nodes, 100);
		nodes[4].name = within[i];
		expect_verdict(profile, "80.0 % of the CPU time is spent in log_order (log.c:24)");
		profile = with_logging(fake_profile(), nodes, 100);
		nodes[4].name = others[i];
		expect_verdict(profile, "70.0 % of the CPU time is spent in log_order (log.c:24)");
	}
}

// Who calls many functions for a little each, or works itself, is not said to call one for most.
Test(text_verdict, what_is_called_for_less_than_half_is_not_called_for_most)
{
	static const struct {
		uint64_t self_ms, called_ms;
		const char *end;
	} table[] = {
		{ 200, 500, "libraries, most in vfprintf." },
		{ 380, 320, "libraries, the largest part in vfprintf." },
		{ 600, 100, "libraries." },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct call_node called = { .name = "vfprintf",
			                    .module = "/usr/lib/libc.so.6",
			                    .call_line = 27,
			                    .self = table[i].called_ms * NS_PER_MS,
			                    .total = table[i].called_ms * NS_PER_MS };
		struct call_node own = { .name = "log_order",
			                 .module = "/src/log",
			                 .file = "/src/log.c",
			                 .line = 24,
			                 .child = &called,
			                 .self = table[i].self_ms * NS_PER_MS,
			                 .total = 700 * NS_PER_MS };
		struct row row = { .name = "emit",
			           .module = "/src/log",
			           .file = "/src/log.c",
			           .self = 100 * NS_PER_MS,
			           .total = 100 * NS_PER_MS,
			           .self_ns = { [METRIC_ON_CPU] = 100 * NS_PER_MS } };
		struct profile *profile = fake_profile();
		char expected[200];

		profile->tree = &own;
		profile->functions = &row;
		profile->function_count = 1;
		profile->totals.on_cpu_ns = profile->all = NS_PER_SEC;
		snprintf(expected, sizeof(expected),
		         "70.0 %% of the CPU time is spent in log_order (log.c:%d) and in what it "
		         "calls of %s",
		         table[i].called_ms > table[i].self_ms ? 27 : 24, table[i].end);
		expect_verdict(profile, expected);
	}
}

// What the library is known for comes behind the user's own place.
Test(text_verdict, the_users_own_caller_comes_before_what_a_library_is_known_for)
{
	static const char *const names[] = { "deflate", "[libz.so.1]" };
	struct call_node nodes[5];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct profile *profile = with_logging(fake_profile(), nodes, 100);
		nodes[2].name = names[i];
		nodes[2].module = "/usr/lib/libz.so.1";
		expect_verdict(profile, "70.0 % of the CPU time is spent in log_order (log.c:24)");
		expect_verdict(profile, "Call it less often or with less work, starting there. "
		                        "Work on less data");
	}
}

// Few of Python's libraries have symbols that somebody could get.
Test(text_verdict, a_line_of_python_is_where_to_begin_whatever_its_library_lacks)
{
	struct call_node nodes[5];
	struct profile *profile = with_logging(fake_profile(), nodes, 100);

	nodes[2].name = "[libc.so.6]";
	expect_verdict(profile,
	               "Start with that caller: call the library less often or with less work.");
	nodes[1].python = true;
	expect_verdict(profile, "Start with that line: call the library less often");
}

Test(text_verdict, what_asks_for_most_is_named_beside_a_finding_of_less)
{
	struct call_node nodes[5];
	struct profile *profile = with_logging(fake_profile_with_findings(), nodes, 100);

	expect_verdict(profile, "70.0 % of the CPU time is spent in log_order (log.c:24)");
	profile->findings[0].share = 0.6;
	char *verdict = verdict_of(profile);
	cr_expect(eq(ptr, strstr(verdict, "log_order"), NULL), "%s", verdict);
	free(verdict);
}

Test(text_verdict, a_finding_that_explains_less_than_a_function_comes_next)
{
	struct profile *profile = fake_profile_with_findings();

	profile->findings[0].saving_ns = 4 * NS_PER_SEC;
	profile->findings[0].share = 0.1;
	expect_verdict(profile, "  48.1 % of all time (CPU + waiting) is spent in "
	                        "deflate_slow (deflate.c:1790).");
	expect_verdict(profile, "Next: waiting for locks: 41 %");
	profile->findings[0].saving_ns = 39 * NS_PER_SEC;
	expect_verdict(profile, "  Waiting for locks: 41 %");
}

// The tables are of all of the run.
Test(text_verdict, a_finding_on_the_steady_state_says_so)
{
	struct profile *profile = fake_profile_with_findings();

	profile->findings[0].saving_ns = 39 * NS_PER_SEC;
	expect_verdict(profile, "which calls pthread_mutex_lock.");
	profile->findings_from_ns = 4 * NS_PER_SEC;
	expect_verdict(profile, "which calls pthread_mutex_lock, in the steady state (after "
	                        "4.00 s).");
}

// Both ends of a price are said where they are apart: the symptom, and the whole place.
Test(text_verdict, the_price_of_a_finding_is_what_a_change_at_its_place_saves)
{
	struct profile *profile = fake_profile_with_findings();
	struct finding *finding = &profile->findings[0];

	finding->saving_ns = 39 * NS_PER_SEC;
	finding->function = "deflate_slow";
	finding->asked_ns = 50 * NS_PER_SEC;
	finding->saving_low_ns = 35 * NS_PER_SEC;
	finding->saving_high_ns = 49 * NS_PER_SEC;
	expect_verdict(profile, "41 %");
	expect_verdict(profile, ". A change there saves 70 to 98 % of wall time.");
	finding->saving_low_ns = 45 * NS_PER_SEC;
	expect_verdict(profile, ". A change there saves at most 98 % of wall time.");
	finding->saving_high_ns = 50 * NS_PER_SEC;
	expect_verdict(profile, ". A change there saves 90 % of wall time or more.");
	finding->saving_low_ns = 50 * NS_PER_SEC;
	expect_verdict(profile, ". A change there saves nearly all of wall time.");
	finding->saving_low_ns = 0;
	expect_no_words(profile, "A change there"); // at most all of it is no news
	finding->saving_high_ns = 49 * NS_PER_SEC;
	finding->saving_low_ns = 0; // it is up to how far the work can be divided
	expect_verdict(profile, ". A change there saves at most 98 % of wall time.");
	finding->bound = true; // its own words say so
	expect_no_words(profile, "A change there");
	finding->bound = false;
	finding->function = NULL; // it is all over the run
	expect_verdict(profile, ". Avoiding that saves at most 98 % of wall time.");
}

// The same of a function that no finding is about.
Test(text_verdict, code_has_a_price_too)
{
	struct profile *profile = fake_profile_with_findings();

	profile->findings[0].saving_ns = 4 * NS_PER_SEC;
	profile->findings[0].share = 0.1;
	expect_verdict(profile, "  48.1 % of all time (CPU + waiting) is spent in "
	                        "deflate_slow (deflate.c:1790).");
	profile->whole_place_ns = profile->run.wall_ns * 9 / 10;
	// How much of it has to stay is not known.
	expect_verdict(profile, " A change there saves at most 90 % of wall time.");
	// Most of that is how runs differ from each other, as on a machine with other work.
	profile->run.wall_ns *= 10;
	profile->whole_place_ns *= 10;
	expect_verdict(profile, "is spent in deflate_slow (deflate.c:1790).");
	expect_no_words(profile, "A change there");
}

// A loop's lines may be those of a header, inlined: what the loop does is why they take long.
Test(text_verdict, a_finding_about_a_loop_stands_for_what_the_loop_calls_of_libraries)
{
	static const struct rule loop = {
		.id = "CPU-CHASE", .subject = RULES_CPU, .part = 0.5, .otherwise = true
	};
	struct call_node nodes[5];
	struct profile *profile = with_logging(fake_profile_with_findings(), nodes, 0);
	struct finding *finding = &profile->findings[0];

	*finding = (struct finding){ .rule = &loop,
		                     .share = 0.9,
		                     .saving_ns = 180 * NS_PER_MS,
		                     .function = "log_order",
		                     .file = "/src/log.c",
		                     .line = 24,
		                     .fact = "dependent loads: 90 %" };
	expect_verdict(profile, "  Dependent loads: 90 %.");
	finding->function = "another";
	expect_verdict(profile, "Next: dependent loads: 90 %.");
}

// What a place does too often says more than how long the place takes.
Test(text_verdict, a_finding_in_the_hottest_function_stands_for_most_of_it)
{
	struct profile *profile = fake_profile_with_findings();

	profile->findings[0].function = "deflate_slow";
	profile->findings[0].file = profile->functions[0].file;
	profile->findings[0].saving_ns = 12 * NS_PER_SEC;
	expect_verdict(profile, "  Waiting for locks: 41 %");
	profile->findings[0].saving_ns = 4 * NS_PER_SEC;
	expect_verdict(profile, "  48.1 % of all time (CPU + waiting)");
}

// That the place takes most of the run, and that one of two threads does most of it, is one fact.
Test(text_verdict, uneven_work_stands_for_the_function_that_does_it)
{
	static const struct rule rule = { .id = "CPU-IMBALANCE",
		                          .subject = RULES_CPU,
		                          .uneven = true };
	struct profile *profile = fake_profile_with_findings();

	profile->findings[0].rule = &rule;
	profile->findings[0].function = "deflate_slow";
	profile->findings[0].file = profile->functions[0].file;
	profile->findings[0].saving_ns = 6 * NS_PER_SEC; // of some 19 s
	expect_verdict(profile, "  Waiting for locks: 41 %");
	profile->findings[0].saving_ns = 3 * NS_PER_SEC;
	expect_verdict(profile, "  48.1 % of all time (CPU + waiting)");
	profile->findings[0].saving_ns = 6 * NS_PER_SEC;
	profile->findings[0].function = "elsewhere";
	expect_verdict(profile, "  48.1 % of all time (CPU + waiting)");
}

// The threads of a pool run a part of the function that has the parallel loop.
Test(text_verdict, uneven_work_stands_for_what_its_function_calls)
{
	static const struct rule rule = { .id = "CPU-LOOPS", .subject = RULES_CPU, .uneven = true };
	struct profile *profile = fake_profile_with_findings();
	const struct row *hot = &profile->functions[0];
	struct call_node nodes[2] = {
		{ .name = "equal_rows._omp_fn.0", .file = "/src/rows.c", .child = &nodes[1] },
		{ .name = hot->name, .file = hot->file, .self = 9, .total = 9 },
	};

	nodes[0].total = 9;
	profile->tree = nodes;
	profile->findings[0].rule = &rule;
	profile->findings[0].function = "equal_rows";
	profile->findings[0].file = "/src/rows.c";
	profile->findings[0].saving_ns = 6 * NS_PER_SEC;
	expect_verdict(profile, "  Waiting for locks: 41 %");
	nodes[0].name = "equal_rows_of";
	expect_verdict(profile, "  48.1 % of all time (CPU + waiting)");
}

// What is done under a lock, by one thread at a time, takes so much of the run because of the lock.
Test(text_verdict, a_lock_stands_for_what_is_done_while_it_is_held)
{
	static const struct rule holder = { .id = "CPU-HOLDER",
		                            .subject = RULES_CPU,
		                            .orders = true };
	struct call_node nodes[5];
	struct profile *profile = with_logging(fake_profile_with_findings(), nodes, 0);
	struct finding *finding = &profile->findings[0];

	*finding = (struct finding){ .rule = &holder,
		                     .severity = SEVERITY_WARN,
		                     .share = 0.29,
		                     .saving_ns = 180 * NS_PER_MS,
		                     .function = "main",
		                     .file = "/src/app.c",
		                     .line = 8,
		                     .fact = "29 % of wall time is main" };
	profile->parallel = (struct parallel){ .all_ns = NS_PER_SEC, .one_ns = NS_PER_SEC };
	expect_verdict(profile, "  29 % of wall time is main.");
	expect_verdict(profile, "70.0 % of the CPU time is spent in log_order");
	// Others do it at the same time: the lock is not why.
	profile->parallel.more_ns = NS_PER_SEC;
	expect_verdict(profile, "Next: 29 % of wall time is main.");
	profile->parallel.more_ns = 0;
	finding->function = "elsewhere";
	expect_verdict(profile, "Next: 29 % of wall time is main.");
}

// Both are about gzip: what costs most is said once, and what can be done about it.
Test(text_verdict, a_program_without_symbols_that_others_wait_for_is_said_once)
{
	static const struct rule holder = { .id = "CPU-HOLDER",
		                            .subject = RULES_CPU,
		                            .orders = true };
	struct profile *profile = fake_profile_with_findings();
	struct row row = profile->functions[0];

	row.name = "[gzip]";
	row.module = "/usr/bin/gzip";
	row.file = NULL;
	profile->functions = &row;
	profile->function_count = 1;
	profile->findings[0] = (struct finding){ .rule = &holder,
		                                 .severity = SEVERITY_WARN,
		                                 .share = 0.7,
		                                 .saving_ns = 15 * NS_PER_SEC,
		                                 .function = "gzip",
		                                 .fact = "70 % of wall time is gzip, while tar "
		                                         "waits for it",
		                                 .advice = "Use gzip -1." };
	expect_verdict(profile, "  70 % of wall time is gzip, while tar waits for it.\n"
	                        "  Use gzip -1.");
	profile->findings[0].function = "zcat";
	expect_verdict(profile, "Next: 70 % of wall time is gzip");
}

// The library's function that does most of it is not more than the place that calls it.
Test(text_verdict, a_finding_stands_for_what_its_place_calls_of_libraries)
{
	struct call_node nodes[5];
	struct profile *profile = with_logging(fake_profile_with_findings(), nodes, 100);

	profile->findings[0].saving_ns = 395 * NS_PER_MS;
	expect_verdict(profile, "  70.0 % of the CPU time is spent in log_order (log.c:24)");
	profile->findings[0].function = "log_order";
	profile->findings[0].file = "/src/log.c";
	expect_verdict(profile, "  Waiting for locks: 41 %");
}

// What else the place calls is dear for reasons that nobody knows: it comes behind the one known.
Test(text_verdict, a_reason_for_a_third_of_what_a_place_calls_goes_before_the_place)
{
	struct call_node nodes[5];
	struct profile *profile = with_logging(fake_profile_with_findings(), nodes, 100);

	nodes[2].self = nodes[2].total = 390 * NS_PER_MS;
	((struct row *)profile->functions)->self = 390 * NS_PER_MS;
	profile->findings[0].saving_ns = 250 * NS_PER_MS;
	profile->findings[0].function = "log_order";
	profile->findings[0].file = "/src/log.c";
	expect_verdict(profile, "  Waiting for locks: 41 %");
	profile->findings[0].saving_ns = 150 * NS_PER_MS;
	expect_verdict(profile, "is spent in log_order (log.c:24)");
}

// Another function takes more than the finding: but it is the place that is named, and why it is
// slow.
Test(text_verdict, a_reason_at_the_place_that_is_named_goes_before_what_is_hotter_elsewhere)
{
	struct call_node nodes[5];
	struct profile *profile = with_logging(fake_profile_with_findings(), nodes, 0);
	struct row *row = (struct row *)profile->functions;

	row->name = "step";
	row->file = "/src/step.c";
	row->module = "/src/app";
	profile->findings[0].saving_ns = 370 * NS_PER_MS;
	expect_verdict(profile, "  70.0 % of the CPU time is spent in log_order (log.c:24)");
	profile->findings[0].function = "log_order";
	profile->findings[0].file = "/src/log.c";
	expect_verdict(profile, "  Waiting for locks: 41 %");
	profile->findings[0].saving_ns = 340 * NS_PER_MS;
	expect_verdict(profile, "  70.0 % of the CPU time is spent in log_order (log.c:24)");
}

// A copy constructor is charged to who copies: the finding there is about that call.
Test(text_verdict, a_finding_stands_for_the_place_that_its_place_calls)
{
	struct call_node nodes[5];
	struct profile *profile = with_logging(fake_profile_with_findings(), nodes, 100);

	((struct row *)profile->functions)->self = 390 * NS_PER_MS;
	profile->findings[0].saving_ns = 395 * NS_PER_MS;
	profile->findings[0].row_count = 1;
	profile->findings[0].rows[0] =
		(struct finding_row){ .function = "work", .callee = "other" };
	expect_verdict(profile, "  70.0 % of the CPU time is spent in log_order (log.c:24)");
	profile->findings[0].rows[0].callee = "log_order";
	expect_verdict(profile, "  Waiting for locks: 41 %");
}

Test(text_verdict, a_sentence_that_begins_with_a_function_has_its_name_as_it_is)
{
	struct profile *profile = fake_profile_with_findings();
	struct finding *finding = &profile->findings[0];

	finding->function = "decode";
	finding->saving_ns = 39 * NS_PER_SEC;
	snprintf(finding->fact, sizeof(finding->fact), "decode (a.c:9) works alone");
	expect_verdict(profile, "  decode (a.c:9) works alone.");
	profile = fake_profile_with_findings();
	finding = &profile->findings[0];
	finding->function = "start";
	finding->saving_ns = 39 * NS_PER_SEC;
	snprintf(finding->fact, sizeof(finding->fact), "starting 24 processes");
	expect_verdict(profile, "  Starting 24 processes.");
}

Test(text_verdict, an_op_that_takes_longer_than_a_finding_comes_first)
{
	struct op_row ops[] = { { .name = "MASK INDICES",
		                  .label = true,
		                  .provider = "torch",
		                  .domain = "",
		                  .shape = "",
		                  .stack = "",
		                  .self_ns = 40 * NS_PER_SEC },
		                { .name = "aten::nonzero",
		                  .provider = "torch",
		                  .domain = "",
		                  .shape = "",
		                  .stack = "",
		                  .file = "/src/masks.py",
		                  .line = 17,
		                  .calls = 1,
		                  .self_ns = 30 * NS_PER_SEC,
		                  .total_ns = 30 * NS_PER_SEC } };
	struct profile *profile = fake_profile_with_ops();

	profile->ops = ops;
	profile->op_count = 2;
	profile->findings[0] = (struct finding){ .rule = rule_at(0),
		                                 .severity = SEVERITY_WARN,
		                                 .share = 0.15,
		                                 .saving_ns = 6 * NS_PER_SEC,
		                                 .function = "forward",
		                                 .file = "/src/masks.py",
		                                 .line = 12,
		                                 .fact = "copying tensors: 15 % of the time" };
	profile->finding_count = profile->findings_shown = 1;
	expect_verdict(profile, "  72.8 % of the time is spent in the op aten::nonzero, mostly "
	                        "called from masks.py:17.");
	expect_verdict(profile, "Next: copying tensors: 15 % of the time.");
	profile->findings[0].saving_ns = 31 * NS_PER_SEC;
	expect_verdict(profile, "  Copying tensors: 15 % of the time.");
	// What a finding saves has no waiting for a CPU in it: neither has the price of an op.
	profile->findings[0].saving_ns = 26 * NS_PER_SEC;
	profile->account.ns[METRIC_OFF_RUNNABLE] = 10 * NS_PER_SEC;
	expect_verdict(profile, "  Copying tensors: 15 % of the time.");
}

// main > «convolution» > [jit].
Test(text_verdict, a_program_that_could_not_be_sampled_or_went_on_is_not_too_short)
{
	struct profile *profile = fake_profile();

	profile->run.samples = 3;
	profile->run.background_processes = 1;
	profile->run.background_name = "redis-server";
	expect_verdict(profile,
	               "  The program ended after 41.2 s and left redis-server running in");
	expect_verdict(profile, "Run it in the foreground");
	profile->run.unseen_processes = 1;
	profile->run.unseen_name = "sudo";
	expect_verdict(profile, "  The process sudo could not be sampled");
	profile->run.samples = 3000; // of other processes
	char *verdict = verdict_of(profile);
	cr_expect(eq(ptr, strstr(verdict, "could not be sampled"), NULL), "%s", verdict);
	free(verdict);
}

// "inverting matrices" says more than the name of LAPACK's function that is called for it, though
// it is no fault by itself, and its price is but a part of that time.
Test(text_verdict, a_finding_at_the_line_of_the_op_that_holds_most_speaks_for_it)
{
	struct op_row op = { .name = "dgesv",
		             .provider = "lapack",
		             .domain = "",
		             .shape = "",
		             .stack = "",
		             .file = "/src/solve.py",
		             .line = 5,
		             .calls = 3,
		             .self_ns = 15 * NS_PER_SEC,
		             .total_ns = 15 * NS_PER_SEC };
	static const struct rule rule = { .id = "OP-INVERSE", .subject = RULES_OPS };
	struct finding finding = { .rule = &rule,
		                   .severity = SEVERITY_INFO,
		                   .share = 0.4,
		                   .saving_ns = 10 * NS_PER_SEC,
		                   .function = "<module>",
		                   .file = "/src/solve.py",
		                   .line = 5,
		                   .fact = "inverting matrices: 40 % of the time" };
	struct profile *profile = fake_profile_with_ops();

	profile->ops = &op;
	profile->op_count = 1;
	profile->functions = NULL;
	profile->function_count = 0;
	profile->findings[0] = finding;
	profile->finding_count = profile->findings_shown = 1;
	expect_verdict(profile, "  Inverting matrices: 40 % of the time.");
	profile->findings[0].line = 6; // something else
	expect_verdict(profile,
	               "% of the time is spent in the op dgesv, mostly called from solve.py:5.");
}

Test(text_verdict, an_op_names_code_that_has_no_symbols)
{
	static struct row row = { .name = "[jit]",
		                  .self = 6 * NS_PER_SEC,
		                  .total = 6 * NS_PER_SEC,
		                  .self_ns = { [METRIC_ON_CPU] = 6 * NS_PER_SEC } };
	struct call_node code = { .name = "[jit]",
		                  .self = 6 * NS_PER_SEC,
		                  .total = 6 * NS_PER_SEC };
	struct call_node op = {
		.name = "convolution", .op = true, .call_line = 26, .total = 6 * NS_PER_SEC
	};
	struct call_node own = { .name = "train",
		                 .file = "/src/train.py",
		                 .line = 26,
		                 .python = true,
		                 .total = 6 * NS_PER_SEC };
	struct profile *profile = fake_profile();

	op.child = &code;
	own.child = &op;
	profile->tree = &own;
	profile->functions = &row;
	profile->function_count = 1;
	profile->totals.on_cpu_ns = profile->all = 10 * NS_PER_SEC;
	expect_verdict(profile, "  60.0 % of the CPU time is spent in the op convolution (code "
	                        "without symbols that a JIT compiler made), mostly called from "
	                        "train (train.py:26).");
	struct view view = view_default();
	char *page = text_page(profile, &view, golden_terminal(200, false, false));
	cr_expect(ne(ptr, strstr(page, "[jit] in convolution"), NULL), "%s", page);
	free(page);
	op.op = false;
	expect_verdict(profile, "60.0 % of the CPU time is spent in code without symbols");
}

// A convolution is made of more than one piece of generated code, each an op of its own. What
// imports ask for, though more, is no price of that.
Test(text_verdict, what_calls_generated_code_goes_before_one_part_of_it)
{
	struct row row = { .name = "[jit]",
		           .self = 6 * NS_PER_SEC,
		           .total = 6 * NS_PER_SEC,
		           .self_ns = { [METRIC_ON_CPU] = 6 * NS_PER_SEC } };
	struct call_node code[] = {
		{ .name = "[jit]", .self = 4 * NS_PER_SEC, .total = 4 * NS_PER_SEC },
		{ .name = "[jit]", .self = 2 * NS_PER_SEC, .total = 2 * NS_PER_SEC },
	};
	struct call_node ops[] = {
		{ .name = "convolution", .op = true, .call_line = 26, .total = 4 * NS_PER_SEC },
		{ .name = "reorder", .op = true, .call_line = 26, .total = 2 * NS_PER_SEC },
	};
	struct call_node import = { .name = "_find_and_load",
		                    .file = "<frozen importlib._bootstrap>",
		                    .python = true,
		                    .self = 6300 * NS_PER_MS,
		                    .total = 6300 * NS_PER_MS };
	struct call_node own[] = {
		{ .name = "train",
		  .file = "/src/train.py",
		  .line = 26,
		  .python = true,
		  .total = 6 * NS_PER_SEC },
		{ .name = "<module>",
		  .file = "/src/train.py",
		  .line = 2,
		  .python = true,
		  .total = 6300 * NS_PER_MS },
	};
	struct profile *profile = fake_profile();

	for (int i = 0; i < 2; i++)
		ops[i].child = &code[i];
	ops[0].next = &ops[1];
	own[0].child = ops;
	own[0].next = &own[1];
	own[1].child = &import;
	profile->tree = own;
	profile->functions = &row;
	profile->function_count = 1;
	profile->totals.on_cpu_ns = profile->all = 12300 * NS_PER_MS;
	expect_verdict(profile,
	               "  48.8 % of the CPU time is spent in train (train.py:26) and in what "
	               "it calls of libraries, most in convolution.");
	struct view view = view_default();
	char *page = text_page(profile, &view, golden_terminal(200, false, false));
	cr_expect(ne(ptr, strstr(page, "[jit] in convolution, others"), NULL), "%s", page);
	free(page);
}

// A script of a few seconds imports for most of them; its user wants to know of the rest.
Test(text_verdict, what_costs_most_beside_imports_is_named_after_them)
{
	static const struct rule rule = { .id = "PY-IMPORT", .subject = RULES_PYTHON };
	struct call_node foreign[] = {
		{ .name = "_find_and_load",
		  .file = "<frozen importlib._bootstrap>",
		  .python = true,
		  .self = 6 * NS_PER_SEC,
		  .total = 6 * NS_PER_SEC },
		{ .name = "argwhere",
		  .file = "/usr/lib/python3/dist-packages/numpy/core/numeric.py",
		  .python = true,
		  .self = 4 * NS_PER_SEC,
		  .total = 4 * NS_PER_SEC },
	};
	struct call_node own[] = {
		{ .name = "<module>",
		  .file = "/src/masks.py",
		  .line = 2,
		  .python = true,
		  .total = 6 * NS_PER_SEC },
		{ .name = "forward",
		  .file = "/src/masks.py",
		  .line = 20,
		  .python = true,
		  .total = 4 * NS_PER_SEC },
	};
	struct call_node label = {
		.name = "MASK INDICES", .op = true, .child = &foreign[1], .total = 4 * NS_PER_SEC
	};
	static const struct row row = {
		.name = "argwhere",
		.file = "/usr/lib/python3/dist-packages/numpy/core/numeric.py",
		.self = 4 * NS_PER_SEC,
		.total = 4 * NS_PER_SEC,
		.self_ns = { [METRIC_ON_CPU] = 4 * NS_PER_SEC }
	};
	static const struct op_row op = { .name = "MASK INDICES",
		                          .label = true,
		                          .provider = "torch",
		                          .domain = "",
		                          .shape = "",
		                          .stack = "",
		                          .calls = 1 };
	struct profile *profile = fake_profile();

	profile->ops = &op;
	profile->op_count = 1;
	own[0].child = &foreign[0];
	own[0].next = &own[1];
	own[1].child = &label;
	profile->tree = own;
	profile->functions = &row;
	profile->function_count = 1;
	profile->totals.on_cpu_ns = profile->all = 10 * NS_PER_SEC;
	profile->findings[0] = (struct finding){ .rule = &rule,
		                                 .severity = SEVERITY_INFO,
		                                 .share = 0.6,
		                                 .saving_ns = 6 * NS_PER_SEC,
		                                 .fact = "imports: 60 % of the run",
		                                 .advice = "Import less." };
	profile->finding_count = profile->findings_shown = 1;
	expect_verdict(profile, "  Imports: 60 % of the run.");
	expect_verdict(profile,
	               "Next: 40.0 % of the CPU time is spent in forward (masks.py:20) and "
	               "in what it calls of libraries, most in argwhere.");
}

Test(text_verdict, the_users_own_code_that_libraries_call_is_not_its_callers_time)
{
	struct call_node nodes[5];

	expect_verdict(with_logging(fake_profile(), nodes, 0),
	               "70.0 % of the CPU time is spent in log_order (log.c:24)");
	expect_verdict(with_logging(fake_profile(), nodes, 300),
	               "70.0 % of the CPU time is spent in log_order (log.c:24)");
}

Test(text_verdict, the_verdict_gives_the_share_that_the_tables_show_too)
{
	static const struct row rows[] = {
		{ .name = "deflate_slow",
		  .file = "/src/deflate.c",
		  .line = 1790,
		  .self = 900 * NS_PER_MS,
		  .total = 900 * NS_PER_MS,
		  .self_ns = { [METRIC_ON_CPU] = 900 * NS_PER_MS } },
		{ .name = "collect_results",
		  .file = "/src/pool.c",
		  .line = 120,
		  .self = 100 * NS_PER_MS,
		  .total = 100 * NS_PER_MS,
		  .self_ns = { [METRIC_ON_CPU] = 100 * NS_PER_MS,
		               [METRIC_OFF_FILE] = 1000 * NS_PER_MS } },
	};
	struct profile *profile = fake_profile();

	profile->functions = rows;
	profile->function_count = 2;
	profile->totals.on_cpu_ns = NS_PER_SEC;
	profile->all = 2 * NS_PER_SEC;
	expect_verdict(profile, "45.0 % of all time (CPU + waiting) is spent in "
	                        "deflate_slow (deflate.c:1790).");
}

Test(text_verdict, waiting_is_blamed_on_the_users_own_function)
{
	struct profile *profile = fake_profile();

	profile->account.ns[METRIC_ON_CPU] = 11 * NS_PER_SEC;
	profile->account.ns[METRIC_OFF_LOCK] = 28801 * NS_PER_MS;
	profile->totals.on_cpu_ns = 11 * NS_PER_SEC;
	expect_verdict(profile, "69.8 % of the time the main thread waited for locks or other "
	                        "threads, mostly in collect_results (pool.c:120).");
}

Test(text_verdict, code_without_a_name_is_told_by_what_it_calls)
{
	struct call_node leaf = { .name = "clock_nanosleep", .module = "/usr/lib/libc.so.6" };
	struct call_node called = { .name = "nanosleep", .module = "/usr/lib/libc.so.6" };
	struct call_node own = { .name = "[sleep]", .module = "/usr/bin/sleep" };
	struct profile *profile = fake_profile();

	leaf.total = called.total = own.total = NS_PER_SEC;
	called.child = &leaf;
	own.child = &called;
	profile->wait_tree = &own;
	profile->account.ns[METRIC_ON_CPU] = 0;
	profile->account.ns[METRIC_OFF_SLEEP] = 38801 * NS_PER_MS;
	profile->totals.on_cpu_ns = 0;
	expect_verdict(profile, "signal, mostly in nanosleep in libc.so.6.");
}

Test(text_verdict, the_other_end_of_a_pipe_may_be_in_the_profile)
{
	struct profile *profile = fake_profile();

	profile->account.ns[METRIC_ON_CPU] = 0;
	profile->account.ns[METRIC_OFF_PIPE] = 38801 * NS_PER_MS;
	profile->totals.on_cpu_ns = NS_PER_SEC;
	expect_verdict(profile, "profile that program");
	profile->totals.processes = 2;
	expect_verdict(profile, "bottleneck report --by process");
}

// Nor is one of a make(1) that another has started.
Test(text_verdict, a_thread_that_waits_while_others_work_is_no_verdict)
{
	for (int is_main = 0; is_main < 2; is_main++) {
		struct profile *profile = fake_profile();

		profile->account.is_main = is_main;
		profile->account.ns[METRIC_ON_CPU] = 1 * NS_PER_SEC;
		profile->account.ns[METRIC_OFF_SLEEP] = 38801 * NS_PER_MS;
		expect_verdict(profile, "(CPU + waiting) is spent in deflate_slow");
	}
}

Test(text_verdict, waiting_for_children_is_not_a_verdict)
{
	struct profile *profile = fake_profile();

	profile->account.ns[METRIC_ON_CPU] = 11 * NS_PER_SEC;
	profile->account.ns[METRIC_OFF_LOCK] = 0;
	profile->account.ns[METRIC_OFF_CHILD] = 28801 * NS_PER_MS;
	expect_verdict(profile, "(CPU + waiting) is spent in deflate_slow");
}

// A row's waits for a free CPU are no part of what its share is of.
Test(text_verdict, children_that_wait_for_a_cpu_are_not_blocked)
{
	static const struct row row = { .name = "[app]",
		                        .module = "/home/u/app",
		                        .self = 10 * NS_PER_SEC,
		                        .total = 10 * NS_PER_SEC,
		                        .self_ns = { [METRIC_ON_CPU] = 4 * NS_PER_SEC,
		                                     [METRIC_OFF_RUNNABLE] = 6 * NS_PER_SEC },
		                        .total_ns = { [METRIC_ON_CPU] = 4 * NS_PER_SEC,
		                                      [METRIC_OFF_RUNNABLE] = 6 * NS_PER_SEC } };
	struct profile *profile = fake_profile();
	struct view view = view_default();

	profile->account.ns[METRIC_ON_CPU] = 1 * NS_PER_SEC;
	profile->account.ns[METRIC_OFF_LOCK] = 0;
	profile->account.ns[METRIC_OFF_CHILD] = 38801 * NS_PER_MS;
	profile->totals.on_cpu_ns = 4 * NS_PER_SEC;
	profile->functions = &row;
	profile->function_count = 1;
	profile->all = 11 * NS_PER_SEC;
	char *page = text_page(profile, &view, golden_terminal(100, false, false));
	cr_expect(not(strstr(page, "blocked for an unknown reason") != NULL), "%s", page);
	free(page);
}

Test(text_verdict, children_that_wait_are_told_by_what_for)
{
	static const struct row row = { .name = "poll",
		                        .file = "/src/fetch.c",
		                        .line = 7,
		                        .self = 39 * NS_PER_SEC,
		                        .total = 39 * NS_PER_SEC,
		                        .self_ns = { [METRIC_OFF_NET] = 39 * NS_PER_SEC } };
	struct profile *profile = fake_profile();

	profile->account.ns[METRIC_ON_CPU] = 1 * NS_PER_SEC;
	profile->account.ns[METRIC_OFF_LOCK] = 0;
	profile->account.ns[METRIC_OFF_CHILD] = 38801 * NS_PER_MS;
	profile->totals.on_cpu_ns = NS_PER_SEC;
	profile->totals.runnable_ns = 0;
	profile->functions = &row;
	profile->function_count = 1;
	profile->all = 40 * NS_PER_SEC;
	profile->run.samples = 20;
	expect_verdict(profile, "97.5 % of the time the processes that it started waited for "
	                        "sockets or events, in poll (fetch.c:7).");
	profile->all = 100 * NS_PER_SEC;
	expect_verdict(profile, "Only 20 samples on a CPU");
}

// A server's processes wait for each other, or for nobody of the run: then for clients outside,
// unless others of the run waited for as long as the server has worked, and not as a master does.
Test(text_verdict, processes_that_wait_for_nobody_of_the_run_are_idle)
{
	static const struct row waiting = { .name = "select",
		                            .file = "/src/select.c",
		                            .line = 69,
		                            .self = 340 * NS_PER_SEC,
		                            .total = 340 * NS_PER_SEC,
		                            .self_ns = { [METRIC_OFF_NET] = 340 * NS_PER_SEC } };

	// Six waits of five threads that live for 250 s in sum are waits for their end.
	static const struct {
		uint64_t owned_s, median_ms;
		bool inside;
		uint32_t kind;
		uint64_t count;
	} cases[] = { { 2, 1, false, WAIT_KIND_DESCRIPTOR, 7000 },
		      { 7, 1, true, WAIT_KIND_DESCRIPTOR, 7000 },
		      { 200, 1, true, WAIT_KIND_DESCRIPTOR, 7000 },
		      { 7, 1000, false, WAIT_KIND_DESCRIPTOR, 7 },
		      { 7, 200, false, WAIT_KIND_DESCRIPTOR, 10 },
		      { 200, 1000, false, WAIT_KIND_SIGNAL, 6 },
		      { 200, 1000, true, WAIT_KIND_SIGNAL, 600 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wait_row wait = { .cause = METRIC_OFF_NET,
			                 .kind = cases[i].kind,
			                 .count = cases[i].count,
			                 .waiter = { .threads = 5, .life_ns = 250 * NS_PER_SEC },
			                 .holder = { .threads = 1 },
			                 .median_ns = cases[i].median_ms * NS_PER_MS,
			                 .ns = cases[i].owned_s * NS_PER_SEC };
		bool signalled = cases[i].inside && cases[i].kind == WAIT_KIND_SIGNAL;
		struct profile *profile = fake_profile();
		profile->account.ns[METRIC_ON_CPU] = 1 * NS_PER_SEC;
		profile->account.ns[METRIC_OFF_LOCK] = 0;
		profile->account.ns[METRIC_OFF_NET] = 38801 * NS_PER_MS;
		profile->totals.on_cpu_ns = 8 * NS_PER_SEC;
		profile->totals.runnable_ns = 40 * NS_PER_SEC;
		profile->functions = &waiting;
		profile->function_count = 1;
		profile->all = 400 * NS_PER_SEC;
		profile->waits = (struct wait_rows){ .rows = &wait, .count = 1 };
		expect_verdict(profile,
		               signalled ? "85.0 % of the time its threads and processes waited "
		                           "in select (select.c:69), mostly until another one sent "
		                           "a signal."
		               : cases[i].inside
		                       ? "85.0 % of the time its threads and processes "
		                         "waited for sockets or events, in select"
		                       : "Its threads were idle, waiting for requests from "
		                         "outside of the run, for 85.0 % of all their time.");
	}
}

// Threads of a client that wait for answers are not idle, and nobody of the run says which they
// are.
Test(text_verdict, who_waits_for_the_network_may_be_a_client)
{
	static const struct row waiting = { .name = "recv",
		                            .file = "/src/recv.c",
		                            .line = 28,
		                            .self = 340 * NS_PER_SEC,
		                            .total = 340 * NS_PER_SEC,
		                            .self_ns = { [METRIC_OFF_NET] = 340 * NS_PER_SEC } };
	static const struct rule rule = { .id = "IO-NET", .subject = RULES_IO };
	struct wait_row wait = { .cause = METRIC_OFF_LOCK, .ns = NS_PER_SEC };
	struct profile *profile = fake_profile_with_findings();

	profile->findings[0] = (struct finding){ .rule = &rule,
		                                 .severity = SEVERITY_WARN,
		                                 .share = 0.85,
		                                 .value = 85,
		                                 .saving_ns = 34 * NS_PER_SEC,
		                                 .fact = "waiting for the network: 85 % of the run",
		                                 .advice = "Send several at once." };
	profile->finding_count = profile->findings_shown = 1;
	profile->account.ns[METRIC_OFF_NET] = 38801 * NS_PER_MS;
	profile->totals.on_cpu_ns = 8 * NS_PER_SEC;
	profile->totals.runnable_ns = 40 * NS_PER_SEC;
	profile->functions = &waiting;
	profile->function_count = 1;
	profile->all = 400 * NS_PER_SEC;
	profile->waits = (struct wait_rows){ .rows = &wait, .count = 1 };
	expect_verdict(profile, "Waiting for the network: 85 % of the run. Threads waited so for "
	                        "85.0 % of all their time, for nobody of the run: if that is for "
	                        "requests, they were idle.");
}

// A coroutine that asks a server by a call that blocks keeps the other tasks from their work.
Test(text_verdict, who_blocks_others_while_it_waits_is_not_idle)
{
	static const struct row waiting = { .name = "recv",
		                            .file = "/src/recv.c",
		                            .line = 28,
		                            .self = 340 * NS_PER_SEC,
		                            .total = 340 * NS_PER_SEC,
		                            .self_ns = { [METRIC_OFF_NET] = 340 * NS_PER_SEC } };
	struct call_node recv = { .name = "recv",
		                  .file = "/src/recv.c",
		                  .self = 340 * NS_PER_SEC,
		                  .total = 340 * NS_PER_SEC };
	struct call_node fetch = { .name = "fetch",
		                   .file = "/src/fetch.py",
		                   .python = true,
		                   .child = &recv,
		                   .total = 340 * NS_PER_SEC };

	for (int blocks = 0; blocks < 2; blocks++) {
		const struct rule rule = { .id = "PY-LOOP",
			                   .subject = RULES_PYTHON,
			                   .blocks = blocks };
		struct wait_row wait = { .cause = METRIC_OFF_NET, .ns = NS_PER_SEC };
		struct profile *profile = fake_profile();
		profile->account.ns[METRIC_ON_CPU] = 1 * NS_PER_SEC;
		profile->account.ns[METRIC_OFF_LOCK] = 0;
		profile->account.ns[METRIC_OFF_NET] = 38801 * NS_PER_MS;
		profile->totals.on_cpu_ns = 8 * NS_PER_SEC;
		profile->totals.runnable_ns = 40 * NS_PER_SEC;
		profile->functions = &waiting;
		profile->function_count = 1;
		profile->wait_tree = &fetch;
		profile->all = 400 * NS_PER_SEC;
		profile->waits = (struct wait_rows){ .rows = &wait, .count = 1 };
		profile->findings[0] = (struct finding){ .rule = &rule,
			                                 .severity = SEVERITY_WARN,
			                                 .share = 0.9,
			                                 .saving_ns = 36 * NS_PER_SEC,
			                                 .function = "fetch",
			                                 .file = "/src/fetch.py",
			                                 .fact = "the event loop is blocked",
			                                 .advice = "Use a thread." };
		profile->finding_count = profile->findings_shown = 1;
		struct view view = view_default();
		char *page = text_page(profile, &view, golden_terminal(200, false, false));
		cr_expect(ne(ptr, strstr(page, "The event loop is blocked."), NULL), "%s", page);
		cr_expect_eq(strstr(page, "were idle") != NULL, !blocks, "%s", page);
		free(page);
	}
}

// Of 150 runs that a script started, three were long enough to be sampled.
Test(text_verdict, runs_that_are_too_short_to_be_sampled_count)
{
	static const struct row hot = { .name = "[grep]",
		                        .module = "/usr/bin/grep",
		                        .self = 900 * NS_PER_MS,
		                        .total = 900 * NS_PER_MS,
		                        .self_ns = { [METRIC_ON_CPU] = 900 * NS_PER_MS } };
	static const struct row processes[] = {
		{ .name = "grep -c a",
		  .id = 11,
		  .self = 400 * NS_PER_MS,
		  .self_ns = { 400 * NS_PER_MS } },
		{ .name = "grep -c b",
		  .id = 12,
		  .self = 300 * NS_PER_MS,
		  .self_ns = { 300 * NS_PER_MS } },
		{ .name = "grep -c c",
		  .id = 13,
		  .self = 200 * NS_PER_MS,
		  .self_ns = { 200 * NS_PER_MS } },
	};
	struct profile *profile = fake_profile();

	profile->account = (struct account){ .lifetime_ns = NS_PER_SEC,
		                             .ns = { [METRIC_OFF_CHILD] = NS_PER_SEC } };
	profile->totals.processes = 151;
	profile->totals.on_cpu_ns = NS_PER_SEC;
	profile->functions = &hot;
	profile->function_count = 1;
	profile->others = processes;
	profile->other_count = 3;
	profile->all = NS_PER_SEC;
	expect_verdict(profile, "is in 3 runs of grep, 300 ms each (median); the longest, ");
	profile->program_runs = 150;
	expect_verdict(profile, "is in 150 runs of grep, 6.00 ms each (average); the longest, ");
}

// However long those that work lack a CPU, as on a busy machine.
Test(text_verdict, a_server_whose_processes_wait_is_told_so)
{
	struct row row = { .name = "epoll_wait",
		           .file = "/src/epoll_wait.c",
		           .line = 30,
		           .self = 340 * NS_PER_SEC,
		           .total = 340 * NS_PER_SEC,
		           .self_ns = { [METRIC_OFF_NET] = 340 * NS_PER_SEC } };
	struct profile *profile = fake_profile();

	profile->account.ns[METRIC_ON_CPU] = 1 * NS_PER_SEC;
	profile->account.ns[METRIC_OFF_LOCK] = 0;
	profile->account.ns[METRIC_OFF_NET] = 38801 * NS_PER_MS;
	profile->totals.on_cpu_ns = 8 * NS_PER_SEC;
	profile->totals.runnable_ns = 40 * NS_PER_SEC;
	profile->functions = &row;
	profile->function_count = 1;
	profile->all = 400 * NS_PER_SEC;
	expect_verdict(profile,
	               "85.0 % of the time its threads and processes waited for sockets or "
	               "events, in epoll_wait (epoll_wait.c:30).");
	row.self_ns[METRIC_OFF_NET] = 0;
	row.self_ns[METRIC_OFF_OTHER] = 340 * NS_PER_SEC;
	expect_verdict(profile,
	               "its threads and processes were blocked for an unknown reason, in ");
	row.self_ns[METRIC_OFF_OTHER] = 0;
	row.self_ns[METRIC_OFF_NET] = 340 * NS_PER_SEC;
	profile->totals.on_cpu_ns = 30 * NS_PER_SEC;
	expect_verdict(profile, "No function holds more");
	// Most of it, and more than all that is counted, is of threads that only wait for work.
	profile->totals.on_cpu_ns = 8 * NS_PER_SEC;
	row.self = 60 * NS_PER_SEC;
	profile->all = 100 * NS_PER_SEC;
	expect_verdict(profile, "60.0 % of the time its threads and processes waited for sockets");
	row.self = NS_PER_SEC;
	expect_verdict(profile, "No function holds more");
}

Test(text_verdict, a_python_without_the_agent_needs_the_agent_and_not_its_callers)
{
	static struct row row = { .name = "_PyEval_EvalFrameDefault",
		                  .module = "/usr/bin/python3.11",
		                  .self = 6 * NS_PER_SEC,
		                  .total = 6 * NS_PER_SEC,
		                  .self_ns = { [METRIC_ON_CPU] = 6 * NS_PER_SEC } };
	struct profile *profile = fake_profile();

	profile->functions = &row;
	profile->function_count = 1;
	profile->totals.on_cpu_ns = profile->all = 10 * NS_PER_SEC;
	expect_verdict(profile, "See who calls it: bottleneck report --call-tree");
	profile->run.agentless_processes = 1;
	expect_verdict(profile, "Its Python functions are missing; the limits give the cause "
	                        "and the remedy.");
}

Test(text_verdict, code_of_a_jit_compiler_without_names_comes_before_what_has_some)
{
	static struct row rows[] = { { .name = "[jit]",
		                       .self = 3 * NS_PER_SEC,
		                       .total = 3 * NS_PER_SEC,
		                       .self_ns = { [METRIC_ON_CPU] = 3 * NS_PER_SEC } },
		                     { .name = "collect",
		                       .self = 2 * NS_PER_SEC,
		                       .total = 2 * NS_PER_SEC,
		                       .self_ns = { [METRIC_ON_CPU] = 2 * NS_PER_SEC } } };
	struct profile *profile = fake_profile();

	profile->functions = rows;
	profile->function_count = 2;
	profile->totals.on_cpu_ns = profile->all = 10 * NS_PER_SEC;
	expect_verdict(profile,
	               "30.0 % of the CPU time is spent in code without symbols that a JIT "
	               "compiler made.");
}

// What the runtime does for them is spread over many functions, none of which is the answer.
Test(text_verdict, code_of_a_jit_compiler_comes_before_functions_of_its_runtime)
{
	static struct row rows[] = {
		{ .name = "v8::internal::Runtime_StringSplit(int, unsigned long*)",
		  .module = "/usr/bin/node",
		  .self = NS_PER_SEC,
		  .total = 2 * NS_PER_SEC,
		  .self_ns = { [METRIC_ON_CPU] = NS_PER_SEC } },
		{ .name = "[jit]",
		  .self = NS_PER_SEC / 2,
		  .total = 7 * NS_PER_SEC,
		  .self_ns = { [METRIC_ON_CPU] = NS_PER_SEC / 2 } },
	};
	struct profile *profile = fake_profile();

	profile->functions = rows;
	profile->function_count = 2;
	profile->totals.on_cpu_ns = profile->all = 10 * NS_PER_SEC;
	expect_verdict(
		profile,
		"70.0 % of the CPU time is spent in code without symbols that a JIT compiler "
		"made and in what this calls, the largest part in "
		"v8::internal::Runtime_StringSplit.");
	// So are functions of a script that V8 interprets, which are most of this one.
	rows[1].name = "Builtins_InterpreterEntryTrampoline";
	rows[1].module = "/usr/bin/node";
	expect_verdict(
		profile,
		"70.0 % of the CPU time is spent in functions of the script, which have no names "
		"here, and in what these call, the largest part in "
		"v8::internal::Runtime_StringSplit.");
	// What most of them ask it for is known, by what only passes that on.
	struct call_node parse = { .name = "v8::internal::Builtin_JsonParse(int)",
		                   .module = "/usr/bin/node",
		                   .self = NS_PER_SEC,
		                   .total = 5 * NS_PER_SEC },
			 entry = { .name = "Builtins_CEntry_Return1_ArgvOnStack_BuiltinExit",
		                   .module = "/usr/bin/node",
		                   .total = 5 * NS_PER_SEC,
		                   .child = &parse },
			 script = { .name = "[jit]", .total = 7 * NS_PER_SEC, .child = &entry };
	profile->tree = &script;
	expect_verdict(profile, "the largest part in v8::internal::Builtin_JsonParse.");
	expect_verdict(profile, "Parse each document once");
	rows[1].name = "[jit]";
	rows[1].module = NULL;
	rows[0].self = 3 * NS_PER_SEC;
	expect_no_words(profile, "and in what this calls");
}

// Where it has a name, what it calls is what was asked for.
Test(text_verdict, what_only_passes_a_call_on_is_not_what_is_called)
{
	struct call_node parse = { .name = "v8::internal::Builtin_JsonParse(int)",
		                   .module = "/usr/bin/node",
		                   .self = 700 * NS_PER_MS,
		                   .total = 700 * NS_PER_MS },
			 entry = { .name = "Builtins_CEntry_Return1_ArgvOnStack_BuiltinExit",
		                   .module = "/usr/bin/node",
		                   .total = 700 * NS_PER_MS,
		                   .child = &parse },
			 own = { .name = "lookup",
		                 .file = "/src/config.js",
		                 .line = 3,
		                 .module = "[jit]",
		                 .total = 700 * NS_PER_MS,
		                 .child = &entry };
	struct call_node nodes[5];
	struct profile *profile = with_logging(fake_profile(), nodes, 100);

	profile->tree = &own;
	expect_verdict(profile, "lookup (config.js:3) and in what it calls of libraries, most in "
	                        "v8::internal::Builtin_JsonParse.");
}

Test(text_verdict, a_thread_that_gets_no_cpu_is_told_so)
{
	struct profile *profile = fake_profile();

	profile->account.ns[METRIC_ON_CPU] = 20 * NS_PER_SEC;
	profile->account.ns[METRIC_OFF_RUNNABLE] = 21234 * NS_PER_MS;
	profile->run.cpus = 1;
	profile->totals.on_cpu_ns = profile->run.wall_ns;
	expect_verdict(profile, "the main thread was ready to run but had no CPU.");
	expect_verdict(profile, "The program alone kept the 1 CPU that it may use busy: run fewer");
	profile->run.samples = 8;
	char *page =
		text_page(profile, &(struct view){ .quiet = true, .by = { -1, 0 }, .sort = -1 },
	                  golden_terminal(200, false, false));
	cr_expect(not(strstr(page, "Of the CPU time") != NULL), "of 8 samples: %s", page);
	free(page);
}

Test(text_verdict, that_others_had_the_cpus_stands_behind_what_the_program_does)
{
	struct profile *profile = fake_profile();

	profile->account.ns[METRIC_ON_CPU] = 20 * NS_PER_SEC;
	profile->account.ns[METRIC_OFF_RUNNABLE] = 21234 * NS_PER_MS;
	profile->totals.on_cpu_ns = 20 * NS_PER_SEC;
	profile->totals.runnable_ns = 30 * NS_PER_SEC;
	expect_verdict(profile, "99.1 % of the CPU time is spent in deflate_slow");
	expect_verdict(profile, "Other processes used the CPUs for 60.0 % of the time in which "
	                        "threads of the program were ready to run: measure again on a "
	                        "machine without other work.");
	profile->totals.runnable_ns = 15 * NS_PER_SEC;
	char *page =
		text_page(profile, &(struct view){ .quiet = true, .by = { -1, 0 }, .sort = -1 },
	                  golden_terminal(200, false, false));
	cr_expect(not(strstr(page, "Other processes used the CPUs") != NULL), "%s", page);
	free(page);
}

Test(text_verdict, threads_that_get_no_cpu_are_told_where_the_main_thread_waits_for_them)
{
	struct profile *profile = fake_profile();

	profile->account.ns[METRIC_ON_CPU] = 1 * NS_PER_SEC;
	profile->account.ns[METRIC_OFF_NET] = 38801 * NS_PER_MS;
	profile->run.cpus = 1;
	profile->totals.on_cpu_ns = profile->run.wall_ns;
	profile->totals.runnable_ns = 3 * profile->run.wall_ns;
	expect_verdict(profile,
	               "Threads of the program were ready to run but had no CPU for 75.0 % of the "
	               "time.");
	profile->run.cpus = 8;
	expect_verdict(profile, "is spent in deflate_slow");
	profile->totals.on_cpu_ns = 10 * NS_PER_SEC;
	profile->totals.runnable_ns = 5 * NS_PER_SEC;
	expect_verdict(profile, "of the time the main thread waited for sockets or events");
}

Test(text_verdict, a_flat_profile_is_called_flat)
{
	static const struct row row = { .name = "f",
		                        .self = NS_PER_MS,
		                        .total = NS_PER_MS,
		                        .self_ns = { [METRIC_ON_CPU] = NS_PER_MS } };
	struct profile *profile = fake_profile();

	profile->functions = &row;
	profile->function_count = 1;
	expect_verdict(profile, "No function holds more than 4 % of the CPU time: the profile is "
	                        "flat.");
}

Test(text_verdict, hooks_that_take_more_than_the_program_are_told)
{
	static const struct row rows[] = { { .name = "[bottleneck]",
		                             .self = 3 * NS_PER_SEC,
		                             .total = 3 * NS_PER_SEC,
		                             .self_ns = { [METRIC_ON_CPU] = 3 * NS_PER_SEC } },
		                           { .name = "f",
		                             .self = NS_PER_SEC,
		                             .total = NS_PER_SEC,
		                             .self_ns = { [METRIC_ON_CPU] = NS_PER_SEC } } };
	struct profile *profile = fake_profile();

	profile->functions = rows;
	profile->function_count = 2;
	profile->totals.on_cpu_ns = 4 * NS_PER_SEC;
	expect_verdict(profile,
	               "75.0 % of the CPU time is spent in bottleneck itself, which records "
	               "ops and allocations.");
}

Test(text_verdict, few_samples_rank_nothing)
{
	struct profile *profile = fake_profile();

	profile->run.samples = 12;
	expect_verdict(profile, "Only 12 samples on a CPU: too few to rank functions.");
	expect_verdict(profile, "Run more work, or raise the sampling rate: bottleneck -F 4999");
	// Whoever attached has not started it, and cannot give it work.
	profile->run.attached_pid = 4711;
	expect_verdict(profile, "Record for longer, while it works, or raise the sampling rate");
	profile->run.samples = 0;
	expect_verdict(profile, "No sample on a CPU: the process did not run meanwhile.");
}

Test(text_verdict, the_verdict_names_an_op_that_holds_half_of_the_time)
{
	struct op_row heavy[] = { { .name = "fftw_plan_dft_1d",
		                    .provider = "fftw",
		                    .domain = "",
		                    .shape = "",
		                    .stack = "",
		                    .file = "/src/pack/main.c",
		                    .line = 41,
		                    .calls = 1,
		                    .self_ns = 30 * NS_PER_SEC,
		                    .total_ns = 30 * NS_PER_SEC } };
	struct profile *profile = fake_profile_with_ops();

	profile->ops = heavy;
	profile->op_count = 1;
	expect_verdict(profile,
	               "72.8 % of the time is spent in the op fftw_plan_dft_1d, mostly called "
	               "from main.c:41.");
	heavy[0].label = true;
	expect_verdict(profile, "72.8 % of the time is in the op fftw_plan_dft_1d, mostly called "
	                        "from main.c:41.");
	profile->run.recorded_range = "fftw_*";
	struct view view = { .quiet = true, .by = { -1, 0 }, .sort = -1 };
	char *page = text_page(profile, &view, golden_terminal(200, false, false));
	cr_expect(eq(ptr, strstr(page, "in the op"), NULL), "%s", page);
	free(page);
	profile->run.recorded_range = NULL;
	heavy[0].self_ns = 20 * NS_PER_SEC;
	page = text_page(profile, &view, golden_terminal(200, false, false));
	cr_expect(eq(ptr, strstr(page, "in the op"), NULL), "%s", page);
	free(page);
}

// Where they have names it is said of all of them together.
Test(text_verdict, functions_of_openmp_with_names_wait_too)
{
	static const struct row rows[] = {
		{ .name = "gomp_team_barrier_wait_end",
		  .module = "/usr/lib/libgomp.so.1",
		  .self = 500 * NS_PER_MS,
		  .total = 500 * NS_PER_MS,
		  .self_ns = { [METRIC_ON_CPU] = 500 * NS_PER_MS } },
		{ .name = "gomp_barrier_wait_end",
		  .module = "/usr/lib/libgomp.so.1",
		  .self = 300 * NS_PER_MS,
		  .total = 300 * NS_PER_MS,
		  .self_ns = { [METRIC_ON_CPU] = 300 * NS_PER_MS } },
	};
	struct profile *profile = fake_profile();

	profile->functions = rows;
	profile->function_count = 2;
	profile->totals.on_cpu_ns = profile->all = NS_PER_SEC;
	expect_verdict(profile,
	               "80.0 % of the CPU time is spent in OpenMP's runtime (libgomp.so.1), "
	               "where threads wait for each other");
}

Test(text_verdict, what_openmp_computes_itself_is_waiting)
{
	static const struct row row = { .name = "[libgomp.so.1.0.0]",
		                        .module = "/usr/lib/libgomp.so.1.0.0",
		                        .self = 900 * NS_PER_MS,
		                        .total = 900 * NS_PER_MS,
		                        .self_ns = { [METRIC_ON_CPU] = 900 * NS_PER_MS } };
	struct profile *profile = fake_profile();

	profile->functions = &row;
	profile->function_count = 1;
	profile->totals.on_cpu_ns = profile->all = NS_PER_SEC;
	expect_verdict(profile, "90.0 % of the CPU time is spent in OpenMP's runtime "
	                        "(libgomp.so.1.0.0), where threads wait for each other");
	expect_verdict(profile, "put #pragma omp parallel around that one");
}
