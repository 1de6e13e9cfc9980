# SPDX-License-Identifier: MIT
agent_provider(api
  HOOKS
    api.c)
