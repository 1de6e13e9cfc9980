# SPDX-License-Identifier: MIT
agent_provider(mpi
  HOOKS
    mpi.c
  CORE
    mpi_call.c)
