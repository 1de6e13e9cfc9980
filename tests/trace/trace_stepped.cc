// SPDX-License-Identifier: MIT
// trace_stepped: a handler runs after each instruction of an exception's way through a function
// that --trace follows, and calls such functions, one within another, and throws exceptions of its
// own. What is thrown arrives where it does without a tracer. Prints what it found.
#include <csignal>
#include <cstdio>

#define NOINLINE  __attribute__((noinline, noclone))
#define TRAP_FLAG 0x100 // of the processor: a signal after each instruction

static volatile int sink, traps, inner;

static void step(bool on)
{
	unsigned long flags;

	__asm__ volatile("pushfq\n\tpopq %0" : "=r"(flags)::"memory");
	flags = on ? flags | TRAP_FLAG : flags & ~(unsigned long)TRAP_FLAG;
	__asm__ volatile("pushq %0\n\tpopfq" ::"r"(flags) : "memory", "cc");
}

NOINLINE static void f_within(int depth)
{
	sink = sink + 1;
	if (depth)
		f_within(depth - 1);
	__asm__ volatile("");
}

NOINLINE static void f_thrown_in_handler()
{
	sink = sink + 1;
	throw 2;
}

// Not while the unwinder itself is known to hold a lock: each of so many instructions throws.
static void on_trap(int)
{
	traps = traps + 1;
	f_within(3);
	if (traps % 97 == 0) {
		try {
			f_thrown_in_handler();
		} catch (int) {
			inner = inner + 1;
		}
	}
	f_within(1);
}

NOINLINE static void f_thrower(int value)
{
	sink = sink + 1;
	if (value)
		throw value;
}

NOINLINE static int f_catcher(int value)
{
	try {
		f_thrower(value);
	} catch (int caught) {
		step(false);
		return caught;
	}
	return 0;
}

// Throws DEPTH exceptions that are alive at once: libraries have then done what they do at the
// first one, and malloc() keeps blocks of their size. With a single one a handler's throw within
// the instructions that take it crashes the program, traced or not: malloc() counts it down after
// it has taken it off its list.
static void keep_exceptions(int depth)
{
	try {
		f_thrown_in_handler();
	} catch (int) {
		if (depth > 1)
			keep_exceptions(depth - 1);
	}
}

int main(int, char **)
{
	int sum = 0;

	keep_exceptions(4);
	struct sigaction action = {};
	action.sa_handler = on_trap;
	sigaction(SIGTRAP, &action, nullptr);
	for (int i = 0; i < 20; i++) {
		step(true);
		sum += f_catcher(1);
		step(false);
	}
	std::printf("%d caught, handlers %s, theirs %s\n", sum,
	            traps > 1000 ? "ran" : "did not run", inner > 10 ? "too" : "not");
	return 0;
}
