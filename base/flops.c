// SPDX-License-Identifier: MIT
#include "base/flops.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define NAME_BYTES 32
#define SHAPE_MAX  8

struct work {
	double multiplications, additions;
};

static struct work work(double multiplications, double additions)
{
	return (struct work){ multiplications, additions };
}

static struct work both(struct work a, struct work b)
{
	return work(a.multiplications + b.multiplications, a.additions + b.additions);
}

/* BLAS 1: the shape is n. */

static struct work axpy(const double *s)
{
	return work(s[0], s[0]);
}

static struct work axpby(const double *s)
{
	return work(2 * s[0], s[0]);
}

static struct work scal(const double *s)
{
	return work(s[0], 0);
}

static struct work asum(const double *s)
{
	return work(0, s[0]);
}

static struct work rot(const double *s)
{
	return work(4 * s[0], 2 * s[0]);
}

/* BLAS 2: m, n; or n; bands follow. */

static struct work gemv(const double *s)
{
	return work(s[0] * s[1], s[0] * s[1]);
}

// What lies outside of the bands are two triangles.
static struct work gbmv(const double *s)
{
	double m = s[0], n = s[1], below = fmax(m - 1 - s[2], 0), above = fmax(n - 1 - s[3], 0);
	double within = m * n - below * (below + 1) / 2 - above * (above + 1) / 2;

	return work(within, within);
}

static struct work symv(const double *s)
{
	return work(s[0] * s[0], s[0] * s[0]);
}

static struct work sbmv(const double *s)
{
	double within = s[0] * (2 * s[1] + 1) - s[1] * (s[1] + 1);

	return work(within, within);
}

static struct work trmv(const double *s)
{
	return work(s[0] * (s[0] + 1) / 2, s[0] * (s[0] - 1) / 2);
}

static struct work tbmv(const double *s)
{
	double within = s[0] * (s[1] + 1) - s[1] * (s[1] + 1) / 2;

	return work(within, within - s[0]);
}

static struct work syr(const double *s)
{
	return work(s[0] * (s[0] + 1) / 2, s[0] * (s[0] + 1) / 2);
}

static struct work syr2(const double *s)
{
	return work(s[0] * (s[0] + 1), s[0] * (s[0] + 1));
}

/* BLAS 3: m, n, k, where k is the order of the symmetric or triangular matrix if there is one. */

static struct work gemm(const double *s)
{
	return work(s[0] * s[1] * s[2], s[0] * s[1] * s[2]);
}

static struct work gemm_batch(const double *s)
{
	return work(s[0] * s[1] * s[2] * s[3], s[0] * s[1] * s[2] * s[3]);
}

static struct work syrk(const double *s)
{
	return work(s[1] * s[0] * (s[0] + 1) / 2, s[1] * s[0] * (s[0] + 1) / 2);
}

static struct work syr2k(const double *s)
{
	return work(s[1] * s[0] * (s[0] + 1), s[1] * s[0] * (s[0] + 1));
}

static struct work trmm(const double *s)
{
	double order = s[2], others = order > 0 ? s[0] * s[1] / order : 0;

	return work(others * order * (order + 1) / 2, others * order * (order - 1) / 2);
}

/* LAPACK: m, n; or n; then the number of right-hand sides. */

static struct work getrf(const double *s)
{
	double m = fmax(s[0], s[1]), n = fmin(s[0], s[1]);

	return work(n * (n * (m - n / 3 - 1) + m) / 2 + 2 * n / 3,
	            n * (n * (m - n / 3) - m) / 2 + n / 6);
}

static struct work getri(const double *s)
{
	double n = s[0];

	return work(n * (5. / 6 + n * (2 * n / 3 + 0.5)), n * (5. / 6 + n * (2 * n / 3 - 1.5)));
}

static struct work getrs(const double *s)
{
	return work(s[1] * s[0] * s[0], s[1] * s[0] * (s[0] - 1));
}

static struct work gesv(const double *s)
{
	return both(getrf((double[]){ s[0], s[0] }), getrs(s));
}

static struct work potrf(const double *s)
{
	double n = s[0];

	return work(n * ((n / 6 + 0.5) * n + 1. / 3), n * (n * n / 6 - 1. / 6));
}

static struct work potri(const double *s)
{
	double n = s[0];

	return work(n * (2. / 3 + n * (n / 3 + 1)), n * (1. / 6 + n * (n / 3 - 0.5)));
}

static struct work potrs(const double *s)
{
	return work(s[1] * s[0] * (s[0] + 1), s[1] * s[0] * (s[0] - 1));
}

static struct work posv(const double *s)
{
	return both(potrf(s), potrs(s));
}

static struct work sytrf(const double *s)
{
	double n = s[0];

	return work(n * ((n / 6 + 0.5) * n + 10. / 3), n * (n * n / 6 - 1. / 6));
}

static struct work sytri(const double *s)
{
	double n = s[0];

	return work(n * (n * n / 3 + 2. / 3), n * (n * n / 3 - 1. / 3));
}

static struct work sysv(const double *s)
{
	return both(sytrf(s), potrs(s));
}

static struct work trtri(const double *s)
{
	double n = s[0];

	return work(n * (n * (n / 6 + 0.5) + 1. / 3), n * (n * (n / 6 - 0.5) + 1. / 3));
}

static struct work trtrs(const double *s)
{
	return work(s[1] * s[0] * (s[0] + 1) / 2, s[1] * s[0] * (s[0] - 1) / 2);
}

static struct work geqrf(const double *s)
{
	double m = s[0], n = s[1];

	if (m > n)
		return work(n * (n * (0.5 - n / 3 + m) + m + 23. / 6),
		            n * (n * (0.5 - n / 3 + m) + 5. / 6));
	return work(m * (m * (-0.5 - m / 3 + n) + 2 * n + 23. / 6),
	            m * (m * (-0.5 - m / 3 + n) + n + 5. / 6));
}

static struct work gelqf(const double *s)
{
	double m = s[0], n = s[1];

	if (m > n)
		return work(n * (n * (0.5 - n / 3 + m) + m + 29. / 6),
		            n * (n * (-0.5 - n / 3 + m) + m + 5. / 6));
	return work(m * (m * (-0.5 - m / 3 + n) + 2 * n + 29. / 6),
	            m * (m * (0.5 - m / 3 + n) + 5. / 6));
}

static struct work orgqr(const double *s)
{
	double m = s[0], n = s[1], k = s[2];

	return work(k * (2 * m * n + 2 * n - 5. / 3 + k * (2 * k / 3 - (m + n) - 1)),
	            k * (2 * m * n + n - m + 1. / 3 + k * (2 * k / 3 - (m + n))));
}

static struct work orglq(const double *s)
{
	double m = s[0], n = s[1], k = s[2];

	return work(k * (2 * m * n + m + n - 2. / 3 + k * (2 * k / 3 - (m + n) - 1)),
	            k * (2 * m * n + m - n + 1. / 3 + k * (2 * k / 3 - (m + n))));
}

// The shape's last number is the order of Q: m if it stands on the left.
static struct work ormqr(const double *s)
{
	double m = s[0], n = s[1], k = s[2];

	if (s[3] == m)
		return work(2 * m * n * k - n * k * k + 2 * n * k,
		            2 * m * n * k - n * k * k + n * k);
	return work(2 * m * n * k - m * k * k + m * k + n * k - k * k / 2 + k / 2,
	            2 * m * n * k - m * k * k + m * k);
}

static struct work gehrd(const double *s)
{
	double n = s[0];

	return work(n * (n * (5 * n / 3 + 0.5) - 7. / 6) - 13,
	            n * (n * (5 * n / 3 - 1) - 2. / 3) - 8);
}

static struct work sytrd(const double *s)
{
	double n = s[0];

	return work(n * (n * (2 * n / 3 + 2.5) - 1. / 6) - 15,
	            n * (n * (2 * n / 3 + 1) - 8. / 3) - 4);
}

static struct work gebrd(const double *s)
{
	double m = fmax(s[0], s[1]), n = fmin(s[0], s[1]);

	return work(n * (n * (2 * m - 2 * n / 3 + 2) + 20. / 3),
	            n * (n * (2 * m - 2 * n / 3 + 1) - m + 5. / 3));
}

static const struct formula {
	const char *name; /* without the letter for the type of number */
	unsigned count;   /* of the shape */
	struct work (*of)(const double *shape);
} formulas[] = {
	{ "axpy", 1, axpy },     { "axpby", 1, axpby },
	{ "scal", 1, scal },     { "dot", 1, axpy },
	{ "dotu", 1, axpy },     { "dotc", 1, axpy },
	{ "dotu_sub", 1, axpy }, { "dotc_sub", 1, axpy },
	{ "nrm2", 1, axpy },     { "asum", 1, asum },
	{ "rot", 1, rot },       { "rotm", 1, rot },
	{ "gemv", 2, gemv },     { "gbmv", 4, gbmv },
	{ "symv", 1, symv },     { "hemv", 1, symv },
	{ "spmv", 1, symv },     { "hpmv", 1, symv },
	{ "sbmv", 2, sbmv },     { "hbmv", 2, sbmv },
	{ "trmv", 1, trmv },     { "trsv", 1, trmv },
	{ "tpmv", 1, trmv },     { "tpsv", 1, trmv },
	{ "tbmv", 2, tbmv },     { "tbsv", 2, tbmv },
	{ "ger", 2, gemv },      { "geru", 2, gemv },
	{ "gerc", 2, gemv },     { "syr", 1, syr },
	{ "her", 1, syr },       { "spr", 1, syr },
	{ "hpr", 1, syr },       { "syr2", 1, syr2 },
	{ "her2", 1, syr2 },     { "spr2", 1, syr2 },
	{ "hpr2", 1, syr2 },     { "gemm", 3, gemm },
	{ "gemm3m", 3, gemm },   { "gemmt", 2, syrk },
	{ "gemmtr", 2, syrk },   { "symm", 3, gemm },
	{ "hemm", 3, gemm },     { "syrk", 2, syrk },
	{ "herk", 2, syrk },     { "syr2k", 2, syr2k },
	{ "her2k", 2, syr2k },   { "trmm", 3, trmm },
	{ "trsm", 3, trmm },     { "getrf", 2, getrf },
	{ "getrf2", 2, getrf },  { "getri", 1, getri },
	{ "getrs", 2, getrs },   { "gesv", 2, gesv },
	{ "potrf", 1, potrf },   { "potrf2", 1, potrf },
	{ "potri", 1, potri },   { "potrs", 2, potrs },
	{ "posv", 2, posv },     { "sytrf", 1, sytrf },
	{ "hetrf", 1, sytrf },   { "sytri", 1, sytri },
	{ "hetri", 1, sytri },   { "sytrs", 2, potrs },
	{ "hetrs", 2, potrs },   { "sysv", 2, sysv },
	{ "hesv", 2, sysv },     { "trtri", 1, trtri },
	{ "trtrs", 2, trtrs },   { "geqrf", 2, geqrf },
	{ "geqlf", 2, geqrf },   { "gelqf", 2, gelqf },
	{ "gerqf", 2, gelqf },   { "orgqr", 3, orgqr },
	{ "ungqr", 3, orgqr },   { "orglq", 3, orglq },
	{ "unglq", 3, orglq },   { "ormqr", 4, ormqr },
	{ "unmqr", 4, ormqr },   { "ormlq", 4, ormqr },
	{ "unmlq", 4, ormqr },   { "gehrd", 1, gehrd },
	{ "sytrd", 1, sytrd },   { "hetrd", 1, sytrd },
	{ "gebrd", 2, gebrd },   { "gemm_batch_strided", 4, gemm_batch },
};

// Routines that mix types: what one element costs.
static const struct mixed {
	char name[8];
	uint8_t each;
} mixed[] = {
	{ "dsdot", 2 },  { "sdsdot", 2 }, { "scnrm2", 4 }, { "dznrm2", 4 }, { "scasum", 2 },
	{ "dzasum", 2 }, { "csscal", 2 }, { "zdscal", 2 }, { "csrot", 12 }, { "zdrot", 12 },
};

static bool skip(const char **name, const char *prefix)
{
	size_t length = strlen(prefix);

	if (strncmp(*name, prefix, length) != 0)
		return false;
	*name += length;
	return true;
}

static bool cut(char *name, const char *suffix)
{
	size_t length = strlen(name), cut_length = strlen(suffix);

	if (length <= cut_length || strcmp(name + length - cut_length, suffix) != 0)
		return false;
	name[length - cut_length] = 0;
	return true;
}

// Leaves the routine's own name in NAME; false if it is too long for one.
static bool strip(char name[NAME_BYTES], const char *op)
{
	skip(&op, "scipy_");
	if (!skip(&op, "cblas_"))
		skip(&op, "LAPACKE_");
	size_t length = strlen(op);
	if (length >= NAME_BYTES)
		return false;
	memcpy(name, op, length + 1);
	if (!cut(name, "_64_") && !cut(name, "64_") && !cut(name, "_64"))
		cut(name, "_");
	cut(name, "_work");
	return true;
}

static bool give(double value, uint64_t *flops)
{
	if (!(value < 0x1p63))
		return false;
	*flops = value > 0 ? (uint64_t)llround(value) : 0;
	return true;
}

static bool linear(const char *name, const double *shape, unsigned count, uint64_t *flops)
{
	for (size_t i = 0; i < sizeof(mixed) / sizeof(mixed[0]); i++)
		if (count == 1 && strcmp(mixed[i].name, name) == 0)
			return give(mixed[i].each * shape[0], flops);
	bool complex = name[0] == 'c' || name[0] == 'z';
	if (!complex && name[0] != 's' && name[0] != 'd')
		return false;
	for (size_t i = 0; i < sizeof(formulas) / sizeof(formulas[0]); i++) {
		if (formulas[i].count != count || strcmp(formulas[i].name, name + 1) != 0)
			continue;
		struct work w = formulas[i].of(shape);
		return give(complex ? 6 * w.multiplications + 2 * w.additions
		                    : w.multiplications + w.additions,
		            flops);
	}
	return false;
}

static bool transform(const char *op, const double *shape, unsigned count, uint64_t *flops)
{
	unsigned first = strstr(op, " many") ? 1 : 0;
	double points = 1, each = strstr(op, "2c") || strstr(op, "2r") ? 2.5 : 5;

	if (!strstr(op, "_execute") || count <= first)
		return false;
	for (unsigned i = first; i < count; i++)
		points *= shape[i];
	if (points < 1)
		return give(0, flops);
	return give(each * points * log2(points) * (first ? shape[0] : 1), flops);
}

bool flops_of(const char *op, const uint64_t *shape, unsigned count, uint64_t *flops)
{
	double numbers[SHAPE_MAX];
	char name[NAME_BYTES];

	if (!count || count > SHAPE_MAX)
		return false;
	for (unsigned i = 0; i < count; i++)
		numbers[i] = (double)shape[i];
	if (strncmp(op, "fftw", 4) == 0)
		return transform(op, numbers, count, flops);
	return strip(name, op) && linear(name, numbers, count, flops);
}
