# SPDX-License-Identifier: MIT
# Runs a program where perf_event_open is refused; never sanitized, as it execs foreign code.
add_executable(no_perf tools/no_perf.c)
target_compile_definitions(no_perf PRIVATE _GNU_SOURCE)

# Runs programs under the agent.
add_library(agent_run STATIC support/agent_drain.c support/agent_run.c)
target_link_libraries(agent_run PUBLIC reader)
target_compile_definitions(agent_run PRIVATE
  AGENT_LIBRARY="$<TARGET_FILE:bottleneck-agent>")
add_dependencies(agent_run bottleneck-agent)
add_executable(agent_report tools/agent_report.c)
target_link_libraries(agent_report PRIVATE agent_run)

# Runs programs under the agent and prints what it tells of their ops.
add_executable(op_report tools/gpu_lines.c tools/op_report.c)
target_link_libraries(op_report PRIVATE reader)
target_compile_definitions(op_report PRIVATE AGENT_LIBRARY="$<TARGET_FILE:bottleneck-agent>")
add_dependencies(op_report bottleneck-agent)

# Runs programs under the sampler, on a rung of the test's choice.
add_library(rung_run STATIC support/rung_run.c)
target_link_libraries(rung_run PUBLIC sampler reader)
target_compile_definitions(rung_run PRIVATE
  AGENT_LIBRARY="$<TARGET_FILE:bottleneck-agent>")
add_dependencies(rung_run bottleneck-agent)
add_executable(rung_report tools/rung_report.c)
target_link_libraries(rung_report PRIVATE rung_run)

# Tests of the agent's logic and of the collector's side.
add_library(tracer_test_support STATIC support/temporary.c)
target_link_libraries(tracer_test_support PUBLIC flags)
foreach(module agent_config agent_maps agent_modes agent_rings agent_signals)
  unit(${module} LIBS agent_core tracer_test_support)
endforeach()
if(NOT FUZZ) # which builds no targets
  unit(agent_objects LIBS agent_core)
  target_compile_definitions(agent_objects_test PRIVATE
    PLUGIN="$<TARGET_FILE:truth_plugin_a>")
  add_dependencies(agent_objects_test truth_plugin_a)
endif()
unit(agent_sample SOURCES support/agent_signal.c LIBS agent_core tracer_test_support)
unit(agent_loader LIBS agent_core)
unit(agent_seccomp LIBS agent_core)
unit(op_thin LIBS agent_core)
unit(agent_op LIBS agent_core reader tracer_test_support)
unit(cupti LIBS agent_core reader tracer_test_support)
fuzz(cupti_records LIBS agent_core reader sampler tracer_test_support)
unit(stopwatch LIBS agent_core)
foreach(module agent_ranges agent_store hold precedence utf8 wake)
  unit(${module} LIBS agent_core)
endforeach()
unit(op_source LIBS sampler reader agent_core tracer_test_support)
unit(reader LIBS reader agent_core tracer_test_support)
unit(owners LIBS reader agent_core tracer_test_support)
foreach(module session target)
  unit(${module} LIBS reader tracer_test_support)
endforeach()
fuzz(record LIBS sampler reader)
fuzz(op_source LIBS merge sampler reader)
fuzz(proc_stat LIBS sampler)
fuzz(map_parse LIBS agent_core sampler)
fuzz(agent_seccomp LIBS agent_core)
fuzz(precedence LIBS agent_core)

# Both sides at once under TSan, which goes with no other sanitizer and not with every kernel.
include(CheckCSourceRuns)
if(NOT FUZZ AND NOT SANITIZE)
  set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
  check_c_source_runs("int main(void) { return 0; }" TSAN_RUNS)
  unset(CMAKE_REQUIRED_FLAGS)
endif()
if(TSAN_RUNS)
  set(race_sources race/agent_race.c support/temporary.c)
  foreach(part base agent_core reader)
    get_target_property(folder ${part} SOURCE_DIR)
    get_target_property(files ${part} SOURCES)
    list(TRANSFORM files PREPEND ${folder}/)
    list(APPEND race_sources ${files})
  endforeach()
  add_executable(agent_race ${race_sources})
  target_link_libraries(agent_race PRIVATE flags m ${IBERTY})
  # Instrumented, gcc guesses worse; warnings come from where these are built in earnest.
  target_compile_options(agent_race PRIVATE -fsanitize=thread -O1 -w)
  target_link_options(agent_race PRIVATE -fsanitize=thread)
  add_test(NAME agent_race COMMAND agent_race)
  set_tests_properties(agent_race PROPERTIES LABELS unit TIMEOUT 300)
  set(race_sources race/rings_race.c)
  foreach(file perf/perf_keeper.c perf/perf_record.c perf/perf_ring.c perf/perf_wakeup.c priority.c proc/proc_stat.c)
    list(APPEND race_sources ${PROJECT_SOURCE_DIR}/sampler/${file})
  endforeach()
  add_executable(rings_race ${race_sources} ${PROJECT_SOURCE_DIR}/base/error.c)
  target_link_libraries(rings_race PRIVATE flags)
  target_compile_options(rings_race PRIVATE -fsanitize=thread -O1 -w)
  target_link_options(rings_race PRIVATE -fsanitize=thread)
  add_test(NAME rings_race COMMAND rings_race)
  set_tests_properties(rings_race PROPERTIES LABELS unit TIMEOUT 300)
endif()

# The agent in programs: hard ones, real ones, and ones that it cannot get into.
add_executable(agent_target programs/agent_target.c)
target_compile_definitions(agent_target PRIVATE _GNU_SOURCE)
target_compile_options(agent_target PRIVATE -O1)
add_executable(agent_target_static programs/agent_target_hello.c)
target_link_options(agent_target_static PRIVATE -static)
set_target_properties(agent_target_static PROPERTIES POSITION_INDEPENDENT_CODE OFF)
find_program(MUSL_GCC musl-gcc)
if(MUSL_GCC)
  foreach(kind dynamic static)
    set(flag $<$<STREQUAL:${kind},static>:-static>)
    add_custom_command(OUTPUT hello_musl_${kind}
      COMMAND ${MUSL_GCC} -O1 "${flag}" ${CMAKE_CURRENT_SOURCE_DIR}/programs/agent_target_hello.c
              -o hello_musl_${kind}
      DEPENDS programs/agent_target_hello.c COMMAND_EXPAND_LISTS VERBATIM)
  endforeach()
  add_custom_target(hello_musl DEPENDS hello_musl_dynamic hello_musl_static)
  set(hello_musl ${CMAKE_CURRENT_BINARY_DIR}/hello_musl_dynamic)
  set(hello_musl_static ${CMAKE_CURRENT_BINARY_DIR}/hello_musl_static)
endif()
unit(agent_e2e LIBS agent_run)
target_compile_definitions(agent_e2e_test PRIVATE TARGET="$<TARGET_FILE:agent_target>"
  HELLO_STATIC="$<TARGET_FILE:agent_target_static>" HELLO_MUSL="${hello_musl}"
  HELLO_MUSL_STATIC="${hello_musl_static}")
add_dependencies(agent_e2e_test agent_target agent_target_static)
if(MUSL_GCC)
  add_dependencies(agent_e2e_test hello_musl)
endif()

# Threads that wait for each other; and what that costs where nobody has to.
if(NOT FUZZ)
  add_executable(waits_target programs/waits_target.c)
  target_compile_definitions(waits_target PRIVATE _GNU_SOURCE)
  target_compile_options(waits_target PRIVATE -O1)
  target_link_libraries(waits_target PRIVATE Threads::Threads)
  unit(waits_folded LIBS agent_core)
  unit(waits_e2e LIBS agent_run)
  file(GLOB waits_pythons $ENV{HOME}/.pyenv/versions/3.8.*/bin/python3
    $ENV{HOME}/.pyenv/versions/3.13.*/bin/python3)
  list(APPEND waits_pythons /usr/bin/python3)
  list(JOIN waits_pythons "\",\"" waits_pythons)
  target_compile_definitions(waits_e2e_test PRIVATE TARGET="$<TARGET_FILE:waits_target>"
    WAITS_PYTHONS="${waits_pythons}")
  add_dependencies(waits_e2e_test waits_target)
  add_executable(overhead_cost bench/overhead_cost.c)
  target_compile_definitions(overhead_cost PRIVATE _GNU_SOURCE)
  target_compile_options(overhead_cost PRIVATE -O2 -g0)
  target_link_libraries(overhead_cost PRIVATE Threads::Threads)
  add_executable(waits_cost bench/waits_cost.c)
  target_compile_definitions(waits_cost PRIVATE _GNU_SOURCE)
  target_compile_options(waits_cost PRIVATE -O2 -g0)
  target_link_libraries(waits_cost PRIVATE Threads::Threads)
endif()

find_program(OBJDUMP objdump)
find_package(Python3 COMPONENTS Interpreter)
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libc.so.6 OUTPUT_VARIABLE libc_file
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(OBJDUMP AND Python3_FOUND)
  add_test(NAME agent_symbols
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/tools/agent_symbols.py
            $<TARGET_FILE:bottleneck-agent> ${OBJDUMP} ${libc_file})
  set_tests_properties(agent_symbols PROPERTIES LABELS unit)
endif()

unit(agent_source LIBS rung_run)
target_compile_definitions(agent_source_test PRIVATE TARGET="$<TARGET_FILE:agent_target>"
  HELLO_STATIC="$<TARGET_FILE:agent_target_static>")
add_dependencies(agent_source_test agent_target agent_target_static)

if(NOT FUZZ)
  include(cmake/tracer_ops.cmake)
endif()
