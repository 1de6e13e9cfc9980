# SPDX-License-Identifier: MIT
agent_provider(mpi RARE
  HOOKS
    mpi.c
  CORE
    mpi_call.c)
