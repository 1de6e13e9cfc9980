// SPDX-License-Identifier: MIT
// The ways into a seccomp filter that libraries and programs take: prctl(), and syscall(), as libc
// has no seccomp(). Behind a filter that would not let us be there is no agent. And the way to a
// tracer that is the process's parent, ptrace(), and signals that are sent by syscall().
#include "tracer/agent/sample/seccomp.h"
#include "tracer/agent/wrap/late.h"
#include "tracer/agent/wrap/wrap.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define COUNT_MAX 4096 // the kernel's

// Headers before Linux 5.1 do not have it.
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

static void *next_ptrace;

// What the kernel will find at FROM; false if it will find nothing.
bool wrap_peek(void *to, const void *from, size_t size)
{
	struct iovec local = { to, size }, remote = { (void *)(uintptr_t)from, size };
	ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	return got == (ssize_t)size;
}

static bool lets_us_be(const struct sock_fprog *filter)
{
	size_t bytes = filter->len * sizeof(*filter->filter);
	void *copy = mmap(NULL, COUNT_MAX * sizeof(*filter->filter), PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		return false;
	bool fine = filter->len <= COUNT_MAX && wrap_peek(copy, filter->filter, bytes) &&
	            seccomp_lets_us_be(copy, filter->len);
	munmap(copy, COUNT_MAX * sizeof(*filter->filter));
	return fine;
}

static void before_filter(const void *argument)
{
	struct sock_fprog filter;

	// Libraries ask with a null pointer what there is: that will be an error.
	if (argument && wrap_peek(&filter, argument, sizeof(filter)) && !lets_us_be(&filter))
		wrap_stop("a process forbids itself, by a seccomp filter, system calls that "
		          "recording requires: it was not recorded from then on");
}

// Strict mode allows but read(), write(), exit() and the return from a handler.
static void before_strict(void)
{
	wrap_stop("a process forbids itself nearly all system calls, by seccomp: it was not "
	          "recorded from then on");
}

static void before_seccomp(long operation, long flags, const void *argument)
{
	int error = errno;

	if (operation == SECCOMP_SET_MODE_FILTER)
		before_filter(argument);
	else if (operation == SECCOMP_SET_MODE_STRICT && !flags && !argument)
		before_strict();
	errno = error;
}

EXPORT int prctl(int option, ...)
{
	unsigned long arguments[4];
	int error = errno;
	va_list list;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		arguments[i] = va_arg(list, unsigned long);
	va_end(list);
	if (option == PR_SET_SECCOMP && arguments[0] == SECCOMP_MODE_FILTER)
		before_filter((const void *)arguments[1]);
	else if (option == PR_SET_SECCOMP && arguments[0] == SECCOMP_MODE_STRICT)
		before_strict();
	errno = error;
	return (int)syscall(SYS_prctl, option, arguments[0], arguments[1], arguments[2],
	                    arguments[3]);
}

void wrap_start_seccomp(void)
{
	wrap_next(&next_ptrace, "ptrace");
}

EXPORT long ptrace(enum __ptrace_request request, ...)
{
	typedef long function(enum __ptrace_request, ...);
	void *arguments[3];
	va_list list;

	va_start(list, request);
	for (int i = 0; i < 3; i++)
		arguments[i] = va_arg(list, void *);
	va_end(list);
	if (request == PTRACE_TRACEME)
		wrap_before_traceme();
	return ((function *)wrap_next(&next_ptrace, "ptrace"))(request, arguments[0], arguments[1],
	                                                       arguments[2]);
}

__attribute__((used)) static void *next_syscall;
extern const char wrap_late_syscall[] __attribute__((visibility("hidden")));

__attribute__((used)) void *wrap_find_syscall(void)
{
	int error = errno;
	void *found = wrap_next(&next_syscall, "syscall");

	errno = error;
	return found;
}

void wrap_add_seccomp(void)
{
	if (!wrap_find_syscall())
		return;
	late_add("prctl", late_find("prctl"));
	late_add_as("syscall", wrap_late_syscall, late_find("syscall"));
}

static wrap_signal_sent *signal_heard;

void wrap_hear_signals(wrap_signal_sent *heard)
{
	__atomic_store_n(&signal_heard, heard, __ATOMIC_RELEASE);
}

__attribute__((used, visibility("hidden"))) void wrap_before_call(long call, long first,
                                                                  long second, long third)
{
	wrap_signal_sent *heard;

	switch (call) {
	case SYS_seccomp:
		before_seccomp(first, second, (const void *)third);
		break;
	case SYS_ptrace:
		if (first == PTRACE_TRACEME)
			wrap_before_traceme();
		break;
	case SYS_kill:
	case SYS_tgkill:
	case SYS_pidfd_send_signal:
		heard = __atomic_load_n(&signal_heard, __ATOMIC_ACQUIRE);
		if (heard)
			heard(call, first, second, third);
		break;
	default:
		break;
	}
}

// A tail jump: whoever returns twice, as after a clone(), finds his own stack.
__asm__(".pushsection .text.wrap_syscall, \"ax\", @progbits\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        ".cfi_startproc\n"
        "	endbr64\n"
        "	cmpq $13, %rdi\n" // SYS_rt_sigaction
        "	je wrap_raw_action\n"
        "	cmpq $317, %rdi\n" // SYS_seccomp
        "	je 1f\n"
        "	cmpq $101, %rdi\n" // SYS_ptrace
        "	je 1f\n"
        "	cmpq $234, %rdi\n" // SYS_tgkill
        "	je 1f\n"
        "	cmpq $424, %rdi\n" // SYS_pidfd_send_signal
        "	je 1f\n"
        "	cmpq $62, %rdi\n" // SYS_kill
        "	je 1f\n"
        "	movq next_syscall(%rip), %rax\n"
        "	testq %rax, %rax\n"
        "	je 1f\n"
        "	jmp *%rax\n"
        "1:	pushq %rdi\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	pushq %rsi\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	pushq %rdx\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	pushq %rcx\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	pushq %r8\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	pushq %r9\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	pushq %rax\n" // the stack is aligned at calls
        "	.cfi_adjust_cfa_offset 8\n"
        "	call wrap_before_call\n"
        "	call wrap_find_syscall\n"
        "	addq $8, %rsp\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	popq %r9\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	popq %r8\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	popq %rcx\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	popq %rdx\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	popq %rsi\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	popq %rdi\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	jmp *%rax\n"
        // In front of a program that has loaded us late: for filters alone.
        ".globl wrap_late_syscall\n"
        ".hidden wrap_late_syscall\n"
        "wrap_late_syscall:\n"
        "	endbr64\n"
        "	cmpq $317, %rdi\n"
        "	je 1b\n"
        "	jmp *next_syscall(%rip)\n"
        ".cfi_endproc\n"
        ".size syscall, .-syscall\n"
        ".popsection\n");

_Static_assert(SYS_seccomp == 317 && SYS_rt_sigaction == 13 && SYS_ptrace == 101 &&
                       SYS_tgkill == 234 && SYS_pidfd_send_signal == 424 && SYS_kill == 62,
               "as above");
