/* SPDX-License-Identifier: MIT */
/*
 * The CUDA provider: what a program's GPUs do, by CUPTI.
 *
 * The driver loads us into programs that use it, by CUDA_INJECTION64_PATH, and calls
 * InitializeInjection(); nothing is loaded into others. Calls are ops (cupti_calls.h), what the GPU
 * does for them are records (cupti_records.h). Whatever is missing or refused is said in one note,
 * and the program goes on as if we were not there.
 */
#pragma once

/* CUPTI has been taken away from us, by cuptiFinalize(): once we come back. */
void cupti_restart(void);

/* The function of ours that stands in front of FOUND, which CUPTI has under NAME; else FOUND. */
void *cupti_wrap_choose(const char *name, void *found) __attribute__((visibility("hidden")));
