// SPDX-License-Identifier: MIT
// no_perf [--enosys] PROGRAM [ARG…]: runs PROGRAM where perf_event_open is refused, as in a
// container whose seccomp profile forbids it (EPERM) or on a kernel without it (ENOSYS).
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refuse_perf(uint32_t errnum)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | errnum),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	// Without this an unprivileged user may not install a filter.
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	int first = 1;
	uint32_t errnum = EPERM;

	if (argc > 1 && strcmp(argv[1], "--enosys") == 0) {
		errnum = ENOSYS;
		first = 2;
	}
	if (first >= argc) {
		fprintf(stderr, "usage: no_perf [--enosys] PROGRAM [ARG...]\n");
		return 125;
	}
	if (refuse_perf(errnum) < 0) {
		perror("no_perf: seccomp");
		return 125;
	}
	execvp(argv[first], argv + first);
	perror(argv[first]);
	return errno == ENOENT ? 127 : 126;
}
