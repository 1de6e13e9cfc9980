/* SPDX-License-Identifier: MIT */
/*
 * To which stacks off-CPU time goes, once it is known how much there was.
 *
 *	interval ──┬─ has a stack ───────── handed on, with what is pending that it stands for
 *	           ├─ waits for Python's ── piled up by its native stack until a look tells
 *	           ├─ preempted ─────────── kept for a sample in the same ops (off_cpu/ready.h)
 *	           └─ has none ──────────── pending, under its cause
 *
 * For the files of sampler/off_cpu/off_cpu_parts.h.
 */
#pragma once

#include "sampler/off_cpu/off_cpu_parts.h"

/* An off-CPU interval that has ended. */
struct off_cpu_interval {
	uint64_t start_ns, off_ns;
	enum metric cause;
	bool has_frames; /* those of THREAD's state */
	bool has_python; /* a look has added Python's frames to a sample's */
};

/* Adds it to thread->ns, and hands it on or keeps it. */
void off_cpu_give_interval(struct off_cpu *o, struct thread *thread,
                           const struct off_cpu_interval *interval);

/* Hands on NS of what is pending for FROM as STACK, whose frames and flags are set. */
void off_cpu_give_pending(struct off_cpu *o, struct thread *thread, enum metric from, uint64_t ns,
                          uint64_t now_ns, struct stack stack);

/* A stack has shown where the thread was in the ops of KEY: READY is what it has waited there. */
void off_cpu_give_ready(struct off_cpu *o, struct thread *thread, struct stack ready,
                        const struct frame *frames, size_t count, uint32_t flags);

/* The thread ends: hands on all that is kept. */
void off_cpu_give_rest(struct off_cpu *o, struct thread *thread, uint64_t now_ns);
