// SPDX-License-Identifier: MIT
/*
 * Ten turns that all ranks end together, and one rank that holds the others up: rank 2 in
 * planted_work(), for three times as long as the work that all share; in turn RANK_3_IN, if that is
 * given, rank 3 instead. Tests build it with mpicc.
 */
#include <mpi.h>
#include <time.h>

#ifndef RANK_3_IN
#define RANK_3_IN (-1)
#endif

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noinline)) double shared_work(double seconds)
{
	double end = cpu() + seconds, x = 0;

	while (cpu() < end)
		for (int i = 0; i < 10000; i++)
			x += i * 0.5;
	return x;
}

__attribute__((noinline)) double planted_work(double seconds)
{
	double end = cpu() + seconds, x = 1;

	while (cpu() < end)
		for (int i = 0; i < 10000; i++)
			x *= 1.0000001;
	return x;
}

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 10; i++) {
		double sum, mine = shared_work(0.03);
		if (rank == (i == RANK_3_IN ? 3 : 2))
			mine += planted_work(0.09);
		MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	return MPI_Finalize();
}
