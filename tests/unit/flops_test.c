// SPDX-License-Identifier: MIT
#include "base/flops.h"
#include "tests/support/expect.h"

#define NONE UINT64_MAX

static uint64_t flops(const char *op, unsigned count, const uint64_t *shape)
{
	uint64_t result = NONE;
	bool known = flops_of(op, shape, count, &result);

	cr_expect(eq(int, known, result != NONE), "%s", op);
	return result;
}

struct row {
	const char *op;
	unsigned count;
	uint64_t shape[5];
	uint64_t flops;
};

static void check(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		cr_expect(eq(u64, flops(rows[i].op, rows[i].count, rows[i].shape), rows[i].flops),
		          "%s of %u numbers", rows[i].op, rows[i].count);
}

#define CHECK(rows) check(rows, sizeof(rows) / sizeof((rows)[0]))

Test(flops, blas_has_the_counts_of_its_benchmarks)
{
	const struct row rows[] = {
		{ "ddot", 1, { 2 }, 4 },
		{ "zdotc_sub", 1, { 10 }, 80 },
		{ "dscal", 1, { 7 }, 7 },
		{ "csscal", 1, { 7 }, 14 },
		{ "dznrm2", 1, { 5 }, 20 },
		{ "drot", 1, { 3 }, 18 },
		{ "zdrot", 1, { 3 }, 36 },
		{ "dgemv", 2, { 3, 4 }, 24 },
		{ "dgbmv", 4, { 5, 5, 1, 1 }, 26 }, // 13 numbers lie in three diagonals
		{ "dgbmv", 4, { 3, 4, 9, 9 }, 24 }, // bands may be wider than the matrix
		{ "dsbmv", 2, { 5, 1 }, 26 },
		{ "dtrsv", 1, { 4 }, 16 },
		{ "dtbsv", 2, { 4, 3 }, 16 }, // a full triangle
		{ "dger", 2, { 3, 4 }, 24 },
		{ "dsyr", 1, { 4 }, 20 },
		{ "dgemm", 3, { 256, 128, 300 }, 19660800 },
		{ "zgemm", 3, { 10, 10, 10 }, 8000 },
		{ "dgemm_batch_strided", 4, { 10, 10, 10, 5 }, 10000 },
		{ "dsyrk", 2, { 256, 300 }, 19737600 },
		{ "dsyr2k", 2, { 10, 5 }, 1100 },
		{ "dsymm", 3, { 10, 20, 20 }, 8000 },
		{ "dtrsm", 3, { 60, 50, 50 }, 150000 },
		{ "dtrsm", 3, { 60, 50, 60 }, 180000 },
	};

	CHECK(rows);
}

Test(flops, lapack_has_those_of_working_note_41)
{
	const struct row rows[] = {
		{ "dgetrf", 2, { 1, 1 }, 1 },
		{ "dgetrf", 2, { 100, 100 }, 661750 },
		{ "dgetrs", 2, { 100, 3 }, 59700 },
		{ "dgesv", 2, { 100, 3 }, 721450 },
		{ "dgetri", 1, { 6 }, 262 },
		{ "dpotrf", 1, { 1 }, 1 },
		{ "dpotrf", 1, { 6 }, 91 },
		{ "zpotrf", 1, { 1 }, 6 },
		{ "dposv", 2, { 6, 1 }, 163 },
		{ "dtrtri", 1, { 6 }, 76 },
		{ "dtrtrs", 2, { 6, 2 }, 72 },
		{ "dgeqrf", 2, { 6, 6 }, 388 },
		{ "dgeqrf", 2, { 12, 6 }, 856 },
		{ "dgeqrf", 2, { 6, 12 }, 928 },
		{ "dgelqf", 2, { 6, 12 }, 898 },
		{ "dorgqr", 3, { 6, 6, 6 }, 316 },
		{ "dormqr", 4, { 12, 6, 6, 12 }, 1404 },
		{ "dormqr", 4, { 12, 6, 6, 6 }, 1029 },
	};

	CHECK(rows);
}

Test(flops, the_leading_terms_are_those_of_the_textbooks)
{
	const uint64_t n = 3000, n3 = n * n * n, shape[] = { n, n, n, n };
	const struct {
		const char *op;
		unsigned count;
		uint64_t thirds;
	} rows[] = {
		{ "dgetrf", 2, 2 },  { "dgetri", 1, 4 }, { "dpotrf", 1, 1 }, { "dpotri", 1, 2 },
		{ "dsytrf", 1, 1 },  { "dsytri", 1, 2 }, { "dtrtri", 1, 1 }, { "dgeqrf", 2, 4 },
		{ "dgelqf", 2, 4 },  { "dorgqr", 3, 4 }, { "dorglq", 3, 4 }, { "dormqr", 4, 6 },
		{ "dgehrd", 1, 10 }, { "dsytrd", 1, 4 }, { "dgebrd", 2, 8 }, { "dtrmm", 3, 3 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double ratio = (double)flops(rows[i].op, rows[i].count, shape) /
		               ((double)rows[i].thirds * (double)n3 / 3);
		cr_expect(gt(dbl, ratio, 0.998), "%s", rows[i].op);
		cr_expect(lt(dbl, ratio, 1.002), "%s", rows[i].op);
	}
}

Test(flops, transforms_have_5_n_log_n)
{
	const struct row rows[] = {
		{ "fftw_execute dft", 1, { 1024 }, 51200 },
		{ "fftw_execute_dft", 2, { 32, 32 }, 51200 },
		{ "fftwf_execute r2c", 1, { 1024 }, 25600 },
		{ "fftw_execute_dft_c2r", 1, { 1024 }, 25600 },
		{ "fftw_execute r2r", 1, { 1024 }, 25600 },
		{ "fftw_execute dft many", 2, { 10, 1024 }, 512000 },
		{ "fftw_execute dft", 1, { 1 }, 0 },
		{ "fftw_execute dft", 1, { 0 }, 0 },
		{ "fftw_execute dft many", 1, { 10 }, NONE },
		{ "fftw_plan_dft_1d", 1, { 1024 }, NONE },
	};

	CHECK(rows);
}

Test(flops, all_forms_of_a_name_are_one_routine)
{
	const char *const names[] = { "dgemm",          "dgemm_",          "dgemm_64_",
		                      "scipy_dgemm_",   "scipy_dgemm_64_", "cblas_dgemm",
		                      "cblas_dgemm64_", "cblas_dgemm_64",  "scipy_cblas_dgemm64_" };
	const uint64_t shape[] = { 2, 3, 4 };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect(eq(u64, flops(names[i], 3, shape), 48), "%s", names[i]);
	cr_expect(eq(u64, flops("LAPACKE_dgetrs_work", 2, shape), 18));
	cr_expect(eq(u64, flops("LAPACKE_dgetrs_work64_", 2, shape), 18));
}

Test(flops, what_is_not_known_is_not_made_up)
{
	const struct row rows[] = {
		{ "dgemm", 2, { 3, 4 }, NONE }, // not its shape
		{ "dgesdd", 2, { 60, 40 }, NONE },
		{ "dcopy", 1, { 4 }, NONE },
		{ "idamax", 1, { 4 }, NONE },
		{ "", 1, { 4 }, NONE },
		{ "d", 1, { 4 }, NONE },
		{ "_", 1, { 4 }, NONE },
		{ "qgemm", 3, { 1, 1, 1 }, NONE },
		{ "dgemm", 3, { 1ull << 40, 1ull << 40, 1ull << 40 }, NONE }, // more than fits
		{ "a name that is much longer than any that a routine has", 1, { 4 }, NONE },
	};

	CHECK(rows);
	cr_expect(not(flops_of("dgemm", NULL, 0, NULL)));
}
