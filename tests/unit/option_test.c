// SPDX-License-Identifier: MIT
#include "cli/option.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/op.h"
#include "cli/run/run_options.h"
#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

// Splits LINE at blanks: "run -F 99 xz" (the command's name first).
static int parse(const char *line, struct run_options *options, struct error *err)
{
	static char words[512];
	static char *argv[32];
	int argc = 0;

	memset(err, 0, sizeof(*err));
	snprintf(words, sizeof(words), "%s", line);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return run_options_parse(options, argc, argv, err);
}

Test(option, the_program_ends_the_options)
{
	struct run_options options;
	struct error err;

	cr_assert(eq(int, parse("run -F 99 --top=3 xz -v -F 1", &options, &err), 0));
	cr_expect(eq(u32, options.frequency_hz, 99));
	cr_expect(eq(u32, options.view.top, 3));
	cr_expect(not(options.view.verbose));
	cr_expect(eq(str, options.argv[0], "xz"));
	cr_expect(eq(str, options.argv[1], "-v"));
}

Test(option, two_dashes_end_them_too)
{
	struct run_options options;
	struct error err;

	cr_assert(eq(int, parse("run -v -- --odd-program", &options, &err), 0));
	cr_expect(options.view.verbose);
	cr_expect(eq(str, options.argv[0], "--odd-program"));
}

Test(option, values_of_every_kind_arrive)
{
	struct run_options options;
	struct error err;

	cr_assert(eq(int,
	             parse("run --unwinder=libunwind --rung user --no-off-cpu -o out.bneck "
	                   "--min-pct 1.5 --from 0.25 --to=3 --by thread --color never x",
	                   &options, &err),
	             0));
	cr_expect(eq(int, options.unwinder, 1));
	cr_expect(eq(int, options.rung, 1));
	cr_expect(options.no_off_cpu);
	cr_expect(eq(str, (char *)options.output, "out.bneck"));
	cr_expect(eq(dbl, options.view.min_percent, 1.5));
	cr_expect(eq(u64, options.view.from_ns, 250 * NS_PER_MS));
	cr_expect(eq(u64, options.view.to_ns, 3 * NS_PER_SEC));
	cr_expect(eq(int, options.view.by.index, BY_THREAD));
	cr_expect(eq(int, options.view.display.color, COLOR_NEVER));
}

Test(option, the_budget_is_a_share_or_none)
{
	const struct {
		const char *line;
		double percent;
	} rows[] = {
		{ "run x", 3 },
		{ "run --budget 0.01 x", 0.01 },
		{ "run --budget=0 x", 0 },
		{ "run --budget none x", 0 },
	};
	struct run_options options;
	struct error err;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert(eq(int, parse(rows[i].line, &options, &err), 0));
		cr_expect(eq(dbl, options.budget_percent, rows[i].percent), "%s", rows[i].line);
	}
	cr_expect(eq(int, parse("run --budget much x", &options, &err), -1));
	cr_expect(eq(int, parse("run --min-pct none x", &options, &err), -1));
}

Test(option, ops_are_all_on_unless_they_are_switched_off)
{
	const uint32_t blas = 1u << OP_BLAS | 1u << OP_LAPACK | 1u << OP_FFTW;
	const uint32_t all = 1u << OP_NVTX | 1u << OP_ITT | 1u << OP_TORCH | 1u << OP_PYTHON |
	                     1u << OP_CUDA | 1u << OP_MPI | 1u << OP_API | 1u << OP_SHELL | blas;
	const struct {
		const char *line;
		uint32_t ops;
		bool memory, waits;
	} rows[] = {
		{ "run x", all, true, true },
		{ "run --no-ops x", 0, false, false },
		{ "run --no-nvtx x", all & ~(1u << OP_NVTX), true, true },
		{ "run --no-itt x", all & ~(1u << OP_ITT), true, true },
		{ "run --no-api x", all & ~(1u << OP_API), true, true },
		{ "run --no-blas x", all & ~blas, true, true },
		{ "run --no-shell x", all & ~(1u << OP_SHELL), true, true },
		{ "run --no-mpi x", all & ~(1u << OP_MPI), true, true },
		{ "run --no-torch x", all & ~(1u << OP_TORCH), true, true },
		{ "run --no-gpu x", all & ~(1u << OP_CUDA), true, true },
		{ "run --no-gc x", all & ~(1u << OP_PYTHON), true, true },
		{ "run --no-malloc x", all, false, true },
		{ "run --no-waits x", all, true, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct run_options options;
		struct error err;
		cr_assert(eq(int, parse(rows[i].line, &options, &err), 0));
		cr_expect(eq(u32, run_options_ops(&options), rows[i].ops), "%s", rows[i].line);
		cr_expect(eq(int, run_options_malloc(&options), rows[i].memory), "%s",
		          rows[i].line);
		cr_expect(eq(int, run_options_recording(&options).waits, rows[i].waits), "%s",
		          rows[i].line);
	}
}

Test(option, callers_of_ops_may_be_counted)
{
	struct run_options options;
	struct error err;

	cr_assert(eq(int, parse("run --by stack:7 x", &options, &err), 0));
	cr_expect(eq(int, options.view.by.index, VIEW_BY_STACK));
	cr_expect(eq(u32, view_op_query(&options.view).stack_frames, 7));
	cr_assert(eq(int, parse("run --by=stack x", &options, &err), 0));
	cr_expect(eq(int, view_op_query(&options.view).by, OPS_BY_STACK));
	cr_expect(eq(u32, view_op_query(&options.view).stack_frames, VIEW_FRAMES_DEFAULT));
}

Test(option, each_table_has_its_options)
{
	static const struct {
		const char *line;
		enum view_table table;
	} rows[] = {
		{ "run x", VIEW_TABLE_NONE },
		{ "run --call-tree x", VIEW_TABLE_NONE },
		{ "run --sort total x", VIEW_TABLE_FUNCTIONS },
		{ "run --by line x", VIEW_TABLE_LINES },
		{ "run --by thread x", VIEW_TABLE_OWNERS },
		{ "run --ops --by thread x", VIEW_TABLE_OPS },
		{ "run --by domain x", VIEW_TABLE_OPS },
		{ "run --sort calls x", VIEW_TABLE_OPS },
		{ "run --sort mem x", VIEW_TABLE_MEMORY },
		{ "run --sort mem --by line x", VIEW_TABLE_MEMORY },
		{ "run --sort mem --by op x", VIEW_TABLE_OPS },
		{ "run --sort gpu x", VIEW_TABLE_GPU },
		{ "run --sort gpu-total --by thread x", VIEW_TABLE_GPU },
		{ "run --sort gpu --by shape x", VIEW_TABLE_OPS },
		{ "run --by stream x", VIEW_TABLE_STREAMS },
		{ "run --by stream --sort gpu x", VIEW_TABLE_STREAMS },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct run_options options;
		struct error err;
		cr_assert(eq(int, parse(rows[i].line, &options, &err), 0));
		cr_expect(eq(int, view_table(&options.view), rows[i].table), "%s", rows[i].line);
	}
}

Test(option, what_is_wrong_is_named_in_one_line)
{
	static const struct {
		const char *line, *message;
	} rows[] = {
		{ "run --nonsense x", "unknown option \"--nonsense\" (see --help)" },
		{ "run --nonsense=3 x", "unknown option \"--nonsense=3\" (see --help)" },
		{ "run -Z x", "unknown option \"-Z\" (see --help)" },
		{ "run -vZ x", "unknown option \"-Z\" (see --help)" },
		{ "run -F", "-F needs an argument" },
		{ "run --frequency", "--frequency needs an argument" },
		{ "run --no-report=yes x", "--no-report takes no argument" },
		{ "run -F 0 x", "-F \"0\": not a whole number from 1 to 50000" },
		{ "run -F 12x x", "-F \"12x\": not a whole number from 1 to 50000" },
		{ "run -F -5 x", "-F \"-5\": not a whole number from 1 to 50000" },
		{ "run -F +5 x", "-F \"+5\": not a whole number from 1 to 50000" },
		{ "run --frequency=99999999999999999999 x",
		  "--frequency \"99999999999999999999\": not a whole number from 1 to 50000" },
		{ "run --min-pct 101 x",
		  "--min-pct \"101\": not a share from 0 to 100 (per cent)" },
		{ "run --min-pct nan x",
		  "--min-pct \"nan\": not a share from 0 to 100 (per cent)" },
		{ "run --from 1.2.3 x", "--from \"1.2.3\": not a number of seconds" },
		{ "run --from -1 x", "--from \"-1\": not a number of seconds" },
		{ "run --from . x", "--from \".\": not a number of seconds" },
		{ "run --from 3 --to 2 x",
		  "--to is not later than --from: nothing is left to show" },
		{ "run --unwinder dwarf x", "--unwinder \"dwarf\": not one of table, libunwind" },
		{ "run --sort line --by module x",
		  "--sort line ranks source lines: it does not go with --by module" },
		{ "run --by stack:0 x", "--by \"0\": not a whole number from 1 to 100" },
		{ "run --by op:2 x",
		  "--by \"op:2\": not one of function, line, module, file, "
		  "thread, process, op, shape, stack:N, domain, stream, kernel" },
		{ "run --by sta x", "--by \"sta\": not one of function, line, module, file, "
		                    "thread, process, op, shape, stack:N, domain, stream, kernel" },
		{ "run --ops --sort line x", "--sort line ranks source lines, not ops" },
		{ "run --sort calls --by file x",
		  "--by file is not for ops: they go by op, shape, stack:N, domain, line, module or "
		  "thread" },
		{ "run --ops --on-cpu x",
		  "--on-cpu is for samples: the times of ops are wall time" },
		{ "run --sort mem --by file x",
		  "--sort mem does not go with --by file, but with function, line, module and op" },
		{ "run --sort mem --thread 1 x",
		  "--sort mem is about the whole run, or about ops: allocations are not kept by time "
		  "or thread" },
		{ "run --sort gpu --on-cpu x",
		  "--on-cpu is for samples, not for what ran on GPUs" },
		{ "run --by stream --sort total x",
		  "--sort total is not for streams: they go by GPU time" },
		{ "run --by stream --from 1 x",
		  "--by stream is about the whole run: what ran is not kept by stream and time or "
		  "thread" },
		{ "run --ops --by module --sort gpu x",
		  "--ops --by module does not go with GPU time, which is known by op, and without "
		  "--ops by module" },
		{ "run --sort calls --by stream x",
		  "--by stream is not for ops: they go by op, shape, stack:N, domain, line, module or "
		  "thread" },
		{ "run -o= x", NULL },
		{ "run --output= x", "--output: its argument is empty" },
		{ "run -v", "no program is named (see --help)" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct run_options options;
		struct error err;
		int failed = parse(rows[i].line, &options, &err);
		cr_expect(eq(int, failed, rows[i].message ? -1 : 0), "%s", rows[i].line);
		if (rows[i].message)
			cr_expect(eq(str, err.text, (char *)rows[i].message));
	}
}

Test(option, an_unknown_one_names_what_was_meant)
{
	struct run_options options;
	struct error err;

	cr_assert(eq(int, parse("run --frequncy=3 x", &options, &err), -1));
	cr_expect(eq(str, err.hint, "did you mean --frequency?"));
}

// A name that is no option would be left out without a word.
Test(option, the_first_screen_of_help_has_a_line_an_option)
{
	char *page = NULL;
	size_t size, lines = 0, options = 0;
	FILE *out = open_memstream(&page, &size);

	run_options_help_short(out);
	fclose(out);
	for (const char *c = page; *c; c++)
		lines += *c == '\n';
	for (const char *c = page; (c = strstr(c, " --")); c++)
		options++;
	cr_expect(eq(sz, lines, options + 2), "a blank line, a title, options: %s", page);
	cr_expect(eq(sz, options, 18));
	free(page);
}

Test(option, help_names_every_option_within_80_columns)
{
	char *page = NULL;
	size_t size;
	FILE *out = open_memstream(&page, &size);
	struct view view;
	const struct option_group groups[] = { view_options(&view), view_part_options(&view) };

	run_options_help(out);
	fclose(out);
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
		for (size_t i = 0; i < groups[g].count; i++) {
			char name[64];
			snprintf(name, sizeof(name), "--%s", groups[g].specs[i].name);
			cr_expect(ne(ptr, strstr(page, name), NULL), "%s", name);
		}
	}
	for (char *line = strtok(page, "\n"); line; line = strtok(NULL, "\n"))
		cr_expect(le(sz, strlen(line), 80), "%s", line);
	free(page);
}
