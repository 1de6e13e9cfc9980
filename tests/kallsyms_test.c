// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "base/kallsyms.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

static struct kallsyms *read_text(const char *text, struct error *err)
{
	char path[] = "/tmp/kallsyms-XXXXXX";
	cleanup_close int fd = mkstemp(path);

	cr_assert(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	cleanup(kallsyms) struct kallsyms *k = kallsyms_new(path);
	int failed = kallsyms_load(k, err);
	unlink(path);
	return failed ? NULL : steal(k);
}

Test(kallsyms, an_address_belongs_to_the_function_that_starts_before_it)
{
	static const char text[] = "ffffffff81000000 T _text\n"
				   "ffffffff81000000 T startup_64\n"
				   "ffffffff81000100 t helper\n"
				   "ffffffff81000080 D some_data\n"
				   "ffffffffc0000000 t ext4_readdir\t[ext4]\n"
				   "ffffffff81000200 W weak_one\n";
	struct error err = { 0 };
	cleanup(kallsyms) struct kallsyms *k = read_text(text, &err);

	cr_assert(k != NULL, "%s", err.text);
	static const struct {
		uint64_t address;
		const char *name;
	} rows[] = {
		{ 0xffffffff81000000, "_text" },
		{ 0xffffffff81000090, "_text" },
		{ 0xffffffff81000100, "helper" },
		{ 0xffffffff81000201, "weak_one" },
		{ 0xffffffffc0000123, "ext4_readdir [ext4]" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *name = kallsyms_find(k, rows[i].address);
		cr_assert(name != NULL, "%#lx", rows[i].address);
		cr_expect(eq(str, (char *)name, (char *)rows[i].name), "%#lx", rows[i].address);
	}
	cr_expect(eq(ptr, (void *)kallsyms_find(k, 0x1000), NULL));
	cr_expect(not(kallsyms_are_hidden(k)));
}

Test(kallsyms, a_kernel_that_hides_its_addresses_is_seen_to)
{
	cleanup(kallsyms) struct kallsyms *k =
		read_text("0000000000000000 T _text\n0000000000000000 t helper\n", NULL);

	cr_assert(k != NULL);
	cr_expect(kallsyms_are_hidden(k));
	cr_expect(eq(ptr, (void *)kallsyms_find(k, 0xffffffff81000000), NULL));
}

Test(kallsyms, lines_that_are_no_symbols_are_passed_over)
{
	cleanup(kallsyms) struct kallsyms *k =
		read_text("\nrubbish\nffffffff81000000\nffffffff81000000 T\nffffffff81000000 T \n"
	                  "123456789012345678901234567890 T big\nffffffff81000000 T good",
	                  NULL);

	cr_assert(k != NULL);
	cr_expect(eq(str, (char *)kallsyms_find(k, 0xffffffff81000000), "good"));
}

Test(kallsyms, a_missing_file_is_an_error)
{
	struct error err = { 0 };

	for (int background = 0; background < 2; background++) {
		cleanup(kallsyms) struct kallsyms *k = kallsyms_new("/nonexistent/kallsyms");
		if (background)
			kallsyms_start(k);
		for (int again = 0; again < 2; again++) {
			err = (struct error){ 0 };
			cr_expect(eq(int, kallsyms_load(k, &err), -1));
			cr_expect(eq(int, err.errnum, ENOENT));
		}
		cr_expect(eq(sz, kallsyms_count(k), 0));
	}
}

Test(kallsyms, in_the_background_the_same_is_read)
{
	cleanup(kallsyms) struct kallsyms *here = kallsyms_new(TESTS_DIR "/data/kallsyms.txt");
	cleanup(kallsyms) struct kallsyms *there = kallsyms_new(TESTS_DIR "/data/kallsyms.txt");

	kallsyms_start(there);
	cr_assert(eq(int, kallsyms_load(here, NULL), 0));
	cr_assert(eq(int, kallsyms_load(there, NULL), 0));
	cr_assert(gt(sz, kallsyms_count(here), 20));
	cr_assert(eq(sz, kallsyms_count(there), kallsyms_count(here)));
	for (size_t i = 0; i < kallsyms_count(here); i++) {
		struct kallsym a = kallsyms_at(here, i), b = kallsyms_at(there, i);
		cr_expect(eq(u64, a.address, b.address));
		cr_expect(eq(str, (char *)a.name, (char *)b.name));
		cr_expect(i == 0 || kallsyms_at(here, i - 1).address <= a.address);
	}
}

Test(kallsyms, nobody_has_to_wait_for_what_is_not_wanted_any_more)
{
	for (int i = 0; i < 20; i++) {
		struct kallsyms *k = kallsyms_new(KALLSYMS_PATH);
		kallsyms_start(k);
		kallsyms_free(k);
	}
}
