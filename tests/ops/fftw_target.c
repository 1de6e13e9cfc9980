// SPDX-License-Identifier: MIT
/* Transforms whose sizes are known. Prints a hash of all results. */
#include <complex.h>
#include <fftw3.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// Fortran's.
extern void dfftw_execute_(const fftw_plan *plan);

static fftw_complex *in, *out;
static uint64_t hash = 5381;

static void run(fftw_plan plan, size_t bytes)
{
	fftw_execute(plan);
	for (size_t i = 0; i < bytes; i++)
		hash = hash * 33 + ((const unsigned char *)out)[i];
	fftw_destroy_plan(plan);
}

static void plain(void)
{
	fftw_plan plan = fftw_plan_dft_1d(1024, in, out, FFTW_FORWARD, FFTW_ESTIMATE);

	fftw_execute(plan);
	fftw_execute_dft(plan, in, out);
	dfftw_execute_(&plan);
	run(plan, 1024 * sizeof(fftw_complex));
	run(fftw_plan_dft_2d(32, 64, in, out, FFTW_BACKWARD, FFTW_ESTIMATE), 2048 * 16);
	run(fftw_plan_dft_r2c_3d(8, 16, 10, (double *)in, out, FFTW_ESTIMATE), 8 * 16 * 6 * 16);
	run(fftw_plan_r2r_2d(16, 12, (double *)in, (double *)out, FFTW_REDFT10, FFTW_REDFT10,
	                     FFTW_ESTIMATE),
	    16 * 12 * 8);
}

static void many(void)
{
	int size = 256;
	fftw_iodim dimension = { 128, 1, 1 }, batches[] = { { 4, 128, 128 }, { 3, 512, 512 } };

	run(fftw_plan_many_dft(1, &size, 10, in, NULL, 1, 256, out, NULL, 1, 256, FFTW_FORWARD,
	                       FFTW_ESTIMATE),
	    2560 * 16);
	run(fftw_plan_guru_dft(1, &dimension, 2, batches, in, out, FFTW_FORWARD, FFTW_ESTIMATE),
	    1536 * 16);
}

static void other_precisions(void)
{
	fftwf_complex *small = fftwf_alloc_complex(512);
	fftwl_complex *large = fftwl_alloc_complex(64);

	memset(small, 0, 512 * sizeof(*small));
	memset(large, 0, 64 * sizeof(*large));
	fftwf_plan single = fftwf_plan_dft_c2r_1d(512, small, (float *)small, FFTW_ESTIMATE);
	fftwl_plan extended = fftwl_plan_dft_1d(64, large, large, 1, FFTW_ESTIMATE);
	fftwf_execute(single);
	fftwl_execute(extended);
	fftwf_destroy_plan(single);
	fftwl_destroy_plan(extended);
	fftwf_free(small);
	fftwl_free(large);
}

// The second plan may lie where the first one was.
static void forgotten(void)
{
	fftw_plan_dft_1d(8, in, out, FFTW_FORWARD, FFTW_ESTIMATE);
	fftw_cleanup();
	run(fftw_plan_dft_1d(16, in, out, FFTW_FORWARD, FFTW_ESTIMATE), 16 * 16);
}

int main(void)
{
	in = fftw_alloc_complex(1 << 14);
	out = fftw_alloc_complex(1 << 14);
	for (int i = 0; i < 1 << 15; i++)
		((double *)in)[i] = (i * 7919 % 1000) / 999.0;
	fftw_init_threads();
	fftw_plan_with_nthreads(2);
	plain();
	many();
	other_precisions();
	forgotten();
	printf("%llx\n", (unsigned long long)hash);
	return 0;
}
