// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "symbolize/kernel_symbols.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

static struct kernel_symbols *read_text(const char *text, struct error *err)
{
	char path[] = "/tmp/kallsyms-XXXXXX";
	cleanup_close int fd = mkstemp(path);

	cr_assert(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	struct kernel_symbols *k = kernel_symbols_new(path, err);
	unlink(path);
	return k;
}

Test(kernel_symbols, an_address_belongs_to_the_function_that_starts_before_it)
{
	static const char text[] = "ffffffff81000000 T _text\n"
				   "ffffffff81000000 T startup_64\n"
				   "ffffffff81000100 t helper\n"
				   "ffffffff81000080 D some_data\n"
				   "ffffffffc0000000 t ext4_readdir\t[ext4]\n"
				   "ffffffff81000200 W weak_one\n";
	struct error err = { 0 };
	cleanup(kernel_symbols) struct kernel_symbols *k = read_text(text, &err);

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
		const char *name = kernel_symbols_find(k, rows[i].address);
		cr_assert(name != NULL, "%#lx", rows[i].address);
		cr_expect(eq(str, (char *)name, (char *)rows[i].name), "%#lx", rows[i].address);
	}
	cr_expect(eq(ptr, (void *)kernel_symbols_find(k, 0x1000), NULL));
	cr_expect(not(kernel_symbols_are_hidden(k)));
}

Test(kernel_symbols, a_kernel_that_hides_its_addresses_is_seen_to)
{
	cleanup(kernel_symbols) struct kernel_symbols *k =
		read_text("0000000000000000 T _text\n0000000000000000 t helper\n", NULL);

	cr_assert(k != NULL);
	cr_expect(kernel_symbols_are_hidden(k));
	cr_expect(eq(ptr, (void *)kernel_symbols_find(k, 0xffffffff81000000), NULL));
}

Test(kernel_symbols, lines_that_are_no_symbols_are_passed_over)
{
	cleanup(kernel_symbols) struct kernel_symbols *k =
		read_text("\nrubbish\nffffffff81000000\nffffffff81000000 T\nffffffff81000000 T \n"
	                  "123456789012345678901234567890 T big\nffffffff81000000 T good",
	                  NULL);

	cr_assert(k != NULL);
	cr_expect(eq(str, (char *)kernel_symbols_find(k, 0xffffffff81000000), "good"));
}

Test(kernel_symbols, a_missing_file_is_an_error)
{
	struct error err = { 0 };

	cr_expect(eq(ptr, (void *)kernel_symbols_new("/nonexistent/kallsyms", &err), NULL));
	cr_expect(ne(str, err.text, ""));
}
