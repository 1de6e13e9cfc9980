// SPDX-License-Identifier: MIT
#include "tracer/agent/mpi/mpi_library.h"

#include "tracer/agent/op/definition.h"

#include <errno.h>

/*
 * MPICH, and all that follow its binary interface (Intel MPI, MVAPICH2, Cray MPICH): mpi.h. In Open
 * MPI handles are addresses of objects, and negative ranks are other ones.
 */
#define MPICH_TYPE_NULL         0x0c000000
#define MPICH_COMMUNICATOR_NULL 0x04000000
#define MPICH_ANY_SOURCE        (-2)
#define OPEN_MPI_ANY_SOURCE     (-1)

static void *find(const void *target, const char *name)
{
	void *found = definition_near(target, name);

	return found ? found : definition_first(name);
}

static void look(const void *target, struct mpi_library *out)
{
	// A program that was not built as PIC has a copy of the object, which then is the handle.
	void *no_type = definition_first("ompi_mpi_datatype_null");
	void *no_communicator = definition_first("ompi_mpi_comm_null");

	*out = (struct mpi_library){
		.pointers = no_type != NULL,
		.no_type = no_type ? (uintptr_t)no_type : MPICH_TYPE_NULL,
		.no_communicator = no_type ? (uintptr_t)no_communicator : MPICH_COMMUNICATOR_NULL,
		.any = no_type ? OPEN_MPI_ANY_SOURCE : MPICH_ANY_SOURCE,
		.type_size = (mpi_asks *)find(target, "PMPI_Type_size"),
		.ranks = (mpi_asks *)find(target, "PMPI_Comm_size"),
		.rank = (mpi_asks *)find(target, "PMPI_Comm_rank"),
		.is_inter = (mpi_asks *)find(target, "PMPI_Comm_test_inter"),
		.type_of = (mpi_converts *)find(target, "PMPI_Type_f2c"),
		.communicator_of = (mpi_converts *)find(target, "PMPI_Comm_f2c"),
	};
}

const struct mpi_library *mpi_library(const void *target)
{
	static struct mpi_library library;
	static uint32_t looked; // atomic: definition_forgotten() and 1 at the last look
	uint32_t now = definition_forgotten() + 1;
	struct mpi_library found;
	int error = errno;

	if (__builtin_expect(__atomic_load_n(&looked, __ATOMIC_ACQUIRE) == now, 1))
		return &library;
	look(target, &found);
	library = found; // threads that look at once find the same
	__atomic_store_n(&looked, now, __ATOMIC_RELEASE);
	errno = error;
	return &library;
}
