// SPDX-License-Identifier: MIT
// by_name LIBRARY: finds MPI by name, in a scope of its own; and asks first whether it has one.
#include "fake_mpi.h"

#include <dlfcn.h>
#include <stdio.h>

typedef int send_function(const void *, int, MPI_Datatype, int, int, MPI_Comm);

extern int MPI_Wait(void *, void *) __attribute__((weak));

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	send_function *send = library ? (send_function *)dlsym(library, "MPI_Send") : NULL;

	printf("%d %d %d\n", &MPI_Wait != NULL, dlsym(RTLD_DEFAULT, "MPI_Init") != NULL,
	       dlsym(library, "MPI_Waitany") != NULL);
#ifdef FAKE_POINTERS
	MPI_Datatype type = dlsym(library, "ompi_mpi_double");
	MPI_Comm world = dlsym(library, "ompi_mpi_comm_world");
#else
	MPI_Datatype type = MPI_DOUBLE;
	MPI_Comm world = MPI_COMM_WORLD;
#endif
	return send ? send(argv, 3, type, 2, 1, world) != 17 : 1;
}
