# SPDX-License-Identifier: MIT
agent_provider(mpi
  HOOKS
    mpi.c
    mpi_library.c
  CORE
    mpi_call.c)
