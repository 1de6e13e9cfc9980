// SPDX-License-Identifier: MIT
#include "cli/batch/batch_file.h"

#include "base/clock.h"
#include "base/error.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

static struct batch_file *parse(const char *text, struct error *err)
{
	*err = (struct error){ 0 };
	return batch_file_parse("b.conf", text, strlen(text), err);
}

Test(batch_file, a_section_is_a_command)
{
	struct error err;
	cleanup(batch_file) struct batch_file *file =
		parse("# all\n\n[one]\ncommand = sh -c 'a = b # c'\n  options=-F 99 -v \n"
	              "directory = /tmp\nenvironment = A=b=c\nenvironment = D=\n"
	              "gate = CPU-LOCK\ngate = warn\nrepeat = 3\ntimeout = 1.5\n[two-2.x]\n"
	              "command = true",
	              &err);

	cr_assert(ne(ptr, file, NULL), "%s", err.text);
	cr_assert(eq(sz, file->count, 2));
	const struct batch_job *one = &file->jobs[0], *two = &file->jobs[1];
	cr_expect(eq(str, (char *)one->name, "one"));
	cr_expect(eq(str, (char *)one->command, "sh -c 'a = b # c'"));
	cr_expect(eq(str, (char *)one->options, "-F 99 -v"));
	cr_expect(eq(str, (char *)one->directory, "/tmp"));
	cr_assert(eq(sz, one->environment.count, 2));
	cr_expect(eq(str, (char *)one->environment.items[0], "A=b=c"));
	cr_assert(eq(sz, one->gates.count, 2));
	cr_expect(eq(str, (char *)one->gates.items[1], "warn"));
	cr_expect(eq(u32, one->repeat, 3));
	cr_expect(eq(u64, one->timeout_ns, 3 * NS_PER_SEC / 2));
	cr_expect(eq(str, (char *)two->name, "two-2.x"));
	cr_expect(eq(u32, two->repeat, 1));
	cr_expect(eq(ptr, (void *)two->options, NULL));
}

Test(batch_file, what_stands_before_the_first_section_is_for_all)
{
	struct error err;
	cleanup(batch_file) struct batch_file *file =
		parse("timeout = 9\r\nenvironment = A=1\r\n[a]\r\ncommand = x\r\n[b]\r\n"
	              "command = y\r\ntimeout = 1\r\nenvironment = B=2\r\n",
	              &err);

	cr_assert(ne(ptr, file, NULL), "%s", err.text);
	cr_expect(eq(u64, file->jobs[0].timeout_ns, 9 * NS_PER_SEC));
	cr_expect(eq(u64, file->jobs[1].timeout_ns, NS_PER_SEC));
	cr_expect(eq(sz, file->jobs[0].environment.count, 1));
	cr_expect(eq(sz, file->jobs[1].environment.count, 2));
	cr_expect(eq(str, (char *)file->jobs[1].command, "y"));
}

Test(batch_file, each_error_names_its_line)
{
	const struct {
		const char *text;
		unsigned line; // 0: it is about the whole file
	} rows[] = {
		{ "", 0 },
		{ "# nothing\n", 0 },
		{ "[a]\n", 1 },
		{ "\n[a]\n[b]\ncommand = x\n", 2 },
		{ "[a]\ncommand = x\n[a]\ncommand = y\n", 3 },
		{ "[a]\ncommand = x\n[A]\ncommand = y\n", 3 }, // of one file on some systems
		{ "[a]\ncommand = x\ncommand = y\n", 3 },
		{ "command = x\n", 1 },
		{ "[a\ncommand = x\n", 1 },
		{ "[../a]\ncommand = x\n", 1 },
		{ "[-a]\ncommand = x\n", 1 },
		{ "[]\ncommand = x\n", 1 },
		{ "[a]\ncommand =\n", 2 },
		{ "[a]\ncommand = x\nrepeat = 0\n", 3 },
		{ "[a]\ncommand = x\nrepeat = 1001\n", 3 },
		{ "[a]\ncommand = x\nrepeat = -1\n", 3 },
		{ "[a]\ncommand = x\ntimeout = soon\n", 3 },
		{ "[a]\ncommand = x\ntimeout = nan\n", 3 },
		{ "[a]\ncommand = x\ntimeout = 1 s\n", 3 },
		{ "[a]\ncommand = x\nenvironment = A\n", 3 },
		{ "[a]\ncommand = x\nenvironment = =b\n", 3 },
		{ "[a]\ncommand = x\ngate =\n", 3 },
		{ "[a]\ncommand = x\ncolour = red\n", 3 },
		{ "[a]\ncommand = x\njust words\n", 3 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct error err;
		char where[32] = "\"b.conf\"";
		cleanup(batch_file) struct batch_file *file = parse(rows[i].text, &err);
		if (rows[i].line)
			snprintf(where, sizeof(where), "\"b.conf\", line %u:", rows[i].line);
		cr_expect(eq(ptr, file, NULL), "%s", rows[i].text);
		cr_expect(ne(ptr, strstr(err.text, where), NULL), "%s: %s", rows[i].text, err.text);
	}
}

Test(batch_file, bytes_that_are_no_text_are_refused)
{
	struct error err;
	cleanup(batch_file) struct batch_file *file =
		batch_file_parse("b", "[a]\ncommand = x\0y\n", 18, &err);

	cr_expect(eq(ptr, file, NULL));
}

Test(batch_file, a_fingerprint_changes_with_whatever_is_run)
{
	const char *const texts[] = {
		"[a]\ncommand = x\n",
		"[a]\ncommand = x y\n",
		"[a]\ncommand = x\noptions = y\n",
		"[a]\ncommand = x\ndirectory = y\n",
		"[a]\ncommand = x\nenvironment = A=B\n",
		"[a]\ncommand = x\nenvironment = A=B\nenvironment = C=D\n",
		"[a]\ncommand = x\ngate = warn\n",
		"[a]\ncommand = x\nrepeat = 2\n",
		"[a]\ncommand = x\ntimeout = 2\n",
	};
	const size_t count = sizeof(texts) / sizeof(texts[0]);
	uint64_t seen[sizeof(texts) / sizeof(texts[0])];
	struct error err;

	for (size_t i = 0; i < count; i++) {
		cleanup(batch_file) struct batch_file *file = parse(texts[i], &err);
		seen[i] = batch_job_fingerprint(&file->jobs[0]);
		for (size_t k = 0; k < i; k++)
			cr_expect(ne(u64, seen[i], seen[k]), "%s %s", texts[i], texts[k]);
	}
	cleanup(batch_file) struct batch_file *same =
		parse("# another comment\n\n[renamed]\n command=x\n", &err);
	cr_expect(eq(u64, batch_job_fingerprint(&same->jobs[0]), seen[0]));
}
