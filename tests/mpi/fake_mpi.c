// SPDX-License-Identifier: MIT
/*
 * A library of MPI that moves nothing: it says which call has come through with which last
 * arguments, and whether it was asked for what a real one would abort on. It is rank 1 of 4, and 0
 * of the pair.
 */
#include "fake_mpi.h"

#include <errno.h>
#include <stdio.h>

#ifdef FAKE_POINTERS
struct fake_communicator ompi_mpi_comm_null, ompi_mpi_comm_world = { 4, 1, 0 };
struct fake_communicator fake_pair = { 2, 0, 0 }, fake_inter = { 2, 0, 1 };
struct fake_type ompi_mpi_datatype_null, ompi_mpi_int = { 4 }, ompi_mpi_double = { 8 };

static int check_type(MPI_Datatype t)
{
	if (t && t != MPI_DATATYPE_NULL)
		return t->size;
	puts("asked for a datatype that is none");
	return 0;
}

MPI_Datatype PMPI_Type_f2c(int type)
{
	return type == FAKE_DOUBLE ? MPI_DOUBLE : MPI_DATATYPE_NULL;
}

MPI_Comm PMPI_Comm_f2c(int comm)
{
	return comm == FAKE_WORLD ? MPI_COMM_WORLD : MPI_COMM_NULL;
}

static struct fake_communicator check(MPI_Comm c)
{
	if (c && c != MPI_COMM_NULL)
		return *c;
	puts("asked for a communicator that is none");
	return (struct fake_communicator){ 0, 0, 0 };
}
#else
struct fake_communicator {
	int ranks, rank, inter;
};

static int check_type(MPI_Datatype t)
{
	if (t >> 26 == 0x4c000000 >> 26)
		return t >> 8 & 0xff;
	puts("asked for a datatype that is none");
	return 0;
}

static struct fake_communicator check(MPI_Comm c)
{
	if (c == MPI_COMM_WORLD)
		return (struct fake_communicator){ 4, 1, 0 };
	if (c == FAKE_PAIR || c == FAKE_INTER)
		return (struct fake_communicator){ 2, 0, c == FAKE_INTER };
	puts("asked for a communicator that is none");
	return (struct fake_communicator){ 0, 0, 0 };
}
#endif

static const char *name(MPI_Comm comm)
{
	return comm == MPI_COMM_WORLD ? "world" : comm == FAKE_PAIR ? "pair" : "other";
}

// The tool's name for it.
#define ALIAS(name, parameters, arguments)                                                         \
	int MPI_##name parameters __attribute__((weak, alias("PMPI_" #name)));
FAKE_FUNCTIONS(ALIAS)

int PMPI_Init(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

int PMPI_Finalize(void)
{
	return 0;
}

int PMPI_Type_size(MPI_Datatype type, int *size)
{
	*size = check_type(type);
	errno = 99; // as may be
	return 0;
}

int PMPI_Comm_size(MPI_Comm comm, int *size)
{
	*size = check(comm).ranks;
	return 0;
}

int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
	*rank = check(comm).rank;
	return 0;
}

int PMPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
	*flag = check(comm).inter;
	return 0;
}

int PMPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm comm)
{
	(void)b;
	(void)t;
	printf("send %d to %d tag %d %s errno %d\n", n, to, tag, name(comm), errno);
	return 17;
}

int PMPI_Send_c(const void *b, MPI_Count n, MPI_Datatype t, int to, int tag, MPI_Comm comm)
{
	(void)b;
	(void)t;
	printf("send %lld to %d tag %d %s\n", n, to, tag, name(comm));
	return 0;
}

int PMPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm comm, void *status)
{
	(void)b;
	(void)t;
	printf("receive %d from %d tag %d %s, %s\n", n, from, tag, name(comm), (char *)status);
	return 0;
}

// Calls another routine, as a real one may.
int PMPI_Irecv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm comm, void *request)
{
	return MPI_Recv(b, n, t, from, tag, comm, request);
}

int PMPI_Waitall(int n, void *requests, void *statuses)
{
	printf("wait for %d, %s, %s\n", n, (char *)requests, (char *)statuses);
	return 0;
}

int PMPI_Sendrecv(const void *b, int n, MPI_Datatype t, int to, int tag, void *rb, int rn,
                  MPI_Datatype rt, int from, int rtag, MPI_Comm comm, void *status)
{
	(void)b;
	(void)t;
	(void)rb;
	(void)rt;
	printf("%d to %d tag %d, %d from %d tag %d %s, %s\n", n, to, tag, rn, from, rtag,
	       name(comm), (char *)status);
	return 0;
}

int PMPI_Sendrecv_replace(void *b, int n, MPI_Datatype t, int to, int tag, int from, int rtag,
                          MPI_Comm comm, void *status)
{
	return PMPI_Sendrecv(b, n, t, to, tag, b, n, t, from, rtag, comm, status);
}

int PMPI_Barrier(MPI_Comm comm)
{
	printf("barrier %s\n", name(comm));
	return 0;
}

int PMPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm comm)
{
	(void)b;
	(void)t;
	printf("broadcast %d from %d %s\n", n, root, name(comm));
	return 0;
}

int PMPI_Allreduce(const void *b, void *rb, int n, MPI_Datatype t, void *op, MPI_Comm comm)
{
	(void)b;
	(void)rb;
	(void)t;
	printf("reduce %d by %s %s\n", n, (char *)op, name(comm));
	return 0;
}

int PMPI_Gather(const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, int root,
                MPI_Comm comm)
{
	(void)b;
	(void)t;
	(void)rb;
	(void)rt;
	printf("gather %d, %d to %d %s\n", n, rn, root, name(comm));
	return 0;
}

int PMPI_Gatherv(const void *b, int n, MPI_Datatype t, void *rb, const int *rn, const int *at,
                 MPI_Datatype rt, int root, MPI_Comm comm)
{
	(void)rn;
	(void)at;
	return PMPI_Gather(b, n, t, rb, 0, rt, root, comm);
}

int PMPI_Scatter(const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, int root,
                 MPI_Comm comm)
{
	return PMPI_Gather(b, n, t, rb, rn, rt, root, comm);
}

int PMPI_Scatterv(const void *b, const int *n, const int *at, MPI_Datatype t, void *rb, int rn,
                  MPI_Datatype rt, int root, MPI_Comm comm)
{
	(void)n;
	(void)at;
	return PMPI_Gather(b, 0, t, rb, rn, rt, root, comm);
}

int PMPI_Allgather(const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt,
                   MPI_Comm comm)
{
	return PMPI_Gather(b, n, t, rb, rn, rt, -7, comm);
}

int PMPI_Alltoallv(const void *b, const int *n, const int *at, MPI_Datatype t, void *rb,
                   const int *rn, const int *rat, MPI_Datatype rt, MPI_Comm comm)
{
	(void)n;
	(void)at;
	return PMPI_Gather(b, 0, t, rb, rn[3], rt, rat[0], comm);
}

int PMPI_Alltoallw(const void *b, const int *n, const int *at, const MPI_Datatype *t, void *rb,
                   const int *rn, const int *rat, const MPI_Datatype *rt, MPI_Comm comm)
{
	(void)n;
	(void)at;
	return PMPI_Gather(b, 0, t ? t[0] : MPI_INT, rb, rn[3], rt[0], rat[0], comm);
}

int PMPI_Put(const void *b, int n, MPI_Datatype t, int to, ptrdiff_t at, int tn, MPI_Datatype tt,
             void *window)
{
	(void)b;
	(void)t;
	(void)tt;
	printf("put %d to %d at %td, %d, %s\n", n, to, at, tn, (char *)window);
	return 0;
}
