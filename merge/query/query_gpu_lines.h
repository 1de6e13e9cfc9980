/* SPDX-License-Identifier: MIT */
/*
 * Questions about lines inside kernels: where a GPU's threads were, and what they waited for.
 *
 * The answer is of the whole run, whatever window is asked for. It borrows its texts from the
 * profile, which must outlive it.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/profile/profile.h"

#include <stddef.h>
#include <stdint.h>

struct demangler;
struct error;

struct gpu_line {
	const char *kernel;    /* readable; NULL if unknown */
	const char *file;      /* NULL: no line is known, the row is of all such of the kernel */
	uint32_t line;         /* 0: not known */
	const char *inlined;   /* readable: the function that the line is of; NULL: the kernel */
	const char *call_file; /* where the kernel's own code leads there; NULL: not known */
	uint32_t call_line;
	uint64_t samples;
	const char *reason; /* CUPTI's word for what most of them waited for */
	uint64_t reason_samples;
	double margin; /* half width of the 95 % Wilson interval of the share of all samples */
};

struct gpu_line_rows {
	struct gpu_line *rows; /* most samples first */
	size_t count;
	struct demangler *names; /* owns them */
	uint64_t samples;        /* of all rows */
	uint64_t unnamed;        /* of them without lines */
	uint64_t dropped;        /* by the GPU */
	uint64_t other;          /* of kernels that are not the program's own */
	uint64_t lost;           /* found no memory */
};

/* NULL on error. */
struct gpu_line_rows *query_gpu_lines(const struct profile *p, struct error *err);
void gpu_line_rows_free(struct gpu_line_rows *rows);

CLEANUP(gpu_line_rows, struct gpu_line_rows *, gpu_line_rows_free)
