# SPDX-License-Identifier: MIT
# Drivers that take long: see README.md of this folder. ctest -C Long -L long
add_executable(hostile hostile/hostile.c)
target_compile_definitions(hostile PRIVATE _GNU_SOURCE)
target_compile_options(hostile PRIVATE -Wall -Wextra -g -O1)
target_link_libraries(hostile PRIVATE ${CMAKE_DL_LIBS} pthread)

# driver(NAME COMMAND...)
function(driver name)
  add_test(NAME ${name} CONFIGURATIONS Long COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS long TIMEOUT 86400 RUN_SERIAL ON)
endfunction()
if(Python3_FOUND AND TARGET bottleneck)
  driver(hostile_mix ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/hostile/mix.py
         $<TARGET_FILE:bottleneck> $<TARGET_FILE:hostile>)
  driver(attach_cycles ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/hostile/attach_cycles.py
         $<TARGET_FILE:bottleneck> $<TARGET_FILE:attached_static>)
  driver(fuzz_all ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/run --build ${PROJECT_BINARY_DIR}/fuzz)
endif()
