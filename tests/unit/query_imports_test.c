// SPDX-License-Identifier: MIT
#include "merge/query/query_imports.h"

#include "base/code.h"
#include "base/error.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <stdio.h>
#include <string.h>

static struct codes *codes;

static void begin(struct fixture *f)
{
	fixture_init(f, NULL);
	codes = codes_new();
	profile_set_codes(f->profile, codes);
}

static void end(struct fixture *f)
{
	fixture_fini(f);
	codes_free(codes);
}

// "name file:line", or "import" for what importlib has between the importer and the module.
static uint32_t push(struct frame *frames, const char *text)
{
	char name[64], file[64];
	unsigned line;
	static const char *const import[] = { "_find_and_load", "_load_unlocked", "exec_module" };

	if (strcmp(text, "import") != 0) {
		cr_assert(eq(int, sscanf(text, "%63s %63[^:]:%u", name, file, &line), 3));
		struct code code = { file, name, 1 };
		frames[0] = frame_of_python(codes_add(codes, &code), line);
		return 1;
	}
	for (uint32_t i = 0; i < 3; i++) {
		struct code code = { "<frozen importlib._bootstrap>", import[2 - i], 1 };
		frames[i] = frame_of_python(codes_add(codes, &code), 7);
	}
	return 3;
}

static void spend(struct fixture *f, uint32_t thread, uint64_t ms, const char *stack)
{
	struct frame frames[64];
	uint32_t count = 0;
	char copy[512];

	snprintf(copy, sizeof(copy), "%s", stack);
	for (char *part = copy, *next; part; part = next) {
		struct frame new[3];
		next = strstr(part, " > ");
		if (next) {
			*next = '\0';
			next += 3;
		}
		uint32_t more = push(new, part);
		memmove(frames + more, frames, count * sizeof(*frames));
		memcpy(frames, new, more * sizeof(*frames));
		count += more;
	}
	profile_add_stack(f->profile, &(struct stack){ .thread = thread,
	                                               .metric = METRIC_ON_CPU,
	                                               .time_ns = f->now_ns,
	                                               .weight_ns = ms * MS,
	                                               .samples = 1,
	                                               .count = count,
	                                               .frames = frames });
}

static const char *text_of(const struct import_rows *rows)
{
	static char text[1024];
	int at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < rows->count; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%s %lu/%lu by %s:%d",
		               i ? ", " : "", rows->rows[i].name, rows->rows[i].self / MS,
		               rows->rows[i].total / MS,
		               rows->rows[i].importer ? rows->rows[i].importer : "?",
		               rows->rows[i].importer_line);
	return text;
}

static struct import_rows *ask_imports(const struct fixture *f)
{
	struct query query = { 0 };
	struct error err;
	struct import_rows *rows = query_imports(f->profile, &query, &err);

	cr_assert(rows != NULL);
	return rows;
}

Test(query_imports, a_module_has_what_it_imports_in_its_total)
{
	struct fixture f;

	begin(&f);
	spend(&f, 1, 3, "<module> /m.py:1 > import > <module> /a.py:2");
	spend(&f, 1, 4, "<module> /m.py:1 > import > <module> /a.py:5 > import > <module> /b.py:1");
	spend(&f, 1, 5, "<module> /m.py:1 > import > <module> /a.py:5 > import");
	spend(&f, 1, 8, "<module> /m.py:9 > work /m.py:20");
	struct import_rows *rows = ask_imports(&f);
	cr_expect(eq(str, (char *)text_of(rows), "a 8/12 by /m.py:1, b 4/4 by /a.py:5"));
	cr_expect(eq(u64, rows->all, 12 * MS));
	cr_expect(eq(u64, rows->time, 20 * MS));
	import_rows_free(rows);
	end(&f);
}

Test(query_imports, the_program_itself_and_what_it_executes_are_no_imports)
{
	struct fixture f;

	begin(&f);
	spend(&f, 1, 3, "<module> /m.py:1 > <module> <string>:1");
	spend(&f, 1, 4, "<module> /m.py:1 > import > <module> /a.py:2 > <module> <string>:1");
	// What a module runs by itself is its own.
	spend(&f, 1, 5,
	      "<module> /m.py:1 > import > <module> /a.py:2 > run /a.py:3 > <module> /c.py:1");
	struct import_rows *rows = ask_imports(&f);
	cr_expect(eq(str, (char *)text_of(rows), "a 9/9 by /m.py:1"));
	import_rows_free(rows);
	end(&f);
}

Test(query_imports, a_module_that_is_run_again_while_it_is_imported_counts_once)
{
	struct fixture f;

	begin(&f);
	spend(&f, 1, 3,
	      "f /m.py:1 > import > <module> /a.py:1 > import > <module> /b.py:1 > import > "
	      "<module> /a.py:1");
	struct import_rows *rows = ask_imports(&f);
	cr_expect(eq(str, (char *)text_of(rows), "a 3/3 by /m.py:1, b 0/3 by /a.py:1"));
	import_rows_free(rows);
	end(&f);
}

Test(query_imports, the_importer_is_the_one_that_took_longest)
{
	struct fixture f;

	begin(&f);
	spend(&f, 1, 3, "f /m.py:1 > import > <module> /a.py:1");
	spend(&f, 1, 4, "f /m.py:2 > import > <module> /a.py:1");
	spend(&f, 1, 1, "f /m.py:3 > import > <module> /a.py:1");
	struct import_rows *rows = ask_imports(&f);
	cr_expect(eq(str, (char *)text_of(rows), "a 8/8 by /m.py:2"));
	import_rows_free(rows);
	end(&f);
}

Test(query_imports, the_thread_that_imports_longest_is_shown_and_the_others_summed)
{
	struct fixture f;

	begin(&f);
	add_thread(&f, 2, 1, 101, "worker");
	spend(&f, 1, 3, "f /m.py:1 > import > <module> /a.py:1");
	spend(&f, 2, 9, "f /m.py:1 > import > <module> /b.py:1");
	struct import_rows *rows = ask_imports(&f);
	cr_expect(eq(str, (char *)text_of(rows), "b 9/9 by /m.py:1"));
	cr_expect(eq(u32, rows->tid, 101));
	cr_expect(eq(u64, rows->all, 9 * MS));
	cr_expect(eq(u64, rows->others, 3 * MS));
	import_rows_free(rows);
	end(&f);
}

Test(query_imports, a_program_without_imports_has_no_rows)
{
	struct fixture f;

	begin(&f);
	add(&f, 1, METRIC_ON_CPU, 3, "main a.c:1");
	struct import_rows *rows = ask_imports(&f);
	cr_expect(eq(sz, rows->count, 0));
	cr_expect(eq(u64, rows->all, 0));
	import_rows_free(rows);
	end(&f);
}

Test(query_imports, a_module_is_called_as_one_imports_it)
{
	static const struct {
		const char *file, *name;
	} cases[] = {
		{ "/usr/lib/python3/dist-packages/torch/__init__.py", "torch" },
		{ "/v/lib/python3.11/site-packages/torch/utils/data.py", "torch.utils.data" },
		{ "/usr/lib/python3.11/json/__init__.py", "json" },
		{ "/usr/lib/python3.11/os.py", "os" },
		{ "/opt/python/lib/python3.8/re.py", "re" },
		{ "<frozen os>", "os" },
		{ "<frozen importlib._bootstrap>", "importlib._bootstrap" },
		{ "/home/u/app/tools.py", "tools" },
		{ "/home/u/app/tools/__init__.py", "tools" },
		{ "tools.py", "tools" },
		{ "/__init__.py", "" },
		{ "", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[64];
		import_name(cases[i].file, name, sizeof(name));
		cr_expect(eq(str, name, (char *)cases[i].name), "%s", cases[i].file);
	}
	char small[4];
	import_name("/a/python3.11/os/path.py", small, sizeof(small));
	cr_expect(eq(str, small, "os."));
}
