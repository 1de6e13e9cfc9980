# SPDX-License-Identifier: MIT
# GPU activity, on machines without a GPU: one library, loaded as the driver, the runtime and CUPTI
# (see gpu/fake_settings.h). It is neither sanitized nor ours to be linked: programs load it.
set(FAKE_SOURCES fake_buffers fake_call fake_clock fake_cupti fake_delivery fake_device fake_driver
  fake_facts fake_functions fake_graph fake_kernel fake_lane fake_managed fake_memory fake_module
  fake_next_record fake_pc fake_registration fake_runtime fake_runtime_memory fake_runtime_stream
  fake_settings fake_subscriber fake_work record_kinds saved_buffers)
list(REMOVE_ITEM FAKE_SOURCES fake_cupti) # which there are two of
list(TRANSFORM FAKE_SOURCES PREPEND gpu/)
list(TRANSFORM FAKE_SOURCES APPEND .c)
list(APPEND FAKE_SOURCES ../base/array.c ../base/error.c ../base/hash.c)
set(GPU_DIR ${CMAKE_CURRENT_BINARY_DIR}/gpu)

# How all of it is compiled.
function(fake_gpu_flags target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  target_compile_options(${target} PRIVATE -std=gnu11 -Wall -Wextra -g -O2
    $<$<BOOL:${WERROR}>:-Werror>)
  set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET default)
endfunction()

add_library(fake_gpu_parts OBJECT ${FAKE_SOURCES})
fake_gpu_flags(fake_gpu_parts)

# fake_gpu(NAME MAP): GPU_DIR/NAME, for LD_LIBRARY_PATH. The links are one file, so that it is
# mapped once.
function(fake_gpu name map)
  set(dir ${GPU_DIR}/${name})
  add_library(fake_gpu_${name} SHARED gpu/fake_cupti.c $<TARGET_OBJECTS:fake_gpu_parts>)
  fake_gpu_flags(fake_gpu_${name})
  target_link_libraries(fake_gpu_${name} PRIVATE pthread dl)
  target_link_options(fake_gpu_${name} PRIVATE -Wl,-soname,libcudart.so.13 -Wl,-Bsymbolic
    -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/gpu/${map})
  set_target_properties(fake_gpu_${name} PROPERTIES OUTPUT_NAME cudart PREFIX lib SUFFIX .so.13
    LIBRARY_OUTPUT_DIRECTORY ${dir}
    LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/gpu/${map})
  foreach(soname cuda.so.1 cupti.so.13)
    add_custom_command(TARGET fake_gpu_${name} POST_BUILD
      COMMAND ${CMAKE_COMMAND} -E create_symlink libcudart.so.13 ${dir}/lib${soname})
  endforeach()
endfunction()

fake_gpu(fake fake.map)
fake_gpu(older fake_older.map)
target_compile_definitions(fake_gpu_older PRIVATE FAKE_OLDER=1)
fake_gpu(broken fake_broken.map)

# The client that tests the fake, and runs on a real GPU as well.
add_library(gpu_client MODULE gpu/gpu_client.c gpu/gpu_client_counts.c gpu/record_kinds.c
  gpu/saved_buffers.c gpu/saved_writer.c ../base/array.c ../base/error.c)
target_include_directories(gpu_client PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_definitions(gpu_client PRIVATE _GNU_SOURCE)
target_compile_options(gpu_client PRIVATE -Wall -Wextra -g -O2 $<$<BOOL:${WERROR}>:-Werror>)
target_link_libraries(gpu_client PRIVATE pthread dl)
set_target_properties(gpu_client PROPERTIES PREFIX lib LIBRARY_OUTPUT_DIRECTORY ${GPU_DIR})

# Programs for a GPU: see gpu/programs/gpu_program.h. Linked to the fake as to the runtime, and by
# no path, so that LD_LIBRARY_PATH says which.
set(GPU_PROGRAMS callers churn copies devices driver faults gpu_bound graphs idle launch_bound
  lines managed processes streams sync_happy threads variable vector_add waits)
foreach(name ${GPU_PROGRAMS})
  add_executable(gpu_${name} gpu/programs/${name}.c)
  target_include_directories(gpu_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(gpu_${name} PRIVATE _GNU_SOURCE)
  target_compile_options(gpu_${name} PRIVATE -Wall -Wextra -g -O2 $<$<BOOL:${WERROR}>:-Werror>)
  target_link_libraries(gpu_${name} PRIVATE fake_gpu_fake pthread)
  set_target_properties(gpu_${name} PROPERTIES OUTPUT_NAME ${name} SKIP_BUILD_RPATH ON
    RUNTIME_OUTPUT_DIRECTORY ${GPU_DIR}/programs)
endforeach()

# The same as driver, linked to no driver.
add_executable(gpu_driver_by_address gpu/programs/driver.c)
target_include_directories(gpu_driver_by_address PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_definitions(gpu_driver_by_address PRIVATE _GNU_SOURCE BY_ADDRESS)
target_compile_options(gpu_driver_by_address PRIVATE -Wall -Wextra -g -O2
  $<$<BOOL:${WERROR}>:-Werror>)
target_link_libraries(gpu_driver_by_address PRIVATE dl)
set_target_properties(gpu_driver_by_address PROPERTIES OUTPUT_NAME driver_by_address
  SKIP_BUILD_RPATH ON RUNTIME_OUTPUT_DIRECTORY ${GPU_DIR}/programs)

# The same as variable, whose variable is known by CUPTI's records alone.
add_executable(gpu_variable_late gpu/programs/variable.c)
target_include_directories(gpu_variable_late PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_definitions(gpu_variable_late PRIVATE _GNU_SOURCE NO_SECTION)
target_compile_options(gpu_variable_late PRIVATE -Wall -Wextra -g -O2
  $<$<BOOL:${WERROR}>:-Werror>)
target_link_libraries(gpu_variable_late PRIVATE fake_gpu_fake pthread)
set_target_properties(gpu_variable_late PROPERTIES OUTPUT_NAME variable_late SKIP_BUILD_RPATH ON
  RUNTIME_OUTPUT_DIRECTORY ${GPU_DIR}/programs)

# gpu_unit(NAME SOURCES...): gpu/NAME_test.c
function(gpu_unit name)
  add_executable(${name}_test gpu/${name}_test.c ${ARGN})
  target_link_libraries(${name}_test PRIVATE base expect)
  target_compile_definitions(${name}_test PRIVATE GPU_DIR="${GPU_DIR}")
  target_compile_options(${name}_test PRIVATE -Wno-missing-prototypes)
  add_test(NAME ${name} COMMAND ${name}_test)
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 300
    FAIL_REGULAR_EXPRESSION "ERROR: LeakSanitizer")
endfunction()

gpu_unit(fake_gpu gpu/gpu_run.c)
add_dependencies(fake_gpu_test gpu_client fake_gpu_older fake_gpu_broken)
foreach(name ${GPU_PROGRAMS})
  add_dependencies(fake_gpu_test gpu_${name})
endforeach()

gpu_unit(saved_buffers gpu/saved_buffers.c gpu/saved_writer.c gpu/record_kinds.c)
gpu_unit(fake_cuda)
target_link_libraries(fake_cuda_test PRIVATE fake_gpu_fake pthread)

# NVIDIA's own library, which answers some questions without a driver.
find_file(REAL_CUPTI libcupti.so.13 PATHS /usr/local/cuda /usr/local/cuda/extras/CUPTI
          PATH_SUFFIXES lib lib64 NO_DEFAULT_PATH)
gpu_unit(fake_names gpu/gpu_run.c gpu/fake_functions.c gpu/saved_buffers.c)
target_link_libraries(fake_names_test PRIVATE dl)
target_compile_definitions(fake_names_test PRIVATE
  REAL_CUPTI="$<$<BOOL:${REAL_CUPTI}>:${REAL_CUPTI}>")
add_dependencies(fake_names_test gpu_client)
foreach(name churn copies devices driver graphs sync_happy)
  add_dependencies(fake_names_test gpu_${name})
endforeach()

# The same programs by nvcc, built when the tests are run: that takes a while.
find_program(NVCC nvcc PATHS /usr/local/cuda/bin)
set(nvcc_binaries "")
get_filename_component(nvcc_dir "${NVCC}" DIRECTORY)
set(nvcc_link_driver -L ${nvcc_dir}/../lib64/stubs -lcuda)
set(nvcc_link_lines ${nvcc_link_driver})
set(nvcc_flags_nvcc_per_thread --default-stream per-thread)
set(nvcc_programs_nvcc ${GPU_PROGRAMS})
set(nvcc_programs_nvcc_per_thread churn copies graphs launch_bound)
foreach(kind nvcc nvcc_per_thread)
  foreach(name ${nvcc_programs_${kind}})
    set(binary ${GPU_DIR}/${kind}/${name})
    add_custom_command(OUTPUT ${binary}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${GPU_DIR}/${kind}
      COMMAND ${NVCC} -cudart shared ${nvcc_flags_${kind}} -I ${PROJECT_SOURCE_DIR} -x cu
              ${CMAKE_CURRENT_SOURCE_DIR}/gpu/programs/${name}.c -o ${binary} ${nvcc_link_${name}}
      DEPENDS gpu/programs/${name}.c gpu/programs/gpu_program.h)
    list(APPEND nvcc_binaries ${binary})
  endforeach()
endforeach()
add_custom_target(gpu_nvcc DEPENDS ${nvcc_binaries})
gpu_unit(nvcc_programs gpu/gpu_run.c)
target_compile_definitions(nvcc_programs_test PRIVATE HAS_NVCC=$<BOOL:${NVCC}>)
add_dependencies(nvcc_programs_test gpu_client)
if(NVCC)
  add_test(NAME nvcc_programs_build
    COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target gpu_nvcc)
  set_tests_properties(nvcc_programs_build PROPERTIES LABELS unit TIMEOUT 600
    FIXTURES_SETUP nvcc_programs)
  set_tests_properties(nvcc_programs PROPERTIES FIXTURES_REQUIRED nvcc_programs)
endif()

find_path(CUPTI_INCLUDE cupti.h PATHS /usr/local/cuda/include
                                      /usr/local/cuda/extras/CUPTI/include)
if(CUPTI_INCLUDE)
  foreach(name cuda_abi cupti_abi cupti_sizes)
    add_executable(${name}_test gpu/${name}_test.c)
    target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR})
    target_include_directories(${name}_test SYSTEM PRIVATE ${CUPTI_INCLUDE})
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES LABELS unit)
  endforeach()
  target_sources(cupti_sizes_test PRIVATE gpu/record_kinds.c)
else()
  not_tested("the layouts of CUPTI's records: its headers are not installed")
endif()

if(NOT FUZZ) # which builds no targets
  include(cmake/gpu_told.cmake)
endif()
