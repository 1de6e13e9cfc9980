// SPDX-License-Identifier: MIT
// Fortran's functions, in a library of their own that calls C's, as Open MPI and MPICH have them.
#include "fake_mpi.h"

#ifdef FAKE_POINTERS
#define C(name) PMPI_##name
#else
#define C(name) MPI_##name
#endif

void mpi_send_(const void *b, int *n, int *t, int *to, int *tag, int *comm, int *error)
{
	*error = C(Send)(b, *n, PMPI_Type_f2c(*t), *to, *tag, PMPI_Comm_f2c(*comm));
}

void mpi_gatherv_(const void *b, int *n, int *t, void *rb, int *rn, int *at, int *rt, int *root,
                  int *comm, int *error)
{
	*error = C(Gatherv)(b, *n, PMPI_Type_f2c(*t), rb, rn, at, PMPI_Type_f2c(*rt), *root,
	                    PMPI_Comm_f2c(*comm));
}
