// SPDX-License-Identifier: MIT
/*
 * ops_openblas [ROUNDS]: products of matrices by a real library, in as many threads as it likes,
 * whose times the program takes by its own clock.
 */
#include "tests/targets/op_truth.h"

#include <cblas.h>
#include <stdlib.h>

#define SIDE 700

int main(int argc, char **argv)
{
	int rounds = argc > 1 && atoi(argv[1]) ? atoi(argv[1]) : 40;
	double *a = calloc(SIDE * SIDE, sizeof(*a)), *b = calloc(SIDE * SIDE, sizeof(*b));
	double *c = calloc(SIDE * SIDE, sizeof(*c));

	for (int i = 0; a && b && c && i < SIDE * SIDE; i++)
		a[i] = b[i] = i % 97;
	// The first call looks for the library, outside of its op: told for its number only.
	cblas_dscal(1, 1, b, 1);
	add(find("cblas_dscal"), 1, 0, 0);
	for (int i = 0; a && b && c && i < rounds; i++) {
		begun("cblas_dgemm");
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDE, SIDE, SIDE, 1, a, SIDE,
		            b, SIDE, 0, c, SIDE);
		ended();
		begun("cblas_dsyrk");
		cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, SIDE, SIDE / 2, 1, a, SIDE, 0,
		            c, SIDE);
		ended();
		work(5);
	}
	print_truth();
	free(a);
	free(b);
	free(c);
	return 0;
}
