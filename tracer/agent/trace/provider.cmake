# SPDX-License-Identifier: MIT
agent_provider(function RARE
  HOOKS
    shadow_stack.c
    trace.c
    trace_calls.c
    trace_entry.c
    trace_object.c
    trace_slots.c
  CORE
    displace.c
    intruders.c
    object_file.c
    pattern.c
    symbols.c
  SECTION
    trace/*.c
    python/python_trace.c)
