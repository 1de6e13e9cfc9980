# SPDX-License-Identifier: MIT
agent_provider(fftw RARE
  HOOKS
    fftw.c
  CORE
    fftw_plans.c)
