# SPDX-License-Identifier: MIT
# Ops and memory from the real program through the real binary: see e2e/ops.py.
add_executable(target_ops targets/ops.c)
set_target_properties(target_ops PROPERTIES OUTPUT_NAME ops RUNTIME_OUTPUT_DIRECTORY ${TARGETS_DIR}
  POSITION_INDEPENDENT_CODE ON)
target_include_directories(target_ops PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_definitions(target_ops PRIVATE _GNU_SOURCE)
target_compile_options(target_ops PRIVATE -Wall -Wextra -g -O2 -fno-optimize-sibling-calls)
target_link_libraries(target_ops PRIVATE pthread dl)

# At a fixed place, too, where malloc()'s address is the program's own entry for it.
foreach(form memory memory_no_pie)
  add_executable(target_${form} targets/memory.c)
  set_target_properties(target_${form} PROPERTIES OUTPUT_NAME ${form}
    RUNTIME_OUTPUT_DIRECTORY ${TARGETS_DIR} POSITION_INDEPENDENT_CODE ON)
  target_compile_options(target_${form} PRIVATE -Wall -Wextra -g -O2
    -fno-optimize-sibling-calls)
endforeach()
set_target_properties(target_memory_no_pie PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(target_memory_no_pie PRIVATE -fno-pie)
target_link_options(target_memory_no_pie PRIVATE -no-pie)

add_executable(op_rows op_rows.c)
target_link_libraries(op_rows PRIVATE flags merge)

set(e2e_environment ${e2e_environment} "OP_ROWS=$<TARGET_FILE:op_rows>")
foreach(part Truth Edges Survival Options Memory)
  string(TOLOWER ${part} name)
  e2e(e2e_ops_${name} ops ${part})
endforeach()
