# SPDX-License-Identifier: MIT
foreach(module address_space backlog budget cfi_search code_rules correlations cpu_account follow
        go_remote go_stacks gpu_calls kernel_map ladder last_stack mapper op_records op_site
        op_stack op_tracker perf_closer perf_event perf_wakeup priority proc_io proc_stat proc_tree
        python read_risk tasks thinning timeline tracker wait whole_stacks)
  unit(${module} LIBS sampler)
endforeach()
unit(proc_task LIBS sampler tracer_test_support)
unit(hijack LIBS sampler)
unit(object LIBS sampler dl)
unit(python_command LIBS sampler)
unit(proc_title LIBS sampler tracer_test_support)
unit(unwind_modules LIBS sampler dl)
unit(cfi_table LIBS sampler PkgConfig::DW PkgConfig::ELF)

# One program, built as programs are built: see scene/scene.c. Neither our flags nor sanitized.
function(scene name)
  add_executable(${name} scene/scene.c scene/scene_asm.S)
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${SCENES_DIR}
    POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${name} PRIVATE -Wall -Wextra ${ARGN})
  add_dependencies(unwinder_test ${name})
  add_dependencies(image_test ${name})
endfunction()

enable_language(ASM)
set(SCENES_DIR ${CMAKE_CURRENT_BINARY_DIR}/scenes)
unit(unwinder SOURCES scene/scene_stack.c scene/scene_process.c LIBS sampler dl)
unit(image SOURCES scene/scene_stack.c scene/scene_process.c LIBS sampler)
foreach(test unwinder_test image_test)
  target_include_directories(${test} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(${test} PRIVATE SCENES_DIR="${SCENES_DIR}")
endforeach()
scene(scene -O2 -fno-omit-frame-pointer)
scene(scene_O0 -O0)
scene(scene_no_fp -O2 -fomit-frame-pointer)
scene(scene_static -O2)
target_link_options(scene_static PRIVATE -static -no-pie -Wl,--no-eh-frame-hdr)
scene(scene_static_pie -O2 -fPIE)
target_link_options(scene_static_pie PRIVATE -static-pie)
scene(scene_debug_frame -O2 -g -fno-asynchronous-unwind-tables -fno-unwind-tables)
scene(scene_debug_frame_gz -O2 -g -gz -fno-asynchronous-unwind-tables -fno-unwind-tables)
find_program(MUSL_GCC musl-gcc)
if(MUSL_GCC)
  foreach(scene musl musl_no_fp)
    set(frame_pointer $<IF:$<STREQUAL:${scene},musl>,-fno-omit-frame-pointer,-fomit-frame-pointer>)
    add_custom_command(OUTPUT ${SCENES_DIR}/scene_${scene}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${SCENES_DIR}
      COMMAND ${MUSL_GCC} -static -O1 ${frame_pointer} -D_GNU_SOURCE
        ${CMAKE_CURRENT_SOURCE_DIR}/scene/scene.c ${CMAKE_CURRENT_SOURCE_DIR}/scene/scene_asm.S
        -o ${SCENES_DIR}/scene_${scene}
      DEPENDS scene/scene.c scene/scene_asm.S)
    add_custom_target(scene_${scene} DEPENDS ${SCENES_DIR}/scene_${scene})
    add_dependencies(unwinder_test scene_${scene})
  endforeach()
endif()

add_executable(unwind_oracle oracle/unwind_oracle.c oracle/capture.c oracle/child.c)
target_link_libraries(unwind_oracle PRIVATE flags sampler)
target_include_directories(unwind_oracle PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
add_test(NAME unwind_oracle
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/oracle/run $<TARGET_FILE:unwind_oracle>)
set_tests_properties(unwind_oracle PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)

fuzz(cfi_table LIBS sampler)
fuzz(code_rules LIBS sampler)
fuzz(go_remote LIBS sampler)
fuzz(go_stripped LIBS sampler PkgConfig::ELF)
fuzz(image LIBS sampler)

include(cmake/sampler_capture.cmake OPTIONAL)
include(cmake/sampler_offcpu.cmake OPTIONAL)
