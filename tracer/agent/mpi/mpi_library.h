/* SPDX-License-Identifier: MIT */
/*
 * Which library of MPI the program has, found by what it exports: no header of it is needed.
 *
 * There is one in a process. Any thread; not for handlers. Keeps errno.
 */
#pragma once

#include "tracer/agent/mpi/mpi_call.h"

/* TARGET is a function of it, or of a tool in front of it. */
const struct mpi_library *mpi_library(const void *target);
