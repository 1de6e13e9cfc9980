/* SPDX-License-Identifier: MIT */
/*
 * What a call of MPI moves, by its arguments as words of registers and stack, and what the library
 * at hand says of its datatypes and communicators.
 *
 * Nothing is asked of the library that could be an error of the program's: of no datatype and no
 * communicator that is none, and of no argument that the call does not look at itself. Any thread.
 */
#pragma once

#include "base/message.h"
#include "tracer/agent/mpi/mpi_table.h"

#include <stdbool.h>
#include <stdint.h>

/* Handles are pointers (Open MPI), or ints (MPICH), whose upper halves mean nothing. */
typedef int mpi_asks(uint64_t handle, int *answer);
typedef uint64_t mpi_converts(int fortran);

/* Functions may be NULL. */
struct mpi_library {
	bool pointers;
	uint64_t no_type, no_communicator; /* MPI_DATATYPE_NULL, MPI_COMM_NULL */
	int any;                           /* MPI_ANY_SOURCE */
	mpi_asks *type_size;               /* PMPI_Type_size */
	mpi_asks *ranks, *rank;            /* PMPI_Comm_size, PMPI_Comm_rank */
	mpi_asks *is_inter;                /* PMPI_Comm_test_inter */
	/* PMPI_Type_f2c, PMPI_Comm_f2c: where handles are pointers. */
	mpi_converts *type_of, *communicator_of;
};

struct mpi_routine {
	char name[28];
	char arguments[16];
	uint8_t moves; /* enum mpi_moves */
};

/* REGISTERS: six; STACK: the arguments behind them. WIDE: counts are MPI_Count. FORTRAN: arguments
   are addresses of theirs. */
struct mpi_call {
	const struct mpi_routine *routine;
	const uint64_t *registers, *stack;
	bool wide, fortran;
};

void mpi_call_message(const struct mpi_call *call, const struct mpi_library *library,
                      struct message *out);
