/* SPDX-License-Identifier: MIT */
/*
 * Of MPI what tests/mpi/target.c calls, with the handles of Open MPI (FAKE_POINTERS: addresses of
 * exported objects) or of MPICH (ints). Numbers are those of their own mpi.h.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef FAKE_POINTERS
typedef struct fake_communicator *MPI_Comm;
typedef struct fake_type *MPI_Datatype;
struct fake_communicator {
	int ranks, rank, inter;
};
struct fake_type {
	int size;
};
extern struct fake_communicator ompi_mpi_comm_null, ompi_mpi_comm_world, fake_pair, fake_inter;
extern struct fake_type ompi_mpi_datatype_null, ompi_mpi_int, ompi_mpi_double;
#define MPI_COMM_NULL     (&ompi_mpi_comm_null)
#define MPI_COMM_WORLD    (&ompi_mpi_comm_world)
#define FAKE_PAIR         (&fake_pair)
#define FAKE_INTER        (&fake_inter)
#define MPI_DATATYPE_NULL (&ompi_mpi_datatype_null)
#define MPI_INT           (&ompi_mpi_int)
#define MPI_DOUBLE        (&ompi_mpi_double)
#define MPI_ANY_SOURCE    (-1)
#define MPI_PROC_NULL     (-2)
#define MPI_ROOT          (-4)
#define MPI_IN_PLACE      ((void *)1)
#else
typedef int MPI_Comm, MPI_Datatype;
#define MPI_COMM_NULL     0x04000000
#define MPI_COMM_WORLD    0x44000000
#define FAKE_PAIR         ((int)0x84000001)
#define FAKE_INTER        ((int)0x84000002)
#define MPI_DATATYPE_NULL 0x0c000000
#define MPI_INT           0x4c000405
#define MPI_DOUBLE        0x4c00080b
#define MPI_ANY_SOURCE    (-2)
#define MPI_PROC_NULL     (-1)
#define MPI_ROOT          (-3)
#define MPI_IN_PLACE      ((void *)-1)
#endif

typedef long long MPI_Count;

/* Each function is there as MPI_NAME and PMPI_NAME; NAME(X) with its parameters, and their names.
 */
#define FAKE_FUNCTIONS(X)                                                                          \
	X(Init, (int *argc, char ***argv), (argc, argv))                                           \
	X(Finalize, (void), ())                                                                    \
	X(Type_size, (MPI_Datatype type, int *size), (type, size))                                 \
	X(Comm_size, (MPI_Comm comm, int *size), (comm, size))                                     \
	X(Comm_rank, (MPI_Comm comm, int *rank), (comm, rank))                                     \
	X(Comm_test_inter, (MPI_Comm comm, int *flag), (comm, flag))                               \
	X(Send, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm comm),            \
	  (b, n, t, to, tag, comm))                                                                \
	X(Send_c, (const void *b, MPI_Count n, MPI_Datatype t, int to, int tag, MPI_Comm comm),    \
	  (b, n, t, to, tag, comm))                                                                \
	X(Recv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm comm, void *status),  \
	  (b, n, t, from, tag, comm, status))                                                      \
	X(Irecv,                                                                                   \
	  (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm comm, void *request),       \
	  (b, n, t, from, tag, comm, request))                                                     \
	X(Waitall, (int n, void *requests, void *statuses), (n, requests, statuses))               \
	X(Sendrecv,                                                                                \
	  (const void *b, int n, MPI_Datatype t, int to, int tag, void *rb, int rn,                \
	   MPI_Datatype rt, int from, int rtag, MPI_Comm comm, void *status),                      \
	  (b, n, t, to, tag, rb, rn, rt, from, rtag, comm, status))                                \
	X(Sendrecv_replace,                                                                        \
	  (void *b, int n, MPI_Datatype t, int to, int tag, int from, int rtag, MPI_Comm comm,     \
	   void *status),                                                                          \
	  (b, n, t, to, tag, from, rtag, comm, status))                                            \
	X(Barrier, (MPI_Comm comm), (comm))                                                        \
	X(Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm comm), (b, n, t, root, comm)) \
	X(Allreduce, (const void *b, void *rb, int n, MPI_Datatype t, void *op, MPI_Comm comm),    \
	  (b, rb, n, t, op, comm))                                                                 \
	X(Gather,                                                                                  \
	  (const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, int root,      \
	   MPI_Comm comm),                                                                         \
	  (b, n, t, rb, rn, rt, root, comm))                                                       \
	X(Gatherv,                                                                                 \
	  (const void *b, int n, MPI_Datatype t, void *rb, const int *rn, const int *at,           \
	   MPI_Datatype rt, int root, MPI_Comm comm),                                              \
	  (b, n, t, rb, rn, at, rt, root, comm))                                                   \
	X(Scatter,                                                                                 \
	  (const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, int root,      \
	   MPI_Comm comm),                                                                         \
	  (b, n, t, rb, rn, rt, root, comm))                                                       \
	X(Scatterv,                                                                                \
	  (const void *b, const int *n, const int *at, MPI_Datatype t, void *rb, int rn,           \
	   MPI_Datatype rt, int root, MPI_Comm comm),                                              \
	  (b, n, at, t, rb, rn, rt, root, comm))                                                   \
	X(Allgather,                                                                               \
	  (const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt,                \
	   MPI_Comm comm),                                                                         \
	  (b, n, t, rb, rn, rt, comm))                                                             \
	X(Alltoallv,                                                                               \
	  (const void *b, const int *n, const int *at, MPI_Datatype t, void *rb, const int *rn,    \
	   const int *rat, MPI_Datatype rt, MPI_Comm comm),                                        \
	  (b, n, at, t, rb, rn, rat, rt, comm))                                                    \
	X(Alltoallw,                                                                               \
	  (const void *b, const int *n, const int *at, const MPI_Datatype *t, void *rb,            \
	   const int *rn, const int *rat, const MPI_Datatype *rt, MPI_Comm comm),                  \
	  (b, n, at, t, rb, rn, rat, rt, comm))                                                    \
	X(Put,                                                                                     \
	  (const void *b, int n, MPI_Datatype t, int to, ptrdiff_t at, int tn, MPI_Datatype tt,    \
	   void *window),                                                                          \
	  (b, n, t, to, at, tn, tt, window))

#define FAKE_DECLARE(name, parameters, arguments)                                                  \
	int MPI_##name parameters;                                                                 \
	int PMPI_##name parameters;
FAKE_FUNCTIONS(FAKE_DECLARE)

/* What Fortran calls, with handles of its own: FAKE_WORLD, FAKE_DOUBLE, as the library has them. */
#ifdef FAKE_POINTERS
#define FAKE_WORLD  0
#define FAKE_DOUBLE 17
MPI_Datatype PMPI_Type_f2c(int type);
MPI_Comm PMPI_Comm_f2c(int comm);
#else
#define FAKE_WORLD          MPI_COMM_WORLD
#define FAKE_DOUBLE         MPI_DOUBLE
#define PMPI_Type_f2c(type) (type)
#define PMPI_Comm_f2c(comm) (comm)
#endif
void mpi_send_(const void *b, int *n, int *t, int *to, int *tag, int *comm, int *error);
void mpi_gatherv_(const void *b, int *n, int *t, void *rb, int *rn, int *at, int *rt, int *root,
                  int *comm, int *error);
