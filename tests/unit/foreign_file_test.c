// SPDX-License-Identifier: MIT
#include "base/foreign_file.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "tests/support/expect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static char directory[] = "/tmp/foreign-file-test-XXXXXX";

static const char *in(const char *name)
{
	static char path[4][128];
	static int next;

	next = (next + 1) % 4;
	snprintf(path[next], sizeof(path[next]), "%s/%s", directory, name);
	return path[next];
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	cr_assert(file != NULL);
	fputs(text, file);
	fclose(file);
}

static void begin(void)
{
	cr_assert(mkdtemp(directory) != NULL);
	write_file(in("plain"), "0123456789");
}

static void end(void)
{
	static const char *const names[] = { "plain", "link", "hard", "fifo", "socket", "loop" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(in(names[i]));
	rmdir(directory);
}

TestSuite(foreign_file, .init = begin, .fini = end);

// Empty if PATH is opened.
static const char *refusal(const char *path, const struct foreign_rules *rules)
{
	static struct error err;
	cleanup_close int fd = foreign_open(path, rules, NULL, &err);

	if (fd >= 0)
		return "";
	cr_expect(strstr(err.text, path) != NULL, "\"%s\" names the file", err.text);
	return err.text + strlen(path) + 2;
}

Test(foreign_file, a_regular_file_is_opened_and_examined)
{
	struct stat st;
	char text[16] = "";
	cleanup_close int fd = foreign_open(in("plain"), NULL, &st, NULL);

	cr_assert(ge(int, fd, 0));
	cr_expect(eq(long, st.st_size, 10));
	cr_expect(eq(long, read(fd, text, sizeof(text)), 10));
	cr_expect(eq(str, text, "0123456789"));
	cr_expect(ne(int, fcntl(fd, F_GETFD) & FD_CLOEXEC, 0));
}

Test(foreign_file, nothing_but_regular_files_is_opened)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	cleanup_close int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	cr_assert(eq(int, mkfifo(in("fifo"), 0600), 0));
	snprintf(name.sun_path, sizeof(name.sun_path), "%s", in("socket"));
	cr_assert(eq(int, bind(listener, (struct sockaddr *)&name, sizeof(name)), 0));
	const char *const paths[] = { in("fifo"), in("socket"), "/dev/zero", "/dev/ptmx" };
	for (size_t i = 0; i < 4; i++)
		cr_expect(eq(str, (char *)refusal(paths[i], NULL), " is not a regular file"), "%s",
		          paths[i]);
	cr_expect(eq(str, (char *)refusal("/tmp", NULL), " is not a regular file"));
}

Test(foreign_file, what_is_missing_has_its_errno)
{
	struct error err;

	cr_expect(eq(int, foreign_open(in("none"), NULL, NULL, &err), -1));
	cr_expect(eq(int, err.errnum, ENOENT));
	cr_assert(eq(int, symlink("loop", in("loop")), 0));
	cr_expect(eq(int, foreign_open(in("loop"), NULL, NULL, &err), -1));
	cr_expect(eq(int, err.errnum, ELOOP));
}

Test(foreign_file, links_are_followed_unless_they_may_be_traps)
{
	const struct foreign_rules strict = { .no_links = true };

	cr_assert(eq(int, symlink("plain", in("link")), 0));
	cr_expect(eq(str, (char *)refusal(in("link"), NULL), ""));
	cr_expect(eq(str, (char *)refusal(in("link"), &strict), " is a symbolic link"));
	cr_expect(eq(str, (char *)refusal(in("plain"), &strict), ""));
	cr_assert(eq(int, link(in("plain"), in("hard")), 0));
	cr_expect(eq(str, (char *)refusal(in("hard"), &strict), " is a hard link to another file"));
	cr_expect(eq(str, (char *)refusal(in("hard"), NULL), ""));
}

Test(foreign_file, the_owner_is_the_user_or_root)
{
	struct foreign_rules rules = { .owned = true, .user = geteuid() };
	char words[64];

	cr_expect(eq(str, (char *)refusal(in("plain"), &rules), ""));
	rules.user = geteuid() + 1;
	cr_expect(eq(str, (char *)refusal("/etc/passwd", &rules), ""));
	if (geteuid() == 0)
		cr_assert(eq(int, chown(in("plain"), 65534, 65534), 0));
	snprintf(words, sizeof(words), " belongs to uid %u, not to uid %u",
	         geteuid() ? geteuid() : 65534, rules.user);
	cr_expect(eq(str, (char *)refusal(in("plain"), &rules), words));
}

Test(foreign_file, a_file_that_is_too_large_is_refused_before_it_is_read)
{
	const struct foreign_rules rules = { .max_bytes = 1 << 20 };

	cr_assert(eq(int, truncate(in("plain"), 1 << 20), 0));
	cr_expect(eq(str, (char *)refusal(in("plain"), &rules), ""));
	cr_assert(eq(int, truncate(in("plain"), (off_t)2 << 30), 0));
	cr_expect(eq(str, (char *)refusal(in("plain"), &rules),
	             " has 2048 MB, and at most 1 MB are read"));
}

Test(foreign_file, a_file_may_be_too_old)
{
	struct stat st;
	cr_assert(eq(int, stat(in("plain"), &st), 0));
	uint64_t written = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	struct foreign_rules rules = { .not_before_ns = written };

	cr_expect(eq(str, (char *)refusal(in("plain"), &rules), ""));
	rules.not_before_ns++;
	cr_expect(ne(ptr, strstr(refusal(in("plain"), &rules), "is older than its process"), NULL));
}

Test(foreign_file, what_is_open_already_is_held_to_the_same_rules)
{
	struct foreign_rules rules = { .no_links = true };
	struct error err = { 0 };
	struct stat st;
	cleanup_close int fd = open(in("plain"), O_RDONLY | O_CLOEXEC);
	cleanup_close int again = foreign_open_again(fd, "shown", &rules, &st, &err);

	cr_assert(ge(int, again, 0), "%s", err.text);
	cr_expect(ne(int, again, fd));
	cr_expect(eq(i64, (int64_t)st.st_size, 10));
	cr_assert(eq(int, link(in("plain"), in("hard")), 0));
	cr_expect(eq(int, foreign_open_again(fd, "shown", &rules, &st, &err), -1));
	cr_expect(eq(str, err.text, "\"shown\" is a hard link to another file"));
}
