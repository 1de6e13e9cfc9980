# SPDX-License-Identifier: MIT
# malloc() must not be made of itself.
set_source_files_properties(agent/memory/memory_malloc.c PROPERTIES COMPILE_OPTIONS -fno-builtin)
agent_provider(malloc
  HOOKS
    allocator.c
    memory_malloc.c
    memory_mmap.c
    memory_new.c
  CORE
    memory.c
    memory_early.c
    memory_maps.c
    memory_poisson.c
    memory_slots.c
    memory_table.c)
