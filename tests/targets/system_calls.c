// SPDX-License-Identifier: MIT
// Spins in the kernel for nine tenths of its time: long system calls and short ones.
#include "truth.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static int at_work;

// As long as it takes, whatever a call costs on this machine.
static NOINLINE void long_calls(int fd)
{
	static char buffer[1 << 20];

	for (uint64_t end = truth_cpu() + 40 * MS; truth_cpu() < end;) {
		if (read(fd, buffer, sizeof(buffer)) < 0)
			return;
	}
}

static NOINLINE void short_calls(void)
{
	for (uint64_t end = truth_cpu() + 40 * MS; truth_cpu() < end;) {
		for (int i = 0; i < 1000; i++)
			syscall(SYS_getppid);
	}
}

static NOINLINE uint64_t work(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_work);
	return x;
}

int main(void)
{
	uint64_t n = truth_steps(20);
	int fd = open("/dev/zero", O_RDONLY);

	if (fd < 0)
		return 1;
	for (int round = truth_rounds(); round > 0; round--) {
		TRUTH("total", "long_calls", 0, long_calls(fd));
		TRUTH("total", "short_calls", 0, short_calls());
		TRUTH("self", "work", at_work, work(n));
	}
	truth_fact("most self", "long_calls", 2);
	truth_fact("least kernel", "-", 30);
	truth_print();
	return 0;
}
