# SPDX-License-Identifier: MIT
agent_provider(itt RARE
  HOOKS
    itt.c
    itt_changes.c
    itt_counter.c
    itt_mark.c
    itt_object.c
    itt_range.c
    itt_task.c
    itt_value.c)
