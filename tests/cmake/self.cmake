# SPDX-License-Identifier: MIT
# Programs with a Python interpreter, which sample themselves: when, and that they do not notice.
add_executable(self_report tools/self_report.c)
target_link_libraries(self_report PRIVATE agent_run)
unit(agent_trap LIBS agent_core)
unit(raw_action LIBS agent_core)

# Never sanitized: they load the agent.
add_executable(self_embed programs/self_embed.c)
target_compile_definitions(self_embed PRIVATE _GNU_SOURCE)
add_executable(self_restart programs/self_restart.c)
add_executable(self_hidden programs/self_hidden.c)

# Not sanitized, either: one stands behind the agent, one is loaded by the target.
foreach(name handler_watch thread_local_library)
  add_library(${name} MODULE programs/${name}.c)
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  target_compile_options(${name} PRIVATE -fvisibility=default)
endforeach()

find_package(Python3 COMPONENTS Interpreter)
set(self_environment
  SELF_REPORT=$<TARGET_FILE:self_report>
  NO_PERF=$<TARGET_FILE:no_perf>
  SELF_EMBED=$<TARGET_FILE:self_embed>
  SELF_RESTART=$<TARGET_FILE:self_restart>
  SELF_HIDDEN=$<TARGET_FILE:self_hidden>
  HANDLER_WATCH=$<TARGET_FILE:handler_watch>
  THREAD_LOCAL_LIBRARY=$<TARGET_FILE:thread_local_library>)
if(NOT FUZZ AND Python3_FOUND)
  foreach(part Descriptors Embedded Handlers Processes Signals Threads Triggers Versions)
    string(TOLOWER ${part} name)
    add_test(NAME python_manners_${name} COMMAND ${Python3_EXECUTABLE} -B
             ${CMAKE_CURRENT_SOURCE_DIR}/python/manners.py ${part})
    set_tests_properties(python_manners_${name} PROPERTIES LABELS e2e TIMEOUT 600
      ENVIRONMENT "${self_environment}")
  endforeach()
  # It goes by the sysctl, which e2e_privileges sets.
  set_tests_properties(python_manners_triggers PROPERTIES RESOURCE_LOCK perf_event_paranoid)
endif()
