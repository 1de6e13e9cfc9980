# SPDX-License-Identifier: MIT
# cmake --build BUILD --target bench: prints the tables of bench/run.
# For bench/torch.
add_library(torch_empty MODULE bench/torch_empty.c)
if(TARGET bottleneck)
  add_custom_target(bench USES_TERMINAL DEPENDS bottleneck findings_cost
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/bench/run --build ${PROJECT_BINARY_DIR})
endif()
