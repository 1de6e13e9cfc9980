# SPDX-License-Identifier: MIT
agent_provider(waits
  HOOKS
    waits_children.c
    waits_files.c
    waits_hooks.c
    waits_made.c
    waits_next.c
    waits_signals.c
    waits_sync.c
  CORE
    waits.c
    waits_folded.c)
