# SPDX-License-Identifier: MIT
# Ops of programs that use NVTX and ITT: what the agent tells of them, as text.

# golden(NAME FILE COMMAND...): see ops/golden.sh.
function(golden name file)
  add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/ops/golden.sh $<TARGET_FILE:op_report>
           ${CMAKE_CURRENT_SOURCE_DIR}/golden/${file}.txt ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 60)
endfunction()

# op_target(NAME SOURCE DEFINITIONS...): never sanitized, as it loads the agent.
function(op_target name source)
  add_executable(${name} ops/${source}.c)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE ${ARGN})
  target_compile_options(${name} PRIVATE -O1 -Wall -Wextra)
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
endfunction()

# op_plugin(NAME): a library that NVTX or ITT programs are told to load.
function(op_plugin name)
  add_library(${name} MODULE ops/${name}.c)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
endfunction()

find_package(Threads REQUIRED)
find_path(NVTX_INCLUDE nvtx3/nvToolsExtPayload.h PATHS /usr/local/cuda/include)
set(nvtx_parts stacks texts values sizes domains strings categories ranges names payloads forks ends)
op_target(nvtx_target nvtx_target)
foreach(part ${nvtx_parts})
  golden(nvtx_${part} nvtx/${part} $<TARGET_FILE:nvtx_target> ${part})
endforeach()
add_test(NAME nvtx_crowd COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/ops/calls.sh 200000
         "crowd inner range" $<TARGET_FILE:op_report> $<TARGET_FILE:nvtx_target> crowd)
set_tests_properties(nvtx_crowd PROPERTIES LABELS unit TIMEOUT 120)
if(NVTX_INCLUDE)
  op_target(nvtx_target_headers nvtx_target NVTX_HEADERS)
  target_include_directories(nvtx_target_headers SYSTEM PRIVATE ${NVTX_INCLUDE})
  foreach(part ${nvtx_parts})
    golden(nvtx_headers_${part} nvtx/${part} $<TARGET_FILE:nvtx_target_headers> ${part})
  endforeach()
  add_executable(nvtx_abi_test ops/nvtx_abi_test.c)
  target_include_directories(nvtx_abi_test PRIVATE ${PROJECT_SOURCE_DIR})
  target_include_directories(nvtx_abi_test SYSTEM PRIVATE ${NVTX_INCLUDE})
  add_test(NAME nvtx_abi COMMAND nvtx_abi_test)
  set_tests_properties(nvtx_abi PROPERTIES LABELS unit)
else()
  message(STATUS "NVTX is tested without NVIDIA's headers: they are not there")
endif()

op_target(itt_target itt_target)
set_target_properties(itt_target PROPERTIES ENABLE_EXPORTS ON)
foreach(part tasks functions overlaps frames marks counters events threads forks)
  golden(itt_${part} itt/${part} $<TARGET_FILE:itt_target> ${part})
endforeach()

# A user's own library gets all calls, and its results are what the program gets.
op_plugin(nvtx_chain)
op_plugin(itt_chain)
op_target(nvtx_chained nvtx_chained)
function(chained name variable library)
  set(environment "${variable}=$<TARGET_FILE:${library}>")
  golden(${name} ${name} sh -c "exec \"$@\" 2>\"$1.said\"" sh ${ARGN})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${environment}" FIXTURES_SETUP ${name})
  list(GET ARGN 0 program)
  add_test(NAME ${name}_theirs COMMAND ${CMAKE_COMMAND} -E compare_files ${program}.said
           ${CMAKE_CURRENT_SOURCE_DIR}/golden/${name}_theirs.txt)
  set_tests_properties(${name}_theirs PROPERTIES LABELS unit FIXTURES_REQUIRED ${name})
endfunction()
chained(nvtx_chained NVTX_INJECTION64_PATH nvtx_chain $<TARGET_FILE:nvtx_chained>)
chained(itt_chained INTEL_LIBITTNOTIFY64 itt_chain $<TARGET_FILE:itt_target> tasks frames marks)

# Programs that tell of themselves, where they are there.
find_path(TBB_INCLUDE tbb/flow_graph.h)
find_library(TBB_LIBRARY tbb)
find_path(DNNL_INCLUDE oneapi/dnnl/dnnl.hpp)
find_library(DNNL_LIBRARY dnnl)
function(real_target name include library)
  if(NOT include OR NOT library)
    message(STATUS "No test of ${name}: its library is not there")
    return()
  endif()
  add_executable(${name} ops/${name}.cc)
  target_include_directories(${name} SYSTEM PRIVATE ${include})
  target_link_libraries(${name} PRIVATE ${library})
  target_compile_features(${name} PRIVATE cxx_std_17)
  target_compile_definitions(${name} PRIVATE ${ARGN})
  golden(${name} ${name} $<TARGET_FILE:${name}>)
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT "OMP_NUM_THREADS=1;ONLY=tbb_parallel_for|body|matmul")
endfunction()
real_target(itt_tbb "${TBB_INCLUDE}" "${TBB_LIBRARY}" TBB_USE_PROFILING_TOOLS=1)
real_target(itt_dnnl "${DNNL_INCLUDE}" "${DNNL_LIBRARY}")

# What an op costs: bench/ops runs it.
add_executable(ops_cost bench/ops_cost.c)
target_include_directories(ops_cost PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_definitions(ops_cost PRIVATE _GNU_SOURCE)
target_compile_options(ops_cost PRIVATE -O2 -g0)
target_link_libraries(ops_cost PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
