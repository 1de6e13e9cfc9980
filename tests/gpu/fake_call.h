/* SPDX-License-Identifier: MIT */
/*
 * A call of the runtime or the driver, as CUPTI tells of it: entered and left, in the runtime and
 * in the driver beneath it, under one correlation id, and as records.
 *
 *	runtime enter, driver enter, (the work), driver exit, runtime exit
 */
#pragma once

#include "tests/gpu/fake_functions.h"

#include <stdbool.h>
#include <stdint.h>

struct fake_call {
	uint32_t runtime, driver; /* enum fake_runtime, fake_driver; 0: none */
	uint32_t correlation;
	uint64_t begin_ns, driver_begin_ns;
	const void *parameters;
	const char *symbol; /* of a launch: the kernel's name */
	uint64_t own[2];    /* the subscriber's, of the runtime's and of the driver's call */
	int refused;        /* not 0: nothing is to be done; what fake_call_end() will return */
};

/* Sets the driver up at the first call. PARAMETERS must live until the end. */
void fake_call_begin(struct fake_call *c, uint32_t runtime, uint32_t driver, const void *parameters,
                     const char *symbol);

/* Returns RESULT, which cudaGetLastError() will know of. */
int fake_call_end(struct fake_call *c, int result);

/* Arguments as CUPTI's parameter structs have them, where each takes eight bytes. */
#define FAKE_PARAMETERS(...) ((const uint64_t[]){ __VA_ARGS__ })
#define FAKE_POINTER(p)      ((uint64_t)(uintptr_t)(p))

/* Defines the struct fake_call CALL, and begins it. */
#define FAKE_CALL(call, function, driver, symbol, ...)                                             \
	struct fake_call call;                                                                     \
	fake_call_begin(&(call), FAKE_##function, FAKE_##driver, FAKE_PARAMETERS(__VA_ARGS__),     \
	                symbol)
#define FAKE_DRIVER_CALL(call, function, symbol, ...)                                              \
	struct fake_call call;                                                                     \
	fake_call_begin(&(call), 0, FAKE_##function, FAKE_PARAMETERS(__VA_ARGS__), symbol)

/* This thread's last error; TAKE: it is forgotten. */
int fake_call_error(bool take);

/* Loads and calls what CUDA_INJECTION64_PATH names, once a process. A CUDA error. */
int fake_driver_init(void);
