// SPDX-License-Identifier: MIT
// target PART: calls the fake MPI, which says what has come through.
#include "fake_mpi.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WORLD MPI_COMM_WORLD

static char b[64], status[] = "status", request[] = "request";

static void send_and_receive(void)
{
	errno = 42;
	int result = MPI_Send(b, 10, MPI_INT, 2, 5, WORLD);
	printf("%d errno %d\n", result, errno);
	MPI_Send(b, 0, MPI_DATATYPE_NULL, 2, 5, WORLD);
	MPI_Send(b, 3, MPI_DATATYPE_NULL, MPI_PROC_NULL, 5, WORLD);
	MPI_Send(b, 3, MPI_DATATYPE_NULL, 2, 5, WORLD);
	MPI_Send(b, -1, MPI_INT, 2, 5, WORLD);
	MPI_Send_c(b, 1LL << 32, MPI_DOUBLE, 3, 5, WORLD);
	MPI_Recv(b, 7, MPI_DOUBLE, MPI_ANY_SOURCE, 5, WORLD, status);
	MPI_Irecv(b, 6, MPI_DOUBLE, 0, 5, WORLD, request);
	MPI_Waitall(3, request, status);
	MPI_Sendrecv(b, 2, MPI_INT, 0, 1, b, 3, MPI_DOUBLE, 2, 6, WORLD, status);
	MPI_Sendrecv(b, 2, MPI_INT, 0, 1, b, 3, MPI_DATATYPE_NULL, MPI_PROC_NULL, 6, WORLD, status);
	MPI_Sendrecv_replace(b, 5, MPI_INT, 3, 1, 2, 6, FAKE_PAIR, status);
	MPI_Put(b, 9, MPI_INT, 3, 77, 9, MPI_INT, request);
}

// Rank 1 of 4, and 0 of the pair.
static void collect(void)
{
	static const int some[] = { 1, 2, 3, 4 }, none[] = { 0, 0, 0, 5 };
	const MPI_Datatype types[] = { MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL,
		                       MPI_DOUBLE };

	MPI_Barrier(WORLD);
	MPI_Barrier(FAKE_PAIR);
	MPI_Barrier(FAKE_INTER);
	MPI_Barrier(MPI_COMM_NULL);
	MPI_Bcast(b, 4, MPI_DOUBLE, 0, WORLD);
	MPI_Bcast(b, 4, MPI_DOUBLE, MPI_ROOT, FAKE_INTER);
	MPI_Allreduce(MPI_IN_PLACE, b, 3, MPI_DOUBLE, request, WORLD);
	MPI_Gather(b, 5, MPI_INT, NULL, 99, MPI_DATATYPE_NULL, 0, WORLD);
	MPI_Gather(MPI_IN_PLACE, 99, MPI_DATATYPE_NULL, b, 5, MPI_INT, 1, WORLD);
	MPI_Gatherv(b, 5, MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL, 0, WORLD);
	MPI_Gatherv(MPI_IN_PLACE, 99, MPI_DATATYPE_NULL, b, some, none, MPI_INT, 1, WORLD);
	MPI_Scatter(NULL, 99, MPI_DATATYPE_NULL, b, 6, MPI_INT, 0, WORLD);
	MPI_Scatter(b, 6, MPI_INT, MPI_IN_PLACE, 99, MPI_DATATYPE_NULL, 0, FAKE_PAIR);
	MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, b, 6, MPI_INT, 0, WORLD);
	MPI_Scatterv(b, some, none, MPI_DOUBLE, MPI_IN_PLACE, 9, MPI_DATATYPE_NULL, 1, WORLD);
	MPI_Allgather(MPI_IN_PLACE, 9, MPI_DATATYPE_NULL, b, 2, MPI_DOUBLE, WORLD);
	MPI_Allgather(b, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, FAKE_INTER);
	MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, b, some, none, MPI_INT, WORLD);
	MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, b, none, some, types, WORLD);
}

// As rank 1 of 4.
static void from_fortran(void)
{
	int n = 4, type = FAKE_DOUBLE, none = 999, to = 2, tag = 9, comm = FAKE_WORLD, error = 0;
	int some[] = { 1, 2, 3, 4 }, me = 1;

	mpi_send_(b, &n, &type, &to, &tag, &comm, &error);
	printf("%d\n", error);
	mpi_gatherv_(b, &n, &type, b, NULL, NULL, &none, &to, &comm, &error);
	mpi_gatherv_(b, &n, &none, b, some, some, &type, &me, &comm, &error);
}

int main(int argc, char **argv)
{
	const char *part = argc > 1 ? argv[1] : "";

	MPI_Init(&argc, &argv);
	if (strcmp(part, "messages") == 0)
		send_and_receive();
	else if (strcmp(part, "collectives") == 0)
		collect();
	else if (strcmp(part, "fortran") == 0)
		from_fortran();
	else
		return 2;
	return MPI_Finalize();
}
