/* SPDX-License-Identifier: MIT */
/*
 * What the kernel and the agent take of a program's CPU time because it is profiled and no sample
 * shows: measured on this machine when the program has ended.
 *
 * A forked child has a child of its own do each kind of work bare, then opens the same events on
 * that, reads them, and has it done again. Threads and processes are measured in turns, bare and
 * not, by programs that have the agent: /bin/true, /usr/bin/env, and bottleneck itself, whose
 * main() calls prices_program(). The price of a sample is the CPU time in which a thread that reads
 * the clock all the time does not get to it.
 *
 * A switch is one of two threads on one CPU that wait for each other; one with an idle CPU in
 * between is that of a thread that sleeps. To wake another CPU costs more, but with and without
 * profiling.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct session;

enum price {
	PRICE_SAMPLE,
	PRICE_THREAD, /* that begins and ends */
	PRICE_SWITCH, /* of a thread that leaves its CPU and comes back */
	PRICE_STACK,  /* the same with a sample of its stack and a record of who ended its wait */
	PRICE_SPAWN,  /* a process that executes a program, as of posix_spawn() */
	PRICE_FORK,   /* a process that does not */
	PRICE_EXEC,   /* a program that takes the place of another */
	PRICE_LOCKS,  /* 1,000 times to lock and unlock a mutex that is free, in the agent */
	PRICE_BARE_LOCKS, /* the same in libc: what it takes without the agent */
	PRICE_WAKEUP,     /* as PRICE_STACK, without the sample of the stack */
	PRICE_IDLE,       /* as PRICE_SWITCH, where the CPU idles for a while in between */
	PRICE_BARE_SPAWN, /* what PRICE_SPAWN's takes without profiling */
	PRICE_BARE_EXEC,
	PRICE_TRAP, /* a SIGTRAP by which a thread samples itself, without what its handler does */
	PRICE_COUNT
};

struct prices_request {
	bool kernel; /* samples are taken in the kernel, too */
	bool off_cpu;
	uint32_t frequency_hz;
	uint32_t stack_bytes;
	/* What there has been enough of to be worth it. */
	bool threads, switches, processes, locks, traps;
	const struct session *session; /* NULL: there is no agent */
	const char *agent;             /* its library; NULL: none */
	const char *program; /* which calls prices_program(); NULL: none, shells fork instead */
	const char *kept;    /* a file that keeps prices from run to run; NULL: none does */
	bool kept_only;      /* those will do, and nothing is measured */
};

/* In ns of CPU time; 0: not measured, or less than other work on the machine hides. Those of more
   than what was asked for may be among them. */
struct prices {
	uint64_t ns[PRICE_COUNT];
};

/*
 * Takes some 50 ms to 400 ms, and never more than two seconds; but what a run of the same program
 * bottleneck with the same options has measured since the machine was started holds: for a day, or
 * for ten minutes where other work had the CPUs. Single ones are off, of these by half or more: the
 * next runs measure them again, at most every five seconds, until there are three that were
 * measured alone, or five, and their median holds. All 0 where it cannot be measured. Not in a
 * thread with a real-time priority.
 */
struct prices prices_measure(const struct prices_request *request);

/* How many of each kind a run has had. */
struct starts {
	uint64_t threads, spawns, forks, execs;
};

struct starts_cost {
	uint64_t threads_ns, processes_ns;
};

/*
 * What profiling has taken of a run's CPU_NS for these. With what programs take to start anyway,
 * and few take less than /bin/true, that is no more than all that the run took: where it would be,
 * the machine was slower when prices were measured, and all of them are that much less.
 */
struct starts_cost prices_of_starts(const struct prices *prices, const struct starts *starts,
                                    uint64_t cpu_ns);

/* The CPU time, in ns, of one thread or fork of the calling process: main() prints it for its only
   argument, WHAT, where argv[0] is PRICES_PROGRAM. */
#define PRICES_PROGRAM "bottleneck: prices"
uint64_t prices_program(const char *what);
