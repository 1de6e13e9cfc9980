// SPDX-License-Identifier: MIT
#include "base/new_file.h"

#include "base/temporary.h"
#include "tests/support/expect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/tmp/new_file.XXXXXX";

static void enter(void)
{
	cr_assert(mkdtemp(directory) != NULL);
	cr_assert(eq(int, chdir(directory), 0));
}

static void leave(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	cr_expect(eq(int, system(command), 0)); // NOLINT
}

TestSuite(new_file, .init = enter, .fini = leave);

static int put(const char *path, const char *text)
{
	struct new_file file;

	if (new_file_open(&file, path, 0600) < 0 || new_file_write(&file, text, strlen(text)) < 0)
		return -1;
	return new_file_commit(&file);
}

static int entries(void)
{
	DIR *list = opendir(".");
	int count = -2; // without itself and its parent

	while (readdir(list))
		count++;
	closedir(list);
	return count;
}

static mode_t mode_of(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 ? status.st_mode : 0;
}

Test(new_file, it_is_there_when_it_is_whole_and_keeps_the_mode)
{
	struct new_file file;

	cr_assert(eq(int, new_file_open(&file, "x", 0600), 0));
	cr_expect(eq(int, access("x", F_OK), -1));
	cr_assert(eq(int, new_file_write(&file, "one", 3), 0));
	cr_assert(eq(int, new_file_commit(&file), 0));
	cr_expect(eq(int, mode_of("x") & 0777, 0600));
	chmod("x", 0640);
	cr_assert(eq(int, put("x", "two"), 0));
	cr_expect(eq(int, mode_of("x") & 0777, 0640));
	cr_expect(eq(int, entries(), 1));
}

Test(new_file, what_is_given_up_leaves_nothing)
{
	struct new_file file;

	put("x", "one");
	cr_assert(eq(int, new_file_open(&file, "x", 0600), 0));
	new_file_write(&file, "two", 3);
	new_file_discard(&file);
	cr_expect(eq(int, entries(), 1));
}

Test(new_file, a_write_that_fails_leaves_nothing)
{
	struct rlimit limit = { 16, 16 };
	struct new_file file;
	static char much[4096];

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	cr_assert(eq(int, new_file_open(&file, "x", 0600), 0));
	cr_expect(eq(int, new_file_write(&file, much, sizeof(much)), -1));
	cr_expect(eq(int, errno, EFBIG));
	cr_expect(eq(int, entries(), 0));
}

Test(new_file, a_link_of_ones_own_is_followed)
{
	mkdir("there", 0700);
	cr_assert(eq(int, symlink("there/real", "link"), 0));
	cr_assert(eq(int, put("link", "text"), 0));
	cr_expect(eq(int, S_ISLNK(mode_of("link")), 1));
	cr_expect(eq(int, S_ISREG(mode_of("there/real")), 1));
	cr_assert(eq(int, symlink("loop", "loop"), 0));
	cr_expect(eq(int, put("loop", "text"), -1));
	cr_expect(eq(int, errno, ELOOP));
}

Test(new_file, a_link_of_somebody_else_is_not)
{
	if (geteuid() != 0)
		cr_skip("needs root to make a link of somebody else's");
	put("real", "one");
	cr_assert(eq(int, symlink("real", "link"), 0));
	cr_assert(eq(int, lchown("link", 65534, 65534), 0));
	cr_expect(eq(int, put("link", "two"), -1));
	cr_expect(eq(int, errno, ELOOP));
	cr_expect(eq(int, entries(), 2));
}

Test(new_file, what_is_no_file_stays)
{
	cr_expect(eq(int, put("/dev/null", "text"), -1));
	cr_expect(eq(int, errno, EINVAL));
	cr_expect(eq(int, put(".", "text"), -1));
	cr_expect(eq(int, errno, EISDIR));
	cr_expect(eq(int, put("no/such", "text"), -1));
	cr_expect(eq(int, errno, ENOENT));
}

Test(new_file, a_signal_leaves_neither_files_nor_directories)
{
	static const int numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
	char kept[] = "kept.XXXXXX";
	int status;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		pid_t child = fork();
		if (child == 0) {
			struct new_file file;
			temporary_catch_signals();
			new_file_open(&file, "x", 0600);
			mkdir("full", 0700);
			close(open("full/a", O_CREAT | O_WRONLY, 0600));
			close(open("full/b", O_CREAT | O_WRONLY, 0600));
			temporary_add("full");
			close(mkstemp(kept));
			temporary_add(kept);
			temporary_forget(kept);
			raise(numbers[i]);
			_exit(0);
		}
		waitpid(child, &status, 0);
		cr_expect(eq(int, WIFSIGNALED(status) ? WTERMSIG(status) : 0, numbers[i]));
		cr_expect(eq(int, entries(), (int)i + 1), "what was forgotten stays");
	}
}

Test(new_file, a_child_does_not_remove_its_parents)
{
	struct new_file file;
	pid_t child;

	new_file_open(&file, "x", 0600);
	child = fork();
	if (child == 0) {
		temporary_remove_all();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	cr_expect(eq(int, entries(), 1));
	cr_expect(eq(int, new_file_commit(&file), 0));
}
