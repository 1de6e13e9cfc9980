/* SPDX-License-Identifier: MIT */
/*
 * Programs that know what a profiler must say of them.
 *
 * A target does calibrated work in known functions, measures with its own
 * CPU clock what each really took, and prints the truth on stdout, a line each:
 *
 *	truth self NAME PERCENT [FILE:LINE]    innermost in user space in this share of the CPU time
 *	truth total NAME PERCENT               anywhere on the stack, recursion counted once
 *	truth line FILE:LINE PERCENT           self time of one source line
 *	truth thread NAME PERCENT              CPU time of the threads of this name
 *	truth path A;B;C PERCENT               stacks that hold A calls B calls C, no frame between
 *	truth off CAUSE MILLISECONDS           waiting for CAUSE (base/metric.h), all threads
 *	truth kernel - PERCENT                 CPU time in the kernel, if its stacks are to be had
 *	truth processes - COUNT                processes that ran (an exec makes no new one)
 *
 * "least" or "most" after "truth" makes a bound of it. Percent are of the CPU
 * time of all processes of the target. FILE:LINE is where most of the self time
 * is. Work comes in blocks of many milliseconds, so that regular samples hit
 * each in proportion, and the clock's own cost does not matter.
 *
 * The table is shared memory, which threads and forked children add to, and a
 * program that is exec'd finds it again (TRUTH_FD). TRUTH_MS is about how long
 * to run, in milliseconds of CPU time.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
// Neither inlined, cloned nor merged with a function that looks the same.
#define NOINLINE __attribute__((noipa))
#endif
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* N dependent steps that no compiler can shorten, all on one line, which AT (an int) is set to. */
#define SPIN(x, n, at)                                                                             \
	do {                                                                                       \
		for (uint64_t spin_ = (n); spin_; spin_--) {                                       \
			(x) = (x)*UINT64_C(6364136223846793005) + 1442695040888963407;             \
			__asm__ volatile("" : "+r"(x));                                            \
		}                                                                                  \
		(at) = __LINE__;                                                                   \
	} while (0)

/* Keeps a call from becoming a jump. */
#define NOT_LAST() __asm__ volatile("")

/* How many steps of SPIN take MS of CPU time, about. */
uint64_t truth_steps(double ms);

/* How often a round of 100 ms fits into TRUTH_MS. */
int truth_rounds(void);

uint64_t truth_cpu(void);  /* this thread's CPU time, ns */
uint64_t truth_wall(void); /* ns */

/* Adds NS to the row (WHAT, NAME). FILE may be NULL. WHAT is "self", "total", "off" … */
void truth_add(const char *what, const char *name, const char *file, int line, uint64_t ns);

/* Adds NS to the row of a line. */
void truth_add_line(const char *file, int line, uint64_t ns);

/* A row whose value is known, such as ("most total", "rec", 100). */
void truth_fact(const char *what, const char *name, double value);

/* Adds CALL's CPU time to the row. */
#define TRUTH(what, name, line, call)                                                              \
	do {                                                                                       \
		uint64_t truth_start_ = truth_cpu();                                               \
		call;                                                                              \
		truth_add(what, name, __FILE__, line, truth_cpu() - truth_start_);                 \
	} while (0)

/* Adds to "off CAUSE" how long CALL kept its thread off the CPU. */
#define TRUTH_OFF(cause, call)                                                                     \
	do {                                                                                       \
		uint64_t truth_wall_ = truth_wall(), truth_cpu_ = truth_cpu();                     \
		call;                                                                              \
		truth_wall_ = truth_wall() - truth_wall_;                                          \
		truth_cpu_ = truth_cpu() - truth_cpu_;                                             \
		truth_add("off", cause, 0, 0,                                                      \
		          truth_wall_ > truth_cpu_ ? truth_wall_ - truth_cpu_ : 0);                \
	} while (0)

/* Every process but the first: before it ends. Adds its CPU time to the total. */
void truth_leave(void);

/* The first process, at its very end: prints the table. */
void truth_print(void);

#ifdef __cplusplus
}
#endif
