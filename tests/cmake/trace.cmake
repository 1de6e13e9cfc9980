# SPDX-License-Identifier: MIT
# --trace: functions of the program's own as ops.
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  not_tested("--trace: it is for x86-64")
  return()
endif()

foreach(module displace intruders object_file pattern symbols x86)
  unit(${module} LIBS agent_core)
endforeach()
unit(patches LIBS sampler)
fuzz(displace LIBS agent_core)
fuzz(symbols LIBS agent_core)
if(FUZZ)
  return()
endif()

# An oracle, where it is there, for what we decode.
find_path(ZYDIS_INCLUDE Zydis/Zydis.h)
find_library(ZYDIS_LIBRARY Zydis)
if(ZYDIS_INCLUDE AND ZYDIS_LIBRARY)
  file(STRINGS ${ZYDIS_INCLUDE}/Zydis/Decoder.h ZYDIS_4 REGEX ZydisDecoderDecodeFull)
endif()
if(ZYDIS_4)
  add_executable(x86_oracle oracle/x86_oracle.c)
  target_include_directories(x86_oracle SYSTEM PRIVATE ${ZYDIS_INCLUDE})
  target_link_libraries(x86_oracle PRIVATE flags agent_core ${ZYDIS_LIBRARY})
  add_test(NAME x86_oracle COMMAND sh -c "exec \"$0\" \"$@\" $(ldd \"$0\" | grep -o '/[^ ]*lib[cm].so[^ ]*') $(command -v perl git python3 sqlite3)"
           $<TARGET_FILE:x86_oracle> $<TARGET_FILE:bottleneck>)
  set_tests_properties(x86_oracle PROPERTIES LABELS unit TIMEOUT 120)
else()
  not_tested("the decoder of instructions against Zydis: version 4 is not installed")
endif()

# Neither our flags nor sanitized: what compilers make of programs.
add_library(trace_plugin MODULE trace/trace_plugin.c)
target_compile_options(trace_plugin PRIVATE -O2)
function(trace_program name source)
  add_executable(${name} trace/${source})
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  target_compile_options(${name} PRIVATE -g ${ARGN})
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
endfunction()
find_package(Threads REQUIRED)
trace_program(trace_target trace_target.c -O2)
trace_program(trace_target_O0 trace_target.c -O0)
trace_program(trace_target_cet trace_target.c -O2 -fcf-protection)
trace_program(trace_exceptions trace_exceptions.cc -O2)
trace_program(trace_stepped trace_stepped.cc -O2)

set(trace_parts backtraces endings forks handlers jumps kinds plugins recursion routines tails
  threads)
foreach(program trace_target trace_target_cet trace_target_O0)
  foreach(part ${trace_parts})
    add_test(NAME ${program}_${part} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/trace/same.sh
             $<TARGET_FILE:op_report> f_* $<TARGET_FILE:${program}> ${part})
    set_tests_properties(${program}_${part} PROPERTIES LABELS unit TIMEOUT 120
      ENVIRONMENT "TRACE_PLUGIN=$<TARGET_FILE:trace_plugin>")
  endforeach()
  add_dependencies(${program} trace_plugin)
endforeach()

# An agent that takes every thread to have a shadow stack: processors with them are rare.
add_library(agent_shadowed SHARED $<TARGET_OBJECTS:bottleneck-agent> trace/always_shadowed.c)
target_link_libraries(agent_shadowed PRIVATE ${IBERTY})
target_link_options(agent_shadowed PRIVATE LINKER:--exclude-libs,ALL LINKER:--gc-sections
  LINKER:--wrap=shadow_stack_is_on)
add_executable(op_report_shadowed tools/gpu_lines.c tools/op_report.c)
target_link_libraries(op_report_shadowed PRIVATE reader)
target_compile_definitions(op_report_shadowed PRIVATE
  AGENT_LIBRARY="$<TARGET_FILE:agent_shadowed>")
add_dependencies(op_report_shadowed agent_shadowed)
foreach(part ${trace_parts} returns)
  add_test(NAME trace_shadowed_${part} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/trace/same.sh
           $<TARGET_FILE:op_report_shadowed> f_* $<TARGET_FILE:trace_target_cet> ${part})
  set_tests_properties(trace_shadowed_${part} PROPERTIES LABELS unit TIMEOUT 120
    ENVIRONMENT "TRACE_PLUGIN=$<TARGET_FILE:trace_plugin>")
endforeach()
# Without one calls return to the agent: what the last of these parts looks at is seen.
add_test(NAME trace_returns_seen COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/trace/same.sh
         $<TARGET_FILE:op_report> f_* $<TARGET_FILE:trace_target_cet> returns)
set_tests_properties(trace_returns_seen PROPERTIES LABELS unit WILL_FAIL ON)
add_test(NAME trace_calls_shadowed COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/ops/calls.sh 80000 f_static
         $<TARGET_FILE:op_report_shadowed> $<TARGET_FILE:trace_target_cet> threads)
set_tests_properties(trace_calls_shadowed PROPERTIES LABELS unit TIMEOUT 300
  ENVIRONMENT "STATUS=3;TRACE=f_static;TRACE_CALLS=10000")

add_test(NAME trace_exceptions COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/trace/same.sh
         $<TARGET_FILE:op_report> "trace_exceptions:*f_*" $<TARGET_FILE:trace_exceptions>)
set_tests_properties(trace_exceptions PROPERTIES LABELS unit TIMEOUT 120)
add_test(NAME trace_stepped COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/trace/same.sh
         $<TARGET_FILE:op_report> "trace_stepped:*f_*" $<TARGET_FILE:trace_stepped>)
set_tests_properties(trace_stepped PROPERTIES LABELS unit TIMEOUT 120)

# Which ops there are.
foreach(part endings forks jumps kinds plugins recursion routines tails)
  add_test(NAME trace_tree_${part} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/ops/golden.sh
           $<TARGET_FILE:op_report> ${CMAKE_CURRENT_SOURCE_DIR}/golden/trace/${part}.txt
           $<TARGET_FILE:trace_target> ${part})
  set_tests_properties(trace_tree_${part} PROPERTIES LABELS unit TIMEOUT 60
    ENVIRONMENT "STATUS=3;TRACE=f_*;TRACE_ROUNDS=2;TRACE_PLUGIN=$<TARGET_FILE:trace_plugin>")
endforeach()
add_test(NAME trace_tree_exceptions COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/ops/golden.sh
         $<TARGET_FILE:op_report> ${CMAKE_CURRENT_SOURCE_DIR}/golden/trace/exceptions.txt
         $<TARGET_FILE:trace_exceptions> 2)
set_tests_properties(trace_tree_exceptions PROPERTIES LABELS unit TIMEOUT 60
  ENVIRONMENT "STATUS=5;TRACE=trace_exceptions:*f_*;ONLY=f_(catch|again|nested|convert)|f_throw")

# Each of a million calls in each of eight threads.
add_test(NAME trace_calls COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/ops/calls.sh 8000000 f_static
         $<TARGET_FILE:op_report> $<TARGET_FILE:trace_target> threads)
set_tests_properties(trace_calls PROPERTIES LABELS unit TIMEOUT 300
  ENVIRONMENT "STATUS=3;TRACE=f_static;TRACE_CALLS=1000000")

# Libraries and programs of the machine, whole.
add_test(NAME trace_real COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/trace/real.sh
         ${CMAKE_CURRENT_SOURCE_DIR}/trace/same.sh $<TARGET_FILE:op_report>)
set_tests_properties(trace_real PROPERTIES LABELS e2e TIMEOUT 600 SKIP_RETURN_CODE 77)
