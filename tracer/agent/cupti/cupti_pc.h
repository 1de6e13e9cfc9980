/* SPDX-License-Identifier: MIT */
/*
 * Samples of the instructions that kernels are at, and of what their threads wait for there, by
 * CUPTI's PC Sampling API in its continuous mode: kernels are not made to run one after the other.
 *
 *	context created ──► enabled, reasons asked for, configured
 *	now and then    ──► what there is becomes RECORD_GPU_PCs
 *	module loaded, context about to go, end ──► the same, with what CUPTI held back
 *
 * The GPU's driver lets only some do that: who may not learns so once, and all else goes on.
 * A context is worked on by one thread at a time; others pass by, and wait only for one that is
 * about to go.
 */
#pragma once

#include "tracer/agent/cupti/cupti_library.h"

#include <stdbool.h>

struct agent;

/* F must stay. Tells why in a note if this CUPTI cannot. */
void cupti_pc_start(struct agent *a, const struct cupti_functions *f);

/* In a forked child: nothing is sampled. */
void cupti_pc_fork(void);

/* CUPTI has been finalized: it knows nothing of our contexts. */
void cupti_pc_forget(void);

/* Whether callbacks about contexts and modules are wanted. */
bool cupti_pc_is_on(void);

/* Events, in CUPTI's callback. */
void cupti_pc_context_created(void *context);
void cupti_pc_context_ends(void *context);
void cupti_pc_module(void *context, const struct cupti_module *module);

/* Takes what there is; with LAST, ends sampling and takes all. */
void cupti_pc_fetch(bool last);
