# SPDX-License-Identifier: MIT
# Tests of what the agent says of allocations.
unit(memory_poisson LIBS agent_core m)
unit(memory_table LIBS agent_core)
unit(memory_early LIBS agent_core)
unit(memory LIBS agent_core reader tracer_test_support)
