# SPDX-License-Identifier: MIT
# Hostile Python programs do under bottleneck what they do without.
if(NOT FUZZ AND Python3_FOUND AND TARGET bottleneck)
  foreach(rung kernel agent)
    foreach(group children ends hooks limits pools stacks waits)
      add_test(NAME python_survival_${group}_${rung} COMMAND ${Python3_EXECUTABLE} -B
        ${CMAKE_CURRENT_SOURCE_DIR}/python/survival_run.py $<TARGET_FILE:bottleneck>
             --rung ${rung} ${group})
      set_tests_properties(python_survival_${group}_${rung} PROPERTIES LABELS e2e TIMEOUT 900)
    endforeach()
    add_test(NAME python_guards_${rung} COMMAND ${Python3_EXECUTABLE} -B
      ${CMAKE_CURRENT_SOURCE_DIR}/python/guards.py $<TARGET_FILE:bottleneck>
      $<TARGET_FILE:target_guards> $<TARGET_FILE:truth_guards> --rung ${rung})
    set_tests_properties(python_guards_${rung} PROPERTIES LABELS e2e TIMEOUT 900)
    # And so does CPython's own test of what a sampler's signals could break.
    add_test(NAME python_cpython_${rung} COMMAND ${Python3_EXECUTABLE} -B
      ${CMAKE_CURRENT_SOURCE_DIR}/python/cpython.py $<TARGET_FILE:bottleneck> --rung ${rung})
    set_tests_properties(python_cpython_${rung} PROPERTIES
      LABELS e2e TIMEOUT 900 SKIP_RETURN_CODE 77)
  endforeach()
endif()
