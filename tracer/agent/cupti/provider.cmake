# SPDX-License-Identifier: MIT
agent_provider(cuda RARE
  HOOKS
    cupti.c
    cupti_wrap.c
  CORE
    cupti_buffers.c
    cupti_calls.c
    cupti_clock.c
    cupti_library.c
    cupti_pc.c
    cupti_place.c
    cupti_records.c
    cupti_session.c
    gpu_lane.c)
