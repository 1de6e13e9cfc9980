# SPDX-License-Identifier: MIT
agent_provider(fftw
  HOOKS
    fftw.c
  CORE
    fftw_plans.c)
