// SPDX-License-Identifier: MIT
#include "cli/state.h"

#include "base/error.h"
#include "tests/support/expect.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char home[] = "/tmp/state-test-XXXXXX";

static void make_home(void)
{
	strcpy(home, "/tmp/state-test-XXXXXX");
	cr_assert(ne(ptr, mkdtemp(home), NULL));
	setenv("HOME", home, 1);
	unsetenv("XDG_STATE_HOME");
}

static void remove_home(void)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -rf '%s'", home);
	cr_assert(eq(int, system(command), 0));
}

TestSuite(state, .init = make_home, .fini = remove_home);

Test(state, it_is_below_home_or_where_xdg_says)
{
	char path[PATH_MAX], wanted[PATH_MAX];

	cr_assert(eq(int, state_path(path, sizeof(path), NULL), 0));
	snprintf(wanted, sizeof(wanted), "%s/.local/state/bottleneck/last.bneck", home);
	cr_expect(eq(str, path, wanted));
	setenv("XDG_STATE_HOME", "/elsewhere", 1);
	cr_assert(eq(int, state_path(path, sizeof(path), NULL), 0));
	cr_expect(eq(str, path, "/elsewhere/bottleneck/last.bneck"));
	setenv("XDG_STATE_HOME", "relative", 1);
	cr_assert(eq(int, state_path(path, sizeof(path), NULL), 0));
	cr_expect(eq(str, path, wanted));
}

Test(state, without_a_home_it_says_so)
{
	char path[PATH_MAX];
	struct error err;

	unsetenv("HOME");
	cr_expect(eq(int, state_path(path, sizeof(path), &err), -1));
	cr_expect(eq(str, err.text, "XDG_STATE_HOME and HOME are not set"));
}

Test(state, a_path_that_does_not_fit_is_an_error)
{
	char path[16];

	cr_expect(eq(int, state_path(path, sizeof(path), NULL), -1));
}

Test(state, the_directory_is_made_for_the_user_alone)
{
	char path[PATH_MAX];
	struct stat st;

	cr_assert(eq(int, state_prepare(path, sizeof(path), NULL), 0));
	*strrchr(path, '/') = '\0';
	cr_assert(eq(int, stat(path, &st), 0));
	cr_expect(eq(uint, st.st_mode & 0777, 0700));
	*strrchr(path, '/') = '\0';
	cr_assert(eq(int, state_prepare((char[PATH_MAX]){ 0 }, PATH_MAX, NULL), 0));
}

Test(state, a_file_in_the_way_is_named)
{
	char path[PATH_MAX], file[PATH_MAX];
	struct error err;

	snprintf(file, sizeof(file), "%s/.local", home);
	fclose(fopen(file, "w"));
	cr_assert(eq(int, state_prepare(path, sizeof(path), &err), -1));
	cr_expect(ne(ptr, strstr(err.text, "/.local/state"), NULL), "%s", err.text);
}

Test(state, an_output_is_a_file_in_a_directory_that_can_be_written)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/out.bneck", home);
	cr_expect(eq(int, state_check_output(path, NULL), 0));
	cr_expect(eq(int, state_check_output(home, NULL), -1)); // a directory
	snprintf(path, sizeof(path), "%s/missing/out.bneck", home);
	cr_expect(eq(int, state_check_output(path, NULL), -1));
	snprintf(path, sizeof(path), "%s/new/", home);
	cr_expect(eq(int, state_check_output(path, NULL), -1));
	if (geteuid() != 0)
		cr_expect(eq(int, state_check_output("/proc/out.bneck", NULL), -1));
}

Test(state, the_list_of_the_kernel_lies_beside_the_last_run)
{
	char path[PATH_MAX], wanted[PATH_MAX];
	struct stat st;

	cr_assert(eq(int, state_kallsyms(path, sizeof(path), NULL), 0));
	snprintf(wanted, sizeof(wanted), "%s/.local/state/bottleneck/kallsyms", home);
	cr_expect(eq(str, path, wanted));
	*strrchr(wanted, '/') = '\0';
	cr_assert(eq(int, stat(wanted, &st), 0));
	cr_expect(eq(int, st.st_mode & 0777, 0700));
}
