# SPDX-License-Identifier: MIT
# Ops of PyTorch.
unit(tensors LIBS base)
foreach(module torch_blocks torch_layout torch_links)
  unit(${module} LIBS agent_core)
endforeach()
unit(torch_thin LIBS agent_core merge)
fuzz(tensors LIBS base)
add_executable(torch_blocks_race race/torch_blocks_race.c)
target_link_libraries(torch_blocks_race PRIVATE flags agent_core)
add_test(NAME torch_blocks_race COMMAND torch_blocks_race)
set_tests_properties(torch_blocks_race PROPERTIES LABELS unit TIMEOUT 300)
