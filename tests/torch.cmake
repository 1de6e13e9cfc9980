# SPDX-License-Identifier: MIT
# Ops of PyTorch.
unit(tensors LIBS base)
unit(torch_blocks LIBS agent_core)
unit(torch_layout LIBS agent_core)
unit(torch_links LIBS agent_core)
fuzz(tensors LIBS base)
add_executable(torch_blocks_race torch_blocks_race.c)
target_link_libraries(torch_blocks_race PRIVATE flags agent_core)
add_test(NAME torch_blocks_race COMMAND torch_blocks_race)
set_tests_properties(torch_blocks_race PROPERTIES LABELS unit TIMEOUT 300)
