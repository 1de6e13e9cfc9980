# SPDX-License-Identifier: MIT
agent_provider(blas RARE
  HOOKS
    blas.c)
