/* SPDX-License-Identifier: MIT */
/*
 * One thread, whose switches, samples and looks are for each test to say, and what off_cpu hands on
 * of it.
 *
 * What is under test is the bookkeeping: the probe, the unwinder, Python's reader and the tasks are
 * played by the fixture, so a test links either this or those.
 */
#pragma once

#include "base/clock.h"
#include "sampler/off_cpu/off_cpu.h"
#include "sampler/wait/probe.h"

#include <stdbool.h>
#include <stdint.h>

#define MS           NS_PER_MS
#define IN_NANOSLEEP UINT64_C(0xffffffff81421d00)
#define IN_FUTEX     UINT64_C(0xffffffff8143d600)
#define IN_POLL      UINT64_C(0xffffffff816dc600)
#define PYTHON       0x10000u /* where a look finds line 0 of Python */
#define STACKS_MAX   64

/* What the next look finds. */
extern struct next_look {
	enum probe_result result;
	enum metric cause;
	uint64_t from_ns, until_ns;
	uint64_t pc, futex;
	uint64_t cost_ns; /* of CPU time, by the fixture's clock */
	unsigned looks;   /* that there were */
} next_look;

/* Python: a look finds LINE, and puts it in place of the native frame. */
extern struct in_python {
	bool there;
	unsigned line; /* 0: the thread runs no Python */
	uint64_t until_ns;
	uint64_t gil; /* a futex */
} in_python;

extern struct process process; /* that it is in */
extern struct thread thread;
extern struct off_cpu *o;

/* Everything anew; off_cpu_begin() is the test's. */
void start(bool switch_samples);

/* off_cpu as OPTIONS want it, in place of the one that start() made. */
void open_with(struct off_cpu_options options);

/* Ends the thread, begun at START_NS. Its times are its life, and all that was handed on. */
void finish(uint64_t start_ns, uint64_t end_ns);

/* The thread goes off its CPU by itself, or is taken off it; and comes in. */
void out(uint64_t time_ns);
void preempt(uint64_t time_ns);
void in(uint64_t time_ns);

/* A sample of a switch at PC, KERNEL (0: none) being its kernel stack. */
void sample(uint64_t time_ns, uint64_t pc, uint64_t kernel);

/* A look that finds this. */
void look(uint64_t time_ns, enum probe_result result, enum metric cause, uint64_t pc);

void begin_op(uint32_t op, uint64_t time_ns);
void end_op(uint64_t begin_ns);

/* A sample on the CPU at PC, as the tracker tells of it and keeps it. */
void tick(uint64_t time_ns, uint64_t pc);

/* All that was handed on: the first STACKS_MAX stacks, and time by metric. */
extern struct stack handed[STACKS_MAX];
extern size_t handed_count;
extern uint64_t handed_ns[METRIC_COUNT];

/* What was handed on with a stack of which PC is the innermost address. */
uint64_t handed_to(uint64_t pc);

uint64_t random_below(uint64_t *state, uint64_t limit);
