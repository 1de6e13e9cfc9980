// SPDX-License-Identifier: MIT
// Four ranks meet in each step; the last computes sixteen times as long as the others, unless CUT.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef STEPS
#define STEPS 30
#define CELLS 1000000
#endif

static double relax(int cells)
{
	double sum = 0;
	for (int i = 1; i <= cells; i++)
		sum += 1.0 / ((double)i * i);
	return sum;
}

int main(int argc, char **argv)
{
	int rank, size;
	double sum = 0, all = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	int cells = rank == size - 1 && !getenv("CUT") ? 16 * CELLS : CELLS;
	for (int step = 0; step < STEPS; step++) {
		sum += relax(cells);
		MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	if (rank == 0)
		printf("%.3f\n", all);
	MPI_Finalize();
	return 0;
}
