// SPDX-License-Identifier: MIT
#include "sampler/proc/proc_io.h"
#include "tests/support/expect.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

Test(proc_io, what_the_kernel_says_is_read)
{
	static const char text[] = "rchar: 4292\nwchar: 7\nsyscr: 13\nsyscw: 2\nread_bytes: 8192\n"
				   "write_bytes: 0\ncancelled_write_bytes: 0\n";
	struct proc_io io;

	cr_assert(proc_io_parse(text, &io));
	cr_expect(eq(u64, io.read_bytes, 4292));
	cr_expect(eq(u64, io.read_calls, 13));
	cr_expect(eq(u64, io.write_bytes, 7));
	cr_expect(eq(u64, io.write_calls, 2));
}

Test(proc_io, texts_of_another_form_are_refused)
{
	static const char *const texts[] = {
		"",
		"rchar: 1",
		"rchar: 1\nwchar: 1\nsyscr: 1\n",
		"rchar: 1\nwchar: 1\nsyscr: x\nsyscw: 1\n",
		"rchar: 1\nwchar: -1\nsyscr: 1\nsyscw: 1\n",
		" rchar: 1\nwchar: 1\nsyscr: 1\nsyscw: 1\n",
	};
	struct proc_io io;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_expect(not(proc_io_parse(texts[i], &io)), "text %zu", i);
}

static void write_bytes(int count)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	while (count--)
		if (write(null, "x", 1) != 1)
			_exit(1);
}

static void wait_for(pid_t pid)
{
	siginfo_t info;

	cr_assert(eq(int, waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0));
	cr_assert(eq(int, info.si_status, 0));
}

Test(proc_io, a_child_that_has_ended_tells_of_its_children_too)
{
	struct proc_io io;
	pid_t child = fork();

	if (child == 0) {
		pid_t grandchild = fork();
		if (grandchild == 0) {
			write_bytes(300);
			_exit(0);
		}
		write_bytes(20);
		_exit(waitpid(grandchild, NULL, 0) != grandchild);
	}
	wait_for(child);
	cr_assert(proc_io_read((uint32_t)child, &io));
	cr_expect(eq(u64, io.write_calls, 320));
	cr_expect(eq(u64, io.write_bytes, 320));
	waitpid(child, NULL, 0);
	cr_expect(not(proc_io_read((uint32_t)child, &io)), "it is gone");
}
