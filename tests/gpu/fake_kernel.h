/* SPDX-License-Identifier: MIT */
/* Kernels by the host function that stands for them, and by name. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fake_kernel {
	const void *host; /* NULL: one that the driver API asked for by name */
	const char *name; /* mangled; lives as long as the process */
	uint64_t duration_ns;
	bool is_told; /* its first argument, an unsigned int, is how many us it takes */
};

/* NAME is copied. */
struct fake_kernel *fake_kernel_add(const void *host, const char *name);

/* By the host function, or by the kernel itself (cudaKernel_t, CUfunction). NULL if unknown. */
struct fake_kernel *fake_kernel_find(const void *handle);

uint64_t fake_kernel_ns(const struct fake_kernel *k, void **arguments);
