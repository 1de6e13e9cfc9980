// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/sample/seccomp.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>

#define LOAD(field)       BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what)      BPF_STMT(BPF_RET | BPF_K, what)
#define IF(test, k, t, f) BPF_JUMP(BPF_JMP | (test) | BPF_K, k, t, f)
#define ALLOW             RETURN(SECCOMP_RET_ALLOW)
#define KILL              RETURN(SECCOMP_RET_KILL_PROCESS)
#define COUNT(array)      (sizeof(array) / sizeof((array)[0]))
#define UNKNOWN           0xdeadbeef // no verdict

static const struct seccomp_call getpid_call = { .number = SYS_getpid };

static uint32_t ask(const struct sock_filter *program, size_t count,
                    const struct seccomp_call *call)
{
	uint32_t verdict = 0;

	return seccomp_verdict(program, count, call, &verdict) ? verdict : UNKNOWN;
}

#define expect_verdict(expected, call, ...)                                                        \
	do {                                                                                       \
		const struct sock_filter program[] = { __VA_ARGS__ };                              \
		cr_expect(eq(u32, ask(program, COUNT(program), call), expected), "%s",             \
		          #__VA_ARGS__);                                                           \
	} while (0)

Test(agent_seccomp, a_list_of_calls)
{
	const struct sock_filter list[] = { LOAD(arch),
		                            IF(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0),
		                            KILL,
		                            LOAD(nr),
		                            IF(BPF_JEQ, SYS_read, 2, 0),
		                            IF(BPF_JEQ, SYS_getpid, 1, 0),
		                            KILL,
		                            ALLOW };
	const struct seccomp_call other = { .number = SYS_ptrace };

	cr_expect(eq(u32, ask(list, COUNT(list), &getpid_call), SECCOMP_RET_ALLOW));
	cr_expect(eq(u32, ask(list, COUNT(list), &other), SECCOMP_RET_KILL_PROCESS));
}

Test(agent_seccomp, each_instruction_does_what_the_kernels_does)
{
	const struct seccomp_call *call = &getpid_call;

	expect_verdict(6, call, BPF_STMT(BPF_LD | BPF_IMM, 2), BPF_STMT(BPF_MISC | BPF_TAX, 0),
	               BPF_STMT(BPF_LD | BPF_IMM, 4), BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
	               BPF_STMT(BPF_RET | BPF_A, 0));
	expect_verdict(40, call, BPF_STMT(BPF_LD | BPF_IMM, 5), BPF_STMT(BPF_ST, 3),
	               BPF_STMT(BPF_LDX | BPF_MEM, 3), BPF_STMT(BPF_MISC | BPF_TXA, 0),
	               BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 3), BPF_STMT(BPF_RET | BPF_A, 0));
	expect_verdict(64, call, BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
	               BPF_STMT(BPF_RET | BPF_A, 0));
	expect_verdict(
		1, call, BPF_STMT(BPF_LD | BPF_IMM, 7), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 5),
		BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, 4), BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 9),
		BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 5), BPF_STMT(BPF_RET | BPF_A, 0));
	expect_verdict(0xfffffff0, call, BPF_STMT(BPF_LD | BPF_IMM, 0x18),
	               BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, 0x10),
	               BPF_STMT(BPF_ALU | BPF_OR | BPF_K, 0x100),
	               BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 4), BPF_STMT(BPF_ALU | BPF_NEG, 0),
	               BPF_STMT(BPF_RET | BPF_A, 0));
	expect_verdict(2, call, BPF_STMT(BPF_LD | BPF_IMM, 7), IF(BPF_JGT, 7, 3, 0),
	               IF(BPF_JGE, 7, 0, 2), IF(BPF_JSET, 2, 0, 1), RETURN(2), RETURN(1));
	expect_verdict(9, call, BPF_STMT(BPF_JMP | BPF_JA, 1), RETURN(1), RETURN(9));
}

Test(agent_seccomp, arguments_that_are_known_are_told)
{
	const struct seccomp_call call = { SYS_prctl, 1 << 1, { 0, 0x500000004 } };

	expect_verdict(4, &call, LOAD(args[1]), BPF_STMT(BPF_RET | BPF_A, 0));
	expect_verdict(
		5, &call,
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1]) + 4),
		BPF_STMT(BPF_RET | BPF_A, 0));
	expect_verdict(UNKNOWN, &call, LOAD(args[0]), ALLOW);
	expect_verdict(UNKNOWN, &call, LOAD(instruction_pointer), ALLOW);
}

Test(agent_seccomp, what_is_no_filter_has_no_verdict)
{
	const struct seccomp_call *call = &getpid_call;

	cr_expect(eq(u32, ask(NULL, 0, call), UNKNOWN));
	expect_verdict(UNKNOWN, call, LOAD(nr)); // no end
	expect_verdict(UNKNOWN, call, BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff), ALLOW);
	expect_verdict(UNKNOWN, call, IF(BPF_JEQ, 0, 255, 255), ALLOW);
	expect_verdict(UNKNOWN, call, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2), ALLOW);
	expect_verdict(UNKNOWN, call, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64), ALLOW);
	expect_verdict(UNKNOWN, call, BPF_STMT(BPF_LD | BPF_MEM, 16), ALLOW);
	expect_verdict(UNKNOWN, call, BPF_STMT(BPF_ST, 16), ALLOW);
	expect_verdict(UNKNOWN, call, BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), ALLOW);
	expect_verdict(UNKNOWN, call, BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 32), ALLOW);
	expect_verdict(UNKNOWN, call, BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0), ALLOW);
}

// The action for SYS_gettid, SYS_openat or SYS_clock_gettime; all else is allowed.
static bool with(int number, uint32_t action)
{
	const struct sock_filter program[] = { LOAD(nr), IF(BPF_JEQ, (uint32_t)number, 0, 1),
		                               RETURN(action), ALLOW };

	return seccomp_lets_us_be(program, COUNT(program));
}

Test(agent_seccomp, what_ends_us_or_lies_to_us_is_not_for_us)
{
	static const struct {
		int number;
		uint32_t action;
		bool fine;
	} rows[] = {
		{ SYS_ptrace, SECCOMP_RET_KILL_PROCESS, true },
		{ SYS_gettid, SECCOMP_RET_KILL_PROCESS, false },
		{ SYS_gettid, SECCOMP_RET_KILL_THREAD, false },
		{ SYS_gettid, SECCOMP_RET_TRAP, false },
		{ SYS_gettid, SECCOMP_RET_LOG, true },
		{ SYS_gettid, SECCOMP_RET_ERRNO | 1, false },
		{ SYS_rt_sigreturn, SECCOMP_RET_ERRNO | 1, false },
		{ SYS_openat, SECCOMP_RET_ERRNO | 1, true },
		{ SYS_openat, SECCOMP_RET_ERRNO, false },
		{ SYS_openat, SECCOMP_RET_TRACE, false },
		{ SYS_openat, SECCOMP_RET_USER_NOTIF, false },
		{ SYS_timer_settime, SECCOMP_RET_KILL_PROCESS, false },
		{ SYS_process_vm_readv, SECCOMP_RET_KILL_PROCESS, false },
		{ SYS_prlimit64, SECCOMP_RET_KILL_PROCESS, false },
		{ SYS_perf_event_open, SECCOMP_RET_KILL_PROCESS, false },
		{ SYS_perf_event_open, SECCOMP_RET_ERRNO | 1, true },
		{ SYS_ioctl, SECCOMP_RET_TRAP, false },
		{ SYS_sigaltstack, SECCOMP_RET_KILL_THREAD, false },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		cr_expect(eq(int, with(rows[i].number, rows[i].action), rows[i].fine),
		          "call %d, action %#x", rows[i].number, rows[i].action);
}
