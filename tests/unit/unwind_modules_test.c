// SPDX-License-Identifier: MIT
#include "sampler/unwind/unwind_modules.h"
#include "tests/support/expect.h"

#include <dlfcn.h>
#include <stdio.h>

#define LIBRARIES 3

/* This process's own libraries: modules 1 to LIBRARIES, mapped one to one at invented addresses. */
static struct mapping mappings[LIBRARIES];

static struct modules *register_libraries(void)
{
	static const char *const paths[LIBRARIES] = { "/lib/x86_64-linux-gnu/libc.so.6",
		                                      "/lib/x86_64-linux-gnu/libm.so.6",
		                                      "/lib64/ld-linux-x86-64.so.2" };
	struct modules *modules = modules_new();

	cr_assert(modules != NULL);
	for (uint32_t i = 0; i < LIBRARIES; i++) {
		struct module module = { .kind = MODULE_ELF, .path = paths[i], .fd = -1 };
		cr_assert(eq(u32, modules_add(modules, &module, NULL)->id, i + 1));
		mappings[i] = (struct mapping){ .start = 0x10000000ul * (i + 1),
			                        .end = 0x10000000ul * (i + 1) + 0x800000,
			                        .module = i + 1 };
	}
	return modules;
}

static struct unwind_modules_stats stats_of(const struct unwind_modules *um)
{
	struct unwind_modules_stats stats;

	unwind_modules_stats(um, &stats);
	return stats;
}

Test(unwind_modules, a_file_is_opened_once_and_kept)
{
	cleanup(modules) struct modules *modules = register_libraries();
	cleanup(unwind_modules) struct unwind_modules *um =
		unwind_modules_new(modules, UNWIND_BUDGET_BYTES, UNWIND_OPEN_MAX);

	const struct unwind_module *libc = unwind_modules_get(um, &mappings[0], 0);
	cr_assert(libc && libc->table);
	const struct cfi_table *table = libc->table;
	for (int i = 0; i < 2 * LIBRARIES; i++)
		cr_assert(unwind_modules_get(um, &mappings[i % LIBRARIES], 0)->table != NULL);
	cr_expect(eq(ptr, unwind_modules_get(um, &mappings[0], 0)->table, (void *)table));
	cr_expect(eq(u64, stats_of(um).tables, LIBRARIES));
	cr_expect(gt(u64, stats_of(um).table_bytes, table->bytes));
	cr_expect(mappings[0].has_bias);
}

/* An address in the library's code. */
static uint64_t some_code(const struct unwind_module *module)
{
	uint64_t start, end;

	image_text(module->image, &start, &end);
	return start + (end - start) / 2;
}

Test(unwind_modules, beyond_the_budget_the_least_recently_used_go_and_come_back)
{
	cleanup(modules) struct modules *modules = register_libraries();
	cleanup(unwind_modules) struct unwind_modules *um = unwind_modules_new(modules, 1, 100);

	for (int i = 0; i < 10; i++) {
		struct unwind_module *m = unwind_modules_get(um, &mappings[i % LIBRARIES], 0);
		cr_assert(m && m->table, "the one that is asked for is there");
		cr_expect(ne(i32, unwind_modules_rule(um, m, some_code(m))->cfa, CFI_NO_RULE));
		cr_expect(eq(u64, stats_of(um).tables, 1));
		cr_expect(eq(u64, stats_of(um).table_bytes, m->table->bytes + sizeof(*m)));
	}
}

Test(unwind_modules, what_is_made_of_a_table_later_counts_towards_the_budget)
{
	cleanup(modules) struct modules *modules = register_libraries();
	cleanup(unwind_modules) struct unwind_modules *um =
		unwind_modules_new(modules, UNWIND_BUDGET_BYTES, UNWIND_OPEN_MAX);

	unwind_modules_get(um, &mappings[0], 0);
	unwind_modules_get(um, &mappings[1], 0);
	cleanup(unwind_modules) struct unwind_modules *tight =
		unwind_modules_new(modules, stats_of(um).table_bytes, UNWIND_OPEN_MAX);
	const struct unwind_module *libm = unwind_modules_get(tight, &mappings[1], 0);
	struct unwind_module *libc = unwind_modules_get(tight, &mappings[0], 0);
	cr_assert(libm->table && libc->table);
	unwind_modules_rule(tight, libc, some_code(libc));
	cr_expect(eq(ptr, libm->table, NULL), "used least recently");
	cr_expect(libc->table != NULL);
}

Test(unwind_modules, no_more_files_are_open_than_allowed)
{
	cleanup(modules) struct modules *modules = register_libraries();
	cleanup(unwind_modules) struct unwind_modules *um =
		unwind_modules_new(modules, UNWIND_BUDGET_BYTES, 2);

	const struct unwind_module *libc = unwind_modules_get(um, &mappings[0], 0);
	const struct unwind_module *libm = unwind_modules_get(um, &mappings[1], 0);
	unwind_modules_get(um, &mappings[0], 0);
	unwind_modules_get(um, &mappings[2], 0);
	cr_expect(libc->table != NULL);
	cr_expect(eq(ptr, libm->table, NULL), "used least recently");
}

Test(unwind_modules, a_file_that_cannot_be_had_is_asked_for_again_through_another_process)
{
	cleanup(modules) struct modules *modules = modules_new();
	cleanup(unwind_modules) struct unwind_modules *um =
		unwind_modules_new(modules, UNWIND_BUDGET_BYTES, 2);
	char path[] = "/tmp/unwind_modules_test.XXXXXX", command[100];
	struct module module = { .kind = MODULE_ELF, .path = path, .fd = -1 };
	struct mapping where = {
		.start = 0x5000, .end = 0x9000, .file_offset = 0x2000, .module = 1
	};

	close(mkstemp(path));
	modules_add(modules, &module, NULL);
	cr_expect(eq(ptr, unwind_modules_get(um, &where, 1)->table, NULL));
	cr_expect(eq(u64, where.bias, 0x3000), "a guess: mapped one to one");
	snprintf(command, sizeof(command), "cat /lib/x86_64-linux-gnu/libm.so.6 >%s", path);
	cr_assert(eq(int, system(command), 0));
	cr_expect(eq(ptr, unwind_modules_get(um, &where, 1)->table, NULL));
	cr_expect(ne(ptr, unwind_modules_get(um, &where, getpid())->table, NULL));
	unlink(path);
}

Test(unwind_modules, the_start_of_a_function_is_found_from_inside)
{
	cleanup(modules) struct modules *modules = register_libraries();
	cleanup(unwind_modules) struct unwind_modules *um =
		unwind_modules_new(modules, UNWIND_BUDGET_BYTES, 2);
	struct unwind_module *libc = unwind_modules_get(um, &mappings[0], 0);
	Dl_info info;

	// By name in that library: a sanitizer has a qsort of its own.
	void *handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	cr_assert(handle && dladdr(dlsym(handle, "qsort"), &info) != 0);
	dlclose(handle);
	uint64_t start = (uint64_t)info.dli_saddr - (uint64_t)info.dli_fbase;
	cr_expect(eq(u64, unwind_module_function(libc, start), start));
	cr_expect(eq(u64, unwind_module_function(libc, start + 3), start));
	cr_expect(eq(u64, unwind_module_function(libc, 0), 0));
}
