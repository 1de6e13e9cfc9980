# SPDX-License-Identifier: MIT
# Ops and memory from the real program through the real binary: see e2e/ops.py.
add_executable(target_ops targets/ops.c)
set_target_properties(target_ops PROPERTIES OUTPUT_NAME ops RUNTIME_OUTPUT_DIRECTORY ${TARGETS_DIR}
  POSITION_INDEPENDENT_CODE ON)
target_include_directories(target_ops PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_definitions(target_ops PRIVATE _GNU_SOURCE)
target_compile_options(target_ops PRIVATE -Wall -Wextra -g -O2 -fno-optimize-sibling-calls)
target_link_libraries(target_ops PRIVATE pthread dl)

add_executable(op_rows op_rows.c)
target_link_libraries(op_rows PRIVATE flags merge)

set(e2e_environment ${e2e_environment} "OP_ROWS=$<TARGET_FILE:op_rows>")
foreach(part Truth Edges Survival Options)
  string(TOLOWER ${part} name)
  e2e(e2e_ops_${name} ops ${part})
endforeach()
