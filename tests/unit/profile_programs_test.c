// SPDX-License-Identifier: MIT
// Programs have the names under which they were started, where these are links beside them.
#include "base/cleanup.h"
#include "base/module.h"
#include "merge/profile/profile.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PID 200

static struct fixture f;
static char directory[] = "/tmp/profile_programs.XXXXXX";

static void path_of(const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", directory, name);
}

// A file that is a program, and a link to it.
static void begin(void)
{
	char program[PATH_MAX], link[PATH_MAX];

	fixture_init(&f, NULL);
	cr_assert(mkdtemp(directory) != NULL);
	path_of("redis-check-rdb", program);
	path_of("redis-server", link);
	cleanup_close int fd = open(program, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
	cr_assert(fd >= 0 && symlink("redis-check-rdb", link) == 0);
	path_of("redis", link);
	cr_assert(symlink("redis-check-rdb", link) == 0);
}

static void end(void)
{
	static const char *const names[] = { "redis-check-rdb", "redis-server", "redis" };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		path_of(names[i], path);
		unlink(path);
	}
	rmdir(directory);
	fixture_fini(&f);
}

TestSuite(profile_programs, .init = begin, .fini = end);

// The name of the program that a process called COMMAND has begun.
static const char *name_after(const char *command)
{
	char path[PATH_MAX];
	struct module wanted = { .kind = MODULE_ELF, .path = path, .pid = PID, .fd = -1 };

	path_of("redis-check-rdb", path);
	const struct module *module = modules_add(f.modules, &wanted, NULL);
	cr_assert(module != NULL);
	add_process(&f, 2, PID, command);
	cr_assert(profile_name_programs(f.profile));
	return strrchr(module->path, '/') + 1;
}

// The first process of the profile, which maps nothing here, has a program of its own.
static void map_the_first(void)
{
	struct module app = { .kind = MODULE_ELF, .path = "/usr/bin/app", .pid = 100, .fd = -1 };

	cr_assert(modules_add(f.modules, &app, NULL) != NULL);
}

Test(profile_programs, a_link_gives_its_name_to_the_program)
{
	map_the_first();
	cr_expect_str_eq(name_after("redis-server"), "redis-server");
}

Test(profile_programs, a_name_that_is_a_part_of_the_file_s_says_no_more)
{
	map_the_first();
	cr_expect_str_eq(name_after("redis"), "redis-check-rdb");
}

// As a thread that has called prctl(PR_SET_NAME).
Test(profile_programs, a_name_that_no_link_has_is_nothing_but_a_name)
{
	map_the_first();
	cr_expect_str_eq(name_after("worker"), "redis-check-rdb");
}

Test(profile_programs, a_program_that_another_process_may_have_begun_keeps_its_own)
{
	cr_expect_str_eq(name_after("redis-server"), "redis-check-rdb");
}
