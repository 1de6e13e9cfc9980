# SPDX-License-Identifier: MIT
# Programs that say what a profiler must find in them: see targets/truth.h.
set(TARGETS_DIR ${CMAKE_CURRENT_BINARY_DIR}/targets)

# target(NAME [SOURCE FILE] [OPTIONS FLAG...] [LINK FLAG...]): neither our warnings' concern nor
# sanitized, whatever the rest is built with: these are other people's programs.
function(target name)
  cmake_parse_arguments(TARGET "" "SOURCE" "OPTIONS;LINK" ${ARGN})
  if(NOT TARGET_SOURCE)
    set(TARGET_SOURCE ${name}.c)
  endif()
  add_executable(target_${name} targets/${TARGET_SOURCE} targets/truth.c)
  set_target_properties(target_${name} PROPERTIES OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${TARGETS_DIR} POSITION_INDEPENDENT_CODE ON)
  target_compile_definitions(target_${name} PRIVATE _GNU_SOURCE)
  target_compile_options(target_${name} PRIVATE -Wall -Wextra -g -O2
    -fno-optimize-sibling-calls ${TARGET_OPTIONS})
  target_link_libraries(target_${name} PRIVATE pthread dl ${TARGET_LINK})
  set_property(GLOBAL APPEND PROPERTY TRUTH_TARGETS ${name})
endfunction()

foreach(name alternate_stack bare churn crowd deep_stack dlopened endings execs faults files forks
        generated inlines jit lines locks mutual recursion shares sleeps system_calls threads vdso
        vforks)
  target(${name})
endforeach()
target(templates SOURCE templates.cc)
target(exceptions SOURCE exceptions.cc)
target(signals OPTIONS -fno-omit-frame-pointer)
target(tailcalls OPTIONS -foptimize-sibling-calls)
target(no_frame_pointer OPTIONS -fomit-frame-pointer)

foreach(letter a b)
  string(TOUPPER ${letter} upper)
  add_library(truth_plugin_${letter} MODULE targets/plugin.c)
  set_target_properties(truth_plugin_${letter} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${TARGETS_DIR})
  target_compile_definitions(truth_plugin_${letter} PRIVATE PLUGIN_${upper})
  target_compile_options(truth_plugin_${letter} PRIVATE -g -O2 -fvisibility=default)
  add_dependencies(target_dlopened truth_plugin_${letter})
  add_dependencies(target_churn truth_plugin_${letter})
endforeach()

add_executable(target_guards targets/guards.c)
set_target_properties(target_guards PROPERTIES OUTPUT_NAME guards
  RUNTIME_OUTPUT_DIRECTORY ${TARGETS_DIR})
target_compile_definitions(target_guards PRIVATE _GNU_SOURCE)
target_compile_options(target_guards PRIVATE -Wall -Wextra -g -O2 -fno-optimize-sibling-calls)
target_link_libraries(target_guards PRIVATE pthread)
add_executable(target_births targets/births.cc targets/truth.c)
set_target_properties(target_births PROPERTIES OUTPUT_NAME births
  RUNTIME_OUTPUT_DIRECTORY ${TARGETS_DIR})
target_compile_definitions(target_births PRIVATE _GNU_SOURCE)
target_compile_options(target_births PRIVATE -Wall -Wextra -g -O2)
target_link_libraries(target_births PRIVATE pthread)
add_library(truth_guards MODULE targets/guards.c)
set_target_properties(truth_guards PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${TARGETS_DIR})
target_compile_definitions(truth_guards PRIVATE _GNU_SOURCE)
target_compile_options(truth_guards PRIVATE -Wall -Wextra -g -O2 -fno-optimize-sibling-calls)

# The same truth through every form of code and of debug information.
target(shares_O0 SOURCE shares.c OPTIONS -O0)
target(inlines_O0 SOURCE inlines.c OPTIONS -O0)
target(inlines_fp SOURCE inlines.c OPTIONS -fno-omit-frame-pointer)
target(inlines_dwarf4 SOURCE inlines.c OPTIONS -gdwarf-4)
target(inlines_g1 SOURCE inlines.c OPTIONS -g1)
target(inlines_gz SOURCE inlines.c OPTIONS -gz LINK -gz)
target(inlines_split SOURCE inlines.c OPTIONS -gsplit-dwarf)
target(inlines_lto SOURCE inlines.c OPTIONS -flto LINK -flto)
target(recursion_no_cfi SOURCE recursion.c OPTIONS -fno-asynchronous-unwind-tables
  -fno-unwind-tables -fno-omit-frame-pointer)
target(recursion_debug_frame SOURCE recursion.c OPTIONS -fno-asynchronous-unwind-tables
  -fno-unwind-tables -fomit-frame-pointer)
target(shares_static SOURCE shares.c LINK -static)
target(deep_stack_static SOURCE deep_stack.c LINK -static)
target(shares_no_pie SOURCE shares.c OPTIONS -fno-pie LINK -no-pie)
set_target_properties(target_shares_no_pie PROPERTIES POSITION_INDEPENDENT_CODE OFF)

# derived(NAME FROM COMMAND...): another form of a program that is built.
function(derived name from)
  add_custom_command(OUTPUT ${TARGETS_DIR}/${name} DEPENDS target_${from} ${ARGN} VERBATIM
    WORKING_DIRECTORY ${TARGETS_DIR})
  add_custom_target(target_${name} ALL DEPENDS ${TARGETS_DIR}/${name})
  set_property(GLOBAL APPEND PROPERTY TRUTH_TARGETS ${name})
endfunction()

derived(shares_no_lines shares COMMAND objcopy --strip-debug shares shares_no_lines)
derived(inlines_debuglink inlines
  COMMAND objcopy --only-keep-debug inlines inlines_debuglink.debug
  COMMAND objcopy --strip-all --add-gnu-debuglink=inlines_debuglink.debug
          inlines inlines_debuglink)
derived(shares_mini shares
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/targets/mini_debug.sh shares shares_mini)

find_program(CLANG NAMES clang clang-14 clang-15 clang-16 clang-18)
find_program(MUSL_GCC musl-gcc)
set(truth_sources ${CMAKE_CURRENT_SOURCE_DIR}/targets/truth.c)
if(CLANG)
  derived(inlines_clang inlines COMMAND ${CLANG} -g -O2 -D_GNU_SOURCE -o inlines_clang
    ${CMAKE_CURRENT_SOURCE_DIR}/targets/inlines.c ${truth_sources})
else()
  not_tested("clang's programs: clang is not installed")
endif()
if(MUSL_GCC)
  derived(recursion_musl recursion COMMAND ${MUSL_GCC} -g -O2 -fno-optimize-sibling-calls
    -D_GNU_SOURCE -o recursion_musl ${CMAKE_CURRENT_SOURCE_DIR}/targets/recursion.c
    ${truth_sources})
  derived(recursion_musl_static recursion COMMAND ${MUSL_GCC} -static -g -O2
    -fno-optimize-sibling-calls -D_GNU_SOURCE -o recursion_musl_static
    ${CMAKE_CURRENT_SOURCE_DIR}/targets/recursion.c ${truth_sources})
else()
  not_tested("programs for another C library: musl-gcc is not installed")
endif()

get_property(names GLOBAL PROPERTY TRUTH_TARGETS)
list(TRANSFORM names PREPEND target_ OUTPUT_VARIABLE all_targets)
add_custom_target(targets DEPENDS ${all_targets})
