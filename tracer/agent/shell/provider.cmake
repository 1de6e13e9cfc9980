# SPDX-License-Identifier: MIT
agent_provider(shell
  HOOKS
    shell.c)
