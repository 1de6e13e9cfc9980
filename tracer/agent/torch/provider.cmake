# SPDX-License-Identifier: MIT
agent_provider(torch
  HOOKS
    torch.c
    torch_memory.c
  CORE
    torch_blocks.c
    torch_layout.c
    torch_links.c
    torch_thin.c
  SECTION
    torch/*.c
    python/torch_modules.c)
