/* SPDX-License-Identifier: MIT */
/*
 * The fake's PC sampling: each launch of a kernel adds the samples that FAKE_PC says, while its
 * context is sampled.
 *
 *	FAKE_PC='_Z4axpyPf+0x40:long_scoreboard=3,selected=1;_Z4axpyPf+0x50:wait=2'
 *
 * Strict: all but the CRC needs a context that was enabled, data a configuration with a buffer;
 * a context that is destroyed must not be sampled any more; each size must be the one of the
 * release that is played. Serialized mode breaks a rule. Any thread.
 */
#pragma once

#include "tracer/agent/cupti/cupti_pc_abi.h"

#include <stdint.h>

/* A kernel NAME is launched in CONTEXT. */
void fake_pc_launch(void *context, const char *name);

/* NAME is of the module with this cubin; what was sampled so far goes to its client. */
void fake_pc_module(void *context, const void *cubin, size_t bytes);
void fake_pc_function(const char *name, const void *cubin, size_t bytes);

/* CONTEXT goes. */
void fake_pc_context_ends(void *context);

/* cuptiFinalize(). */
void fake_pc_forget(void);

int cuptiPCSamplingEnable(struct cupti_pc_context *which);
int cuptiPCSamplingDisable(struct cupti_pc_context *which);
int cuptiPCSamplingSetConfigurationAttribute(struct cupti_pc_settings *wanted);
int cuptiPCSamplingGetData(struct cupti_pc_get *get);
int cuptiPCSamplingGetNumStallReasons(struct cupti_pc_stall_count *ask);
int cuptiPCSamplingGetStallReasons(struct cupti_pc_stall_names *get);
int cuptiGetCubinCrc(struct cupti_cubin_crc *crc);
