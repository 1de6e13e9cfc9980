// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "sampler/tracker/mapper.h"
#include "tests/support/expect.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static struct tasks *tasks;
static struct modules *modules;
static struct process *process;

static void set_up(void)
{
	tasks = tasks_new();
	modules = modules_new();
	process = tasks_thread(tasks, (uint32_t)getpid(), (uint32_t)getpid(), 1)->process;
}

static void tear_down(void)
{
	tasks_free(tasks);
	modules_free(modules);
}

TestSuite(mapper, .init = set_up, .fini = tear_down);

static const struct module *map_path(const char *path, uint32_t protection)
{
	struct event_map map = {
		.start = 0x10000,
		.length = 0x1000,
		.device_major = 8,
		.device_minor = 3,
		.inode = 77,
		.protection = protection,
		.path = path,
	};

	address_space_clear(process->space);
	cr_assert(mapper_add(modules, process, &map));
	const struct mapping *found = address_space_find(process->space, 0x10800);
	return found ? modules_get(modules, found->module) : NULL;
}

Test(mapper, each_path_has_its_kind_of_module)
{
	static const struct {
		const char *path;
		enum module_kind kind;
	} rows[] = {
		{ "/usr/lib/libc.so.6", MODULE_ELF },
		{ "/tmp/x (deleted)", MODULE_ELF },
		{ "[vdso]", MODULE_VDSO },
		{ "//anon", MODULE_JIT },
		{ "[anon:v8]", MODULE_JIT },
		{ "/memfd:jit (deleted)", MODULE_JIT },
		{ "/dev/zero (deleted)", MODULE_JIT },
		{ "[heap]", MODULE_JIT },
		{ "[stack]", MODULE_JIT },
		{ "[vsyscall]", MODULE_JIT },
		{ "", MODULE_JIT },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct module *module = map_path(rows[i].path, PROT_READ | PROT_EXEC);
		cr_assert(module != NULL, "%s", rows[i].path);
		cr_expect(eq(int, (int)module->kind, (int)rows[i].kind), "%s", rows[i].path);
	}
}

Test(mapper, a_file_is_known_by_device_and_inode_and_loses_its_mark_of_deletion)
{
	const struct module *module = map_path("/tmp/x.so (deleted)", PROT_EXEC);

	cr_assert(module != NULL);
	cr_expect(eq(str, (char *)module->path, "/tmp/x.so"));
	cr_expect(eq(u64, (uint64_t)module->device, (uint64_t)makedev(8, 3)));
	cr_expect(eq(u64, (uint64_t)module->inode, 77));
	cr_expect(eq(int, module->fd, -1));
}

Test(mapper, made_memory_belongs_to_its_process)
{
	const struct module *module = map_path("//anon", PROT_EXEC);
	char name[32];

	snprintf(name, sizeof(name), "[jit %d]", getpid());
	cr_expect(eq(str, (char *)module->path, name));
	cr_expect(eq(int, module->pid, getpid()));
}

Test(mapper, what_leads_to_the_maps_of_a_compiler_is_noted_while_it_lives)
{
	const struct module *module = map_path("//anon", PROT_EXEC);
	uint64_t now = clock_ns(CLOCK_REALTIME);

	cr_expect(module->user_known);
	cr_expect(eq(uint, module->user, geteuid()));
	cr_expect(eq(int, module->inner_pid, getpid()));
	cr_expect(eq(int, module->fd, -1), "it has our /tmp");
	cr_expect(le(u64, module->born_ns, now));
	cr_expect(gt(u64, module->born_ns + 3600 * NS_PER_SEC, now));
}

Test(mapper, data_and_empty_ranges_are_not_mapped)
{
	struct event_map empty = { .start = 0x1000, .protection = PROT_EXEC, .path = "/x" };
	struct event_map around = {
		.start = UINT64_MAX - 10, .length = 100, .protection = PROT_EXEC, .path = "/x"
	};

	cr_expect(eq(ptr, (void *)map_path("/lib/x.so", PROT_READ), NULL));
	cr_expect(mapper_add(modules, process, &empty));
	cr_expect(mapper_add(modules, process, &around));
	cr_expect(eq(sz, address_space_count(process->space), 0));
}

Test(mapper, a_line_of_maps_is_read)
{
	char line[] =
		"7f00-7fff r-xp 00002000 fe:01 1234                       /a b/c.so (deleted)\n";
	char anonymous[] = "55d1-55d3 rwxp 00000000 00:00 0 \n";
	struct event_map map;

	cr_assert(mapper_parse(line, &map));
	cr_expect(eq(u64, map.start, 0x7f00));
	cr_expect(eq(u64, map.length, 0xff));
	cr_expect(eq(u64, map.file_offset, 0x2000));
	cr_expect(eq(u32, map.device_major, 0xfe));
	cr_expect(eq(u64, map.inode, 1234));
	cr_expect(eq(u32, map.protection, PROT_EXEC));
	cr_expect(eq(str, (char *)map.path, "/a b/c.so (deleted)"));
	cr_assert(mapper_parse(anonymous, &map));
	cr_expect(eq(str, (char *)map.path, ""));
}

Test(mapper, what_is_no_line_of_maps_is_refused)
{
	static const char *const lines[] = { "",
		                             "\n",
		                             "7f00",
		                             "7fff-7f00 r-xp 0 0:0 0 x",
		                             "zz-yy r-xp 0 0:0 0",
		                             "7f00-7fff",
		                             "7f00-7fff r-xp 0" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		cleanup_free char *line = strdup(lines[i]);
		struct event_map map;
		cr_expect(not(mapper_parse(line, &map)), "%s", lines[i]);
	}
}

Test(mapper, code_that_no_event_told_of_is_found_in_proc)
{
	uint64_t here = (uint64_t)(uintptr_t)&mapper_reread;

	cr_expect(eq(ptr, address_space_find(process->space, here), NULL));
	cr_expect(mapper_reread(modules, process, clock_now_ns()));
	const struct mapping *mapping = address_space_find(process->space, here);
	cr_assert(mapping != NULL);
	cr_expect(eq(int, (int)modules_get(modules, mapping->module)->kind, MODULE_ELF));
}

Test(mapper, proc_is_not_read_again_at_once_and_later_ever_more_seldom)
{
	uint64_t now = clock_now_ns();

	cr_expect(mapper_reread(modules, process, now));
	uint64_t first = process->maps_again_ns - now;
	cr_expect(not(mapper_reread(modules, process, now + first / 2)));
	cr_expect(eq(u64, process->maps_again_ns, now + first), "it did not look");
	cr_expect(not(mapper_reread(modules, process, now + first)), "nothing is new");
	cr_expect(eq(u64, process->maps_again_ns, now + 3 * first));
	mapper_reset(process);
	address_space_clear(process->space);
	cr_expect(mapper_reread(modules, process, now));
}

Test(mapper, a_known_mapping_keeps_its_bias)
{
	uint64_t here = (uint64_t)(uintptr_t)&mapper_reread;

	mapper_reread(modules, process, 1);
	address_space_find(process->space, here)->has_bias = true;
	address_space_find(process->space, here)->bias = 4711;
	mapper_reset(process);
	mapper_reread(modules, process, 1);
	cr_expect(address_space_find(process->space, here)->has_bias);
}
