# SPDX-License-Identifier: MIT
# Runs programs under the agent and prints the Python stacks that it saw.
add_executable(python_report tools/python_report.c)
target_link_libraries(python_report PRIVATE agent_run)

# The same with what the interpreter itself told.
add_executable(python_told tools/python_told.c)
target_link_libraries(python_told PRIVATE agent_run)

unit(python_layout LIBS base)
unit(python_tally LIBS agent_core)
unit(agent_await LIBS agent_core tracer_test_support)
unit(agent_await_steps LIBS agent_core tracer_test_support)
unit(agent_python LIBS agent_core tracer_test_support)
fuzz(python_layout LIBS base)
fixture(python_image SOURCES support/python_image.c LIBS sampler)
unit(python_remote LIBS python_image sampler)
fixture(python_looks SOURCES fuzz/python_looks.c LIBS sampler)
fuzz(python_image LIBS python_looks python_image sampler)
fuzz(python_remote LIBS python_looks sampler)

# Each interpreter on this machine: staged stacks, and calls that cannot be.
if(NOT FUZZ)
  find_package(Python3 COMPONENTS Interpreter)
endif()
if(Python3_FOUND)
  foreach(by traps timers)
    add_test(NAME python_exact_${by} COMMAND ${Python3_EXECUTABLE} -B
      ${CMAKE_CURRENT_SOURCE_DIR}/python/exactness.py $<TARGET_FILE:python_report> 999 ${by})
  endforeach()
  add_test(NAME python_counts COMMAND ${Python3_EXECUTABLE} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/python/counts.py $<TARGET_FILE:python_told>)
  set_tests_properties(python_counts PROPERTIES LABELS e2e TIMEOUT 900 SKIP_RETURN_CODE 77)
  add_test(NAME python_pstats COMMAND ${Python3_EXECUTABLE} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/python/pstats_calls.py $<TARGET_FILE:bottleneck>)
  set_tests_properties(python_pstats PROPERTIES LABELS e2e TIMEOUT 900 SKIP_RETURN_CODE 77)
  add_test(NAME python_cfunctions COMMAND ${Python3_EXECUTABLE} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/python/cfunctions.py $<TARGET_FILE:bottleneck>)
  set_tests_properties(python_cfunctions PROPERTIES LABELS e2e TIMEOUT 900 SKIP_RETURN_CODE 77)
  add_test(NAME python_origins COMMAND ${Python3_EXECUTABLE} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/python/origins.py $<TARGET_FILE:bottleneck>)
  set_tests_properties(python_origins PROPERTIES LABELS e2e TIMEOUT 900 SKIP_RETURN_CODE 77)
  add_test(NAME python_callers COMMAND ${Python3_EXECUTABLE} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/python/callers.py $<TARGET_FILE:bottleneck>)
  set_tests_properties(python_callers PROPERTIES LABELS e2e TIMEOUT 900)
  add_test(NAME python_tracing COMMAND ${Python3_EXECUTABLE} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/python/tracing.py $<TARGET_FILE:bottleneck>)
  set_tests_properties(python_tracing PROPERTIES LABELS e2e TIMEOUT 900)
  add_test(NAME python_survive COMMAND ${Python3_EXECUTABLE} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/python/survival.py $<TARGET_FILE:python_report> 0.5)
  foreach(rung kernel user agent)
    add_test(NAME python_waits_${rung} COMMAND ${Python3_EXECUTABLE} -B
      ${CMAKE_CURRENT_SOURCE_DIR}/python/waits.py $<TARGET_FILE:bottleneck> --rung ${rung})
    set_tests_properties(python_waits_${rung} PROPERTIES LABELS e2e TIMEOUT 900 SKIP_RETURN_CODE 77)
  endforeach()
  set_tests_properties(python_exact_traps python_exact_timers python_survive PROPERTIES
    LABELS e2e TIMEOUT 900 ENVIRONMENT TEAR_SECONDS=1)
endif()
