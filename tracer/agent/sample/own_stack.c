// SPDX-License-Identifier: MIT
#include "tracer/agent/sample/own_stack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

// The registers that the kernel saves take up to 12 KB, a walk through Python's frames 12 more.
#define GUARD_BYTES ((size_t)4 << 10)
#define STACK_BYTES ((size_t)60 << 10)
#define LEAST       ((size_t)2 << 10) // the kernel takes no smaller one
#define ENOUGH      ((size_t)8 << 10)

// Static TLS: the handler must not be the first to touch lazily allocated memory.
static __thread char *mine __attribute__((tls_model("initial-exec"))); // behind its guard

static __thread stack_t small __attribute__((tls_model("initial-exec"))); // what ours stands for

// Those of threads that have ended: to map one, and to unmap it, takes a short thread 10 us.
#define IDLE_MAX 16
static char *idle[IDLE_MAX]; // atomic; behind their guards

static stack_t own(void)
{
	return (stack_t){ .ss_sp = mine, .ss_size = STACK_BYTES };
}

static char *take_idle(void)
{
	char *stack = NULL;

	for (int i = 0; i < IDLE_MAX && !stack; i++)
		if (__atomic_load_n(&idle[i], __ATOMIC_RELAXED))
			stack = __atomic_exchange_n(&idle[i], NULL, __ATOMIC_ACQUIRE);
	return stack;
}

static bool give_idle(char *stack)
{
	for (int i = 0; i < IDLE_MAX; i++) {
		char *none = NULL;
		if (!__atomic_load_n(&idle[i], __ATOMIC_RELAXED) &&
		    __atomic_compare_exchange_n(&idle[i], &none, stack, false, __ATOMIC_RELEASE,
		                                __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

// Not by libc, where we look on.
static bool map(void)
{
	mine = take_idle();
	if (mine)
		return true;
	long at = syscall(SYS_mmap, NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, (off_t)0);

	if (at == -1)
		return false;
	syscall(SYS_mprotect, at, GUARD_BYTES, PROT_NONE);
	mine = (char *)at + GUARD_BYTES; // NOLINT(performance-no-int-to-ptr)
	return true;
}

static void unmap(void)
{
	if (!give_idle(mine))
		syscall(SYS_munmap, mine - GUARD_BYTES, GUARD_BYTES + STACK_BYTES);
	mine = NULL;
}

static bool is_mine(const stack_t *stack)
{
	return mine && stack->ss_sp == mine;
}

void own_stack_take(void)
{
	stack_t now;

	if (mine || syscall(SYS_sigaltstack, NULL, &now) < 0 || !(now.ss_flags & SS_DISABLE) ||
	    !map())
		return;
	now = own();
	if (syscall(SYS_sigaltstack, &now, NULL) < 0)
		unmap();
}

void own_stack_take_later(void *context)
{
	ucontext_t *uc = context;

	// The kernel sets, when a handler returns, what stands there.
	if (!mine && uc->uc_stack.ss_flags & SS_DISABLE && map())
		uc->uc_stack = own();
}

void own_stack_release(void)
{
	const stack_t none = { .ss_flags = SS_DISABLE };
	stack_t now;

	if (!mine || syscall(SYS_sigaltstack, NULL, &now) < 0)
		return;
	if (is_mine(&now) && syscall(SYS_sigaltstack, &none, NULL) < 0)
		return;
	unmap();
}

// A tick would be the target's end there: with AVX-512 the kernel alone puts 3.5 KB on it.
static bool is_small(const stack_t *stack)
{
	return !stack->ss_flags && stack->ss_size >= LEAST && stack->ss_size < ENOUGH;
}

int own_stack_alternate(own_stack_function *real, const stack_t *stack, stack_t *old)
{
	stack_t ours = own(), given = stack ? *stack : ours;
	bool none = given.ss_flags & SS_DISABLE, hidden = mine && (none || is_small(&given));
	int result = real(stack && hidden ? &ours : stack, old);

	if (result != 0)
		return result;
	if (old && is_mine(old) && small.ss_size)
		*old = (stack_t){ small.ss_sp, old->ss_flags, small.ss_size };
	else if (old && is_mine(old))
		*old = (stack_t){ .ss_flags = SS_DISABLE };
	if (stack)
		small = hidden && !none ? given : (stack_t){ 0 };
	return 0;
}
