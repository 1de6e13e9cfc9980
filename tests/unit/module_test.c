// SPDX-License-Identifier: MIT
#include "base/module.h"
#include "tests/support/expect.h"

static struct module elf(const char *path, ino_t inode)
{
	return (struct module){ .kind = MODULE_ELF, .path = path, .inode = inode, .fd = -1 };
}

Test(module, a_file_is_known_by_path_device_and_inode)
{
	cleanup(modules) struct modules *m = modules_new();
	struct module libc = elf("/lib/libc.so.6", 7), replaced = elf("/lib/libc.so.6", 8);
	bool added;

	struct module *first = modules_add(m, &libc, &added);
	cr_assert(added);
	cr_expect(eq(u32, first->id, 1));
	cr_expect(eq(ptr, modules_add(m, &libc, &added), first));
	cr_expect(not(added));
	cr_expect(ne(ptr, modules_add(m, &replaced, &added), first),
	          "a new file under an old name");
	cr_expect(added);
	cr_expect(eq(u32, modules_count(m), 2));
	cr_expect(eq(ptr, modules_get(m, 1), first));
	cr_expect(eq(ptr, modules_get(m, 0), NULL));
	cr_expect(eq(ptr, modules_get(m, 3), NULL));
}

Test(module, a_rebuilt_file_in_the_same_inode_differs_by_build_id)
{
	cleanup(modules) struct modules *m = modules_new();
	struct module a = elf("/app", 7), b = a, unknown = a;

	a.build_id_size = b.build_id_size = 20;
	b.build_id[0] = 1;
	struct module *first = modules_add(m, &a, NULL);
	cr_expect(ne(ptr, modules_add(m, &b, NULL), first));
	cr_expect(eq(ptr, modules_add(m, &unknown, NULL), first),
	          "no build-id contradicts nothing");
}

Test(module, jit_memory_belongs_to_one_process)
{
	cleanup(modules) struct modules *m = modules_new();
	struct module a = { .kind = MODULE_JIT, .path = "[jit]", .pid = 1, .fd = -1 }, b = a;

	b.pid = 2;
	cr_expect(ne(ptr, modules_add(m, &a, NULL), modules_add(m, &b, NULL)));
	cr_expect(eq(u32, modules_count(m), 2));
}

Test(module, many_modules_stay_where_they_are)
{
	cleanup(modules) struct modules *m = modules_new();
	struct module first = elf("/x", 1);
	struct module *kept = modules_add(m, &first, NULL);

	for (ino_t i = 2; i < 3000; i++) {
		struct module next = elf("/x", i);
		cr_assert(modules_add(m, &next, NULL) != NULL);
	}
	cr_expect(eq(ptr, modules_get(m, 1), kept));
	cr_expect(eq(ptr, modules_add(m, &first, NULL), kept));
}
