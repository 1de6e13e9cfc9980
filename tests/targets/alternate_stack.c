// SPDX-License-Identifier: MIT
// A handler on an alternate stack, and a coroutine on a stack from the heap.
#include "truth.h"

#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

#define STACK_BYTES 65536

static int at_handler, at_coroutine;
static uint64_t handler_ns, coroutine_ns, steps;
static ucontext_t main_context, coroutine_context;

static NOINLINE uint64_t on_alternate_stack(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_handler);
	return x;
}

static void handler(int signal)
{
	uint64_t start = truth_cpu();

	(void)signal;
	on_alternate_stack(steps);
	handler_ns += truth_cpu() - start;
}

static NOINLINE uint64_t in_coroutine(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_coroutine);
	return x;
}

static void coroutine(void)
{
	for (;;) {
		uint64_t start = truth_cpu();
		in_coroutine(steps);
		coroutine_ns += truth_cpu() - start;
		swapcontext(&coroutine_context, &main_context);
	}
}

static NOINLINE void interrupt(void)
{
	raise(SIGUSR1);
	NOT_LAST();
}

int main(void)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	stack_t stack = { .ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES };

	steps = truth_steps(50);
	if (sigaltstack(&stack, NULL) < 0 || sigaction(SIGUSR1, &action, NULL) < 0)
		return 1;
	getcontext(&coroutine_context);
	coroutine_context.uc_stack.ss_sp = malloc(STACK_BYTES);
	coroutine_context.uc_stack.ss_size = STACK_BYTES;
	makecontext(&coroutine_context, coroutine, 0);
	for (int round = truth_rounds(); round > 0; round--) {
		interrupt();
		swapcontext(&main_context, &coroutine_context);
	}
	truth_add("self", "on_alternate_stack", __FILE__, at_handler, handler_ns);
	truth_add("path", "handler;on_alternate_stack", 0, 0, handler_ns);
	truth_add("self", "in_coroutine", __FILE__, at_coroutine, coroutine_ns);
	truth_add("path", "coroutine;in_coroutine", 0, 0, coroutine_ns);
	// A sample holds one stack only. The rest is read from memory a little later, or never.
	truth_fact("least total", "interrupt", 35);
	truth_print();
	free(stack.ss_sp);
	free(coroutine_context.uc_stack.ss_sp);
	return 0;
}
