# SPDX-License-Identifier: MIT
agent_provider(nvtx RARE
  HOOKS
    nvtx.c
    nvtx_counter.c
    nvtx_deferred.c
    nvtx_event.c
    nvtx_hooks.c
    nvtx_object.c
    nvtx_payload.c)
