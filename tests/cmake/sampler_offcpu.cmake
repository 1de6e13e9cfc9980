# SPDX-License-Identifier: MIT
foreach(level 0 2)
  add_executable(probe_child_o${level} programs/probe_child.c)
  target_link_libraries(probe_child_o${level} PRIVATE util)
  target_link_options(probe_child_o${level} PRIVATE LINKER:-z,lazy)
endforeach()
target_compile_options(probe_child_o0 PRIVATE -O0 -fno-omit-frame-pointer)
target_compile_options(probe_child_o2 PRIVATE -O2 -fomit-frame-pointer)
set_target_properties(probe_child_o0 probe_child_o2 PROPERTIES COMPILE_DEFINITIONS _GNU_SOURCE)

fixture(off_cpu_fixture SOURCES unit/off_cpu_fixture.c LIBS sampler)
foreach(part off_cpu off_cpu_looks off_cpu_python off_cpu_ready)
  unit(${part} LIBS off_cpu_fixture sampler)
endforeach()
unit(probe SOURCES support/probe_run.c LIBS sampler)
add_dependencies(probe_test probe_child_o0 probe_child_o2)
target_compile_definitions(probe_test PRIVATE
  PROBE_CHILD_O0="$<TARGET_FILE:probe_child_o0>" PROBE_CHILD_O2="$<TARGET_FILE:probe_child_o2>")

fuzz(kernel_map LIBS sampler)
