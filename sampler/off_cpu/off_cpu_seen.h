/* SPDX-License-Identifier: MIT */
/*
 * What looks show of a thread that is blocked, kept in its state until the records tell to which
 * interval it belongs. Samples of switches come by off_cpu_sample().
 *
 * For the files of sampler/off_cpu/off_cpu_parts.h.
 */
#pragma once

#include "sampler/off_cpu/off_cpu_parts.h"
#include "sampler/wait/probe.h"

struct python_chain;

/* Stack and cause of VIEW; CHAIN is its Python, NULL if it has none. */
void off_cpu_keep_look(struct off_cpu *o, struct thread *thread, enum probe_result result,
                       const struct python_chain *chain, const struct probe_view *view);

/* The same where a sample has told all else of this wait. */
void off_cpu_keep_python(struct off_cpu *o, struct thread *thread, const struct python_chain *chain,
                         const struct probe_view *view);
