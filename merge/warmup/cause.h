/* SPDX-License-Identifier: MIT */
/*
 * The kinds of work that programs do once: when they start, and while they warm up.
 */
#pragma once

#include <stdbool.h>

enum cause {
	CAUSE_NONE,     /* none of these: the program's own work */
	CAUSE_RUNTIME,  /* an interpreter or a virtual machine sets itself up */
	CAUSE_LINKING,  /* exec and the dynamic linker */
	CAUSE_IMPORTS,  /* Python's modules */
	CAUSE_COMPILER, /* torch.compile, Triton, Numba, NVRTC */
	CAUSE_JIT,      /* compilers of Java's and JavaScript's machines */
	CAUSE_GPU,      /* CUDA's contexts, modules and libraries are set up */
	CAUSE_FAULTS,   /* memory is touched for the first time */
	CAUSE_FILES,    /* waiting for files */
	CAUSE_COUNT
};

/* "imports", "page faults" …; "" for CAUSE_NONE. */
const char *cause_name(enum cause cause);

/* Whether it is part of the start of any program of its kind. */
static inline bool cause_is_startup(enum cause cause)
{
	return cause == CAUSE_RUNTIME || cause == CAUSE_LINKING || cause == CAUSE_IMPORTS;
}
