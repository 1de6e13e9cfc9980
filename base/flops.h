/* SPDX-License-Identifier: MIT */
/*
 * How many floating-point operations a call of BLAS, LAPACK or FFTW is for, by
 * its name and shape (as tracer/agent/blas/blas_table.h and fftw.c tell them).
 *
 * BLAS: the counts that benchmarks of it use, without the scaling by alpha and
 * beta. LAPACK: E. Anderson, J. Dongarra, S. Ostrouchov, Installation Guide for
 * LAPACK (LAPACK Working Note 41), appendix C; drivers are the sum of what they
 * call. A complex multiplication is 6, a complex addition 2. FFTs: 5 N log2 N
 * for N complex points and half of it for real ones, as benchFFT counts,
 * whatever the algorithm really does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * OP is a name with or without what tells its forms apart: "dgemm", "cblas_dgemm",
 * "scipy_dgemm_64_", "LAPACKE_dgesv_work", "fftw_execute r2c many". False if there is no agreed
 * count, or the shape is not that of the routine; *FLOPS stays as it is then.
 */
bool flops_of(const char *op, const uint64_t *shape, unsigned count, uint64_t *flops);
