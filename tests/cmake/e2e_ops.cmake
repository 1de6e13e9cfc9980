# SPDX-License-Identifier: MIT
# Ops and memory from the real program through the real binary: see e2e/ops.py.
function(ops_flags target)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${TARGETS_DIR}
    LIBRARY_OUTPUT_DIRECTORY ${TARGETS_DIR} POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET default)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  target_compile_options(${target} PRIVATE -Wall -Wextra -g -O2 -fno-optimize-sibling-calls)
endfunction()

add_executable(target_steps targets/steps.c)
ops_flags(target_steps)
set_target_properties(target_steps PROPERTIES OUTPUT_NAME steps)
target_link_libraries(target_steps PRIVATE pthread dl)
add_executable(target_loop targets/loop.c)
target_compile_options(target_loop PRIVATE -O1 -g)
set_target_properties(target_loop PROPERTIES OUTPUT_NAME loop
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/targets)

add_library(ops_library SHARED targets/ops_library.c)
ops_flags(ops_library)
foreach(name ops ops_providers)
  add_executable(target_${name} targets/${name}.c)
  ops_flags(target_${name})
  set_target_properties(target_${name} PROPERTIES OUTPUT_NAME ${name})
  target_link_libraries(target_${name} PRIVATE pthread dl)
endforeach()
target_link_libraries(target_ops_providers PRIVATE ops_library)
if(OPENBLAS_FOUND)
  add_executable(target_ops_openblas targets/ops_openblas.c)
  ops_flags(target_ops_openblas)
  set_target_properties(target_ops_openblas PROPERTIES OUTPUT_NAME ops_openblas)
  target_link_libraries(target_ops_openblas PRIVATE pthread PkgConfig::OPENBLAS)
endif()

add_executable(target_blocks targets/blocks.c)
set_target_properties(target_blocks PROPERTIES OUTPUT_NAME blocks
  RUNTIME_OUTPUT_DIRECTORY ${TARGETS_DIR})
target_compile_options(target_blocks PRIVATE -Wall -Wextra -g -O2)

add_executable(target_maps targets/maps.c)
ops_flags(target_maps)
set_target_properties(target_maps PROPERTIES OUTPUT_NAME maps)

# new and delete are an allocator's own where there is one that has them.
find_library(JEMALLOC_LIBRARY NAMES jemalloc libjemalloc.so.2)
find_library(TCMALLOC_LIBRARY NAMES tcmalloc_minimal libtcmalloc_minimal.so.4)
add_executable(target_news targets/news.cc)
set_target_properties(target_news PROPERTIES OUTPUT_NAME news
  RUNTIME_OUTPUT_DIRECTORY ${TARGETS_DIR})
target_compile_features(target_news PRIVATE cxx_std_17)
target_compile_options(target_news PRIVATE -Wall -Wextra -g -O2 -fno-optimize-sibling-calls)

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

add_executable(op_rows tools/op_rows.c)
target_link_libraries(op_rows PRIVATE flags merge)

set(e2e_environment ${e2e_environment} "OP_ROWS=$<TARGET_FILE:op_rows>")
foreach(allocator JEMALLOC TCMALLOC)
  if(${allocator}_LIBRARY)
    list(APPEND e2e_environment "${allocator}=${${allocator}_LIBRARY}")
  endif()
endforeach()
foreach(part Edges Memory Options Providers Survival Truth)
  string(TOLOWER ${part} name)
  e2e(e2e_ops_${name} ops ${part})
endforeach()
foreach(part OneProfile Ops Ranks)
  string(TOLOWER ${part} name)
  e2e(e2e_mpi_${name} mpi ${part})
endforeach()
e2e(e2e_warmup warmup)
e2e(e2e_schedule schedule)

# Real programs whose warm-up is known. For a quiet machine and some patience: ctest -C Long -L long
add_test(NAME warmup_real CONFIGURATIONS Long COMMAND ${Python3_EXECUTABLE} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/warmup/real.py $<TARGET_FILE:bottleneck> ${TARGETS_DIR})
set_tests_properties(warmup_real PROPERTIES LABELS long TIMEOUT 1800 RUN_SERIAL ON)

# As PyTorch does for its observers, without it.
add_library(torch_imitation SHARED torch/imitation.c)
target_link_libraries(torch_imitation PRIVATE flags m)
set_target_properties(torch_imitation PROPERTIES OUTPUT_NAME torch_cpu
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/imitation)
add_executable(torch_thinned torch/thinned.c)
target_link_libraries(torch_thinned PRIVATE flags torch_imitation)
set(e2e_environment ${e2e_environment} "THINNED_OPS=$<TARGET_FILE:torch_thinned>")
e2e(e2e_thinned thinned)

# Skipped where no interpreter has PyTorch. They take minutes: ctest -C Long -L long.
add_library(torch_device_allocator MODULE torch/device_allocator.c)
list(APPEND e2e_environment "DEVICE_ALLOCATOR=$<TARGET_FILE:torch_device_allocator>")
foreach(part Devices Everywhere Headers Lines Memory Modules SideBySide)
  string(TOLOWER ${part} name)
  add_test(NAME torch_${name} CONFIGURATIONS Long COMMAND ${Python3_EXECUTABLE} -B
           ${CMAKE_CURRENT_SOURCE_DIR}/torch/torch_ops.py ${part})
  set_tests_properties(torch_${name} PROPERTIES LABELS long TIMEOUT 1500 SKIP_RETURN_CODE 77
    ENVIRONMENT "${e2e_environment}")
endforeach()
