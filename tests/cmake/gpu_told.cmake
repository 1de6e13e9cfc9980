# SPDX-License-Identifier: MIT
# What the agent tells of programs on the fake GPU.
foreach(name ends other other_by_name)
  string(REPLACE "_by_name" "" source ${name})
  add_executable(gpu_${name} gpu/gpu_${source}.c)
  target_include_directories(gpu_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(gpu_${name} PRIVATE _GNU_SOURCE)
  target_compile_options(gpu_${name} PRIVATE -Wall -Wextra -g -O2 $<$<BOOL:${WERROR}>:-Werror>)
  target_link_libraries(gpu_${name} PRIVATE fake_gpu_fake pthread)
  set_target_properties(gpu_${name} PROPERTIES SKIP_BUILD_RPATH ON
    RUNTIME_OUTPUT_DIRECTORY ${GPU_DIR}/programs)
endforeach()
target_compile_definitions(gpu_other_by_name PRIVATE BY_NAME)
target_link_libraries(gpu_other_by_name PRIVATE dl)

# told(NAME FAKE ARGS… -- PROGRAM…): see gpu/told.py.
find_package(Python3 COMPONENTS Interpreter)
function(told name fake)
  if(NOT Python3_FOUND)
    return()
  endif()
  add_test(NAME gpu_told_${name}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/gpu/told.py
            $<TARGET_FILE:op_report> ${GPU_DIR}/${fake} ${ARGN}
    WORKING_DIRECTORY ${GPU_DIR}/programs)
  set_tests_properties(gpu_told_${name} PROPERTIES LABELS unit TIMEOUT 120)
endfunction()

foreach(name callers churn copies driver driver_by_address faults gpu_bound launch_bound
        managed processes streams sync_happy vector_add)
  told(${name} fake -- ./${name})
endforeach()
told(idle fake -e BATCHES=10 -- ./idle) # each is 20 ms of CPU time
told(variable fake -x untied -- ./variable)
told(all_launches fake -L 2 -- ./callers)
told(no_launches fake -L 0 -- ./callers)
told(graphs fake -x graphs -- ./graphs)
told(graph_nodes fake -G 2 -x nodes -- ./graphs)
told(devices fake -e FAKE_DEVICES=3 -- ./devices)
told(waits fake -e FAKE_DEVICES=2 -- ./waits)

# CUDA's releases: what an older one does not have is not there, and counted.
foreach(version 11.0 11.2 11.8)
  told(cuda_${version} fake -v ${version} -x partly -x lost:refused -- ./vector_add)
endforeach()
foreach(version 12.0 12.6)
  told(cuda_${version} fake -v ${version} -- ./copies)
endforeach()
told(cuda_older older -n "clock of its own" -- ./vector_add)

# What goes wrong.
told(busy fake -f busy=nsys -x none -n "in use by \"nsys\"" -- ./vector_add)
told(no_rights fake -f result=35 -x none -n NVreg_RestrictProfilingToAdminUsers=0 -- ./vector_add)
told(no_driver fake -f result=999 -x none -n "update the driver" -- ./vector_add)
told(mig fake -f result=43 -x none -n "does not support this kind of device" -- ./vector_add)
told(broken broken -x none -n "has no cuptiGetCallbackName" -- ./vector_add)
told(denied fake -f deny=10 -x partly -x lost:refused -n "1 kind refused" -- ./vector_add)
told(no_clock fake -f no-clock=14 -n "clock of its own" -- ./copies)
told(dropped fake -f drop=7 -x partly -x lost:dropped -- ./launch_bound)
told(short fake -f short=4096 -- ./sync_happy)
told(misaligned fake -f misaligned -x partly -x lost:damaged -- ./sync_happy)
told(disorder fake -f disorder,short=65536 -- ./launch_bound)
told(zero_times fake -f zero-times -x untimed -x lost:untimed -- ./vector_add)
told(null_buffer fake -f null-buffer -- ./launch_bound)
told(unknown_kind fake -f unknown-kind=5 -x lost:unknown -- ./launch_bound)
told(bad_kind fake -f bad-kind=50 -x partly -x lost:damaged -- ./launch_bound)
told(garbage fake -f garbage -x lost:damaged -- ./vector_add)
# The last thing comes after a second, by its flush period: two more are waited.
told(slow_flush fake -f slow-flush=5000 -x partly -n "did not give out its last records in time"
     -- ./vector_add)

# Ends of programs.
told(leaves fake -s 7 -- ./gpu_ends leaves)
told(killed fake -s 137 -- ./gpu_ends killed)
foreach(end execs stays forks forks-first threads resets)
  told(${end} fake -- ./gpu_ends ${end})
endforeach()

# Programs that use CUPTI themselves.
set(by_itself -n "the program profiles its GPU by itself")
foreach(how finalizes often once)
  told(other_${how} fake -x gap:activity ${by_itself} -- ./gpu_other ${how})
  told(other_by_name_${how} fake -x gap:activity ${by_itself} -- ./gpu_other_by_name ${how})
endforeach()
told(other_to_the_end fake -x open:activity ${by_itself} -- ./gpu_other to-the-end)
told(other_subscribes fake -x gap:calls -x untied -- ./gpu_other subscribes)
told(other_subscribes_first fake -x gap:calls -x untied -- ./gpu_other subscribes-first)

# As text. What a GPU has done is reported when a buffer of CUPTI's is full, or once it is asked for.
golden(gpu_golden gpu $<TARGET_FILE:gpu_vector_add>)
set_tests_properties(gpu_golden PROPERTIES ENVIRONMENT
  "LD_LIBRARY_PATH=${GPU_DIR}/fake;SORTED=^p1 gpu")

# A user's own library is called first, and has CUPTI if it wants that.
told(chained fake -e CUDA_INJECTION64_PATH=$<TARGET_FILE:gpu_client> -x none
     -n "CUPTI is in use by" -- ./vector_add)
told(chained_missing fake -e CUDA_INJECTION64_PATH=/nowhere/lib.so
     -n "could not load \"/nowhere/lib.so\", the CUDA_INJECTION64_PATH" -- ./vector_add)

add_test(NAME gpu_called_from COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/gpu/called_from.sh
         $<TARGET_FILE:bottleneck> ${GPU_DIR}/fake
         ${CMAKE_CURRENT_SOURCE_DIR}/gpu/programs/sync_happy.c $<TARGET_FILE:gpu_sync_happy>)
set_tests_properties(gpu_called_from PROPERTIES LABELS unit TIMEOUT 60)

# A million kernels.
told(million fake -e LAUNCHES=1000000 -e US=0 -- ./launch_bound)

# Lines inside of kernels.
if(Python3_FOUND)
  add_test(NAME gpu_kernel_lines
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/gpu/lines.py
            $<TARGET_FILE:bottleneck> ${GPU_DIR}/fake ${GPU_DIR}/programs
            ${CMAKE_CURRENT_SOURCE_DIR}/data/cubin)
  add_test(NAME gpu_faults
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/gpu/faults.py
            $<TARGET_FILE:bottleneck> ${GPU_DIR} ${GPU_DIR}/programs)
  # What is for a real GPU, as far as it goes without.
  add_test(NAME gpu_hardware
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/gpu/hardware ${CMAKE_BINARY_DIR}
            --fake --out ${GPU_DIR}/hardware-out
            --only probe programs callers clock nodes managed faults lines killed buffers)
  set_tests_properties(gpu_hardware PROPERTIES LABELS unit TIMEOUT 600 SKIP_RETURN_CODE 77)
  set_tests_properties(gpu_kernel_lines gpu_faults PROPERTIES LABELS unit TIMEOUT 600)
endif()
