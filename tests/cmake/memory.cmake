# SPDX-License-Identifier: MIT
# Tests of what the agent says of allocations.
foreach(module memory_early memory_maps memory_pages memory_table)
  unit(${module} LIBS agent_core)
endforeach()
unit(memory_poisson LIBS agent_core m)
foreach(module memory memory_totals)
  unit(${module} LIBS agent_core reader tracer_test_support)
endforeach()

# What is to be seen of programs: they are neither sanitized by the build nor warned about.
if(NOT FUZZ)
  function(memory_target name)
    cmake_parse_arguments(TARGET "" "" "SOURCES;OPTIONS" ${ARGN})
    add_executable(${name} programs/memory_target.c ${TARGET_SOURCES})
    target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
    target_compile_options(${name} PRIVATE -O1 -fno-builtin ${TARGET_OPTIONS})
    target_link_options(${name} PRIVATE ${TARGET_OPTIONS})
    target_link_libraries(${name} PRIVATE pthread)
    add_dependencies(memory_e2e_test ${name})
  endfunction()

  unit(memory_e2e LIBS agent_run m)
  memory_target(memory_target)
  memory_target(memory_target_fixed OPTIONS -fno-pie -no-pie)
  memory_target(memory_target_own SOURCES programs/memory_target_malloc.c)
  set(WITH_asan)
  set(WITH_tsan)
  include(CheckCSourceCompiles)
  foreach(kind address thread)
    string(SUBSTRING ${kind} 0 1 letter)
    set(CMAKE_REQUIRED_FLAGS -fsanitize=${kind})
    check_c_source_compiles("int main(void) { return 0; }" HAVE_${kind}_SANITIZER)
    unset(CMAKE_REQUIRED_FLAGS)
    if(HAVE_${kind}_SANITIZER)
      memory_target(memory_target_${letter}san OPTIONS -fsanitize=${kind})
      set(WITH_${letter}san $<TARGET_FILE:memory_target_${letter}san>)
    endif()
  endforeach()
  target_compile_definitions(memory_e2e_test PRIVATE TARGET="$<TARGET_FILE:memory_target>"
    AT_A_FIXED_PLACE="$<TARGET_FILE:memory_target_fixed>"
    WITH_ASAN="${WITH_asan}" WITH_TSAN="${WITH_tsan}"
    WITH_OWN_MALLOC="$<TARGET_FILE:memory_target_own>")
endif()
