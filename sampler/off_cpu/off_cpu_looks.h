/* SPDX-License-Identifier: MIT */
/*
 * Which blocked threads are looked at through /proc, and when: those whose waits no sample
 * explains, the longest waiting first, for at most 1/200 of a core. The passes themselves are
 * off_cpu_probe().
 *
 * For the files of sampler/off_cpu/off_cpu_parts.h.
 */
#pragma once

#include "sampler/off_cpu/off_cpu_parts.h"

/* THREAD has left its CPU, and does not want it: it is looked at if that tells more. */
void off_cpu_queue(struct off_cpu *o, struct thread *thread);
