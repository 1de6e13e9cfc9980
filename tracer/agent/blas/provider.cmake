# SPDX-License-Identifier: MIT
agent_provider(blas
  HOOKS
    blas.c)
