# SPDX-License-Identifier: MIT
# Programs with one fault each, and healthy twins: see faults/run.py.
set(FAULTS_DIR ${CMAKE_CURRENT_BINARY_DIR}/faults)

# fault_program(NAME SOURCE [FLAG...]): other people's programs, neither our flags nor sanitized.
function(fault_program name source)
  add_executable(fault_${name} faults/${source} faults/fault.c)
  set_target_properties(fault_${name} PROPERTIES OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${FAULTS_DIR})
  target_compile_definitions(fault_${name} PRIVATE _GNU_SOURCE)
  target_compile_options(fault_${name} PRIVATE -Wall -Wextra -g -O2 ${ARGN})
  target_link_libraries(fault_${name} PRIVATE pthread m)
endfunction()

# fault(NAME SOURCE [TARGET...])
function(fault name source)
  set(programs)
  foreach(target ${ARGN})
    list(APPEND programs $<TARGET_FILE:${target}>)
  endforeach()
  add_test(NAME fault_${name} COMMAND ${Python3_EXECUTABLE}
    ${CMAKE_CURRENT_SOURCE_DIR}/faults/run.py ${CMAKE_CURRENT_SOURCE_DIR}/faults/${source}
    ${programs})
  set_tests_properties(fault_${name} PROPERTIES LABELS fault TIMEOUT 300 SKIP_RETURN_CODE 77
    ENVIRONMENT "${e2e_environment}" FAIL_REGULAR_EXPRESSION "ERROR: LeakSanitizer")
endfunction()

foreach(name bound children cleared cold_cache copies double_float file_lock fsync held_back herd keys lock lookups malloc
        message_bytes messages oversubscribed page_faults polling random seeking serial spinning stage strcat threads time_zone
        tiny_reads unbalanced unbuffered)
  fault_program(${name} ${name}.c)
  fault(${name} ${name}.c fault_${name})
endforeach()
foreach(name by_value cin endl exceptions ordered regex regrow shared_pointer sorting string_stream)
  fault_program(${name}_cc ${name}.cc)
  fault(${name}_cc ${name}.cc fault_${name}_cc)
endforeach()
# What kind of loop is hot takes a decoder of its machine code.
if(TARGET Zydis)
  foreach(name bytes counted divisor flag linear neighbours one_sum scalar strided walk)
    fault_program(${name} ${name}.c)
    fault(${name} ${name}.c fault_${name})
  endforeach()
  fault_program(hash_cc hash.cc)
  fault(hash_cc hash.cc fault_hash_cc)
  # The fault is seen where the program's own ticks sample it.
  fault_program(subnormal subnormal.c)
  e2e(e2e_subnormals subnormals)
  set_property(TEST e2e_subnormals APPEND PROPERTY ENVIRONMENT
    "SUBNORMAL=$<TARGET_FILE:fault_subnormal>")
  e2e(e2e_loops loops)
  set_property(TEST e2e_loops APPEND PROPERTY ENVIRONMENT "LOOP=$<TARGET_FILE:fault_strided>")
endif()
# No fault of a rule's, but a library that has most of the time.
add_executable(unpack faults/unpack.c)
set_target_properties(unpack PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${FAULTS_DIR})
target_compile_definitions(unpack PRIVATE _GNU_SOURCE)
target_compile_options(unpack PRIVATE -Wall -Wextra -g -O2)
target_link_libraries(unpack PRIVATE PkgConfig::ZLIB)
e2e(e2e_libraries libraries)
set_property(TEST e2e_libraries APPEND PROPERTY ENVIRONMENT "UNPACK=$<TARGET_FILE:unpack>")
fault_program(debug_build debug_build.c -O0)
fault_program(optimized_build debug_build.c)
fault(debug_build debug_build.c fault_debug_build fault_optimized_build)
# Clang does not say how it was asked to optimize.
if(CLANG)
  foreach(level 0 2)
    set(program ${FAULTS_DIR}/clang_build_${level})
    add_custom_command(OUTPUT ${program}
      COMMAND ${CLANG} -g -O${level} -o ${program} ${CMAKE_CURRENT_SOURCE_DIR}/faults/debug_build.c
        ${CMAKE_CURRENT_SOURCE_DIR}/faults/fault.c
      DEPENDS faults/debug_build.c faults/fault.c faults/fault.h)
    add_custom_target(clang_build_${level} ALL DEPENDS ${program})
    add_executable(fault_clang_${level} IMPORTED)
    set_target_properties(fault_clang_${level} PROPERTIES IMPORTED_LOCATION ${program})
  endforeach()
  fault(debug_build_clang debug_build.c fault_clang_0 fault_clang_2)
else()
  not_tested("unoptimized code of Clang's: clang is not here")
endif()
find_program(LOCALEDEF localedef)
set(LOCALES ${FAULTS_DIR}/locales)
if(LOCALEDEF AND EXISTS /usr/share/i18n/locales/en_US)
  add_custom_command(OUTPUT ${LOCALES}/en_US.UTF-8/LC_COLLATE
    COMMAND ${CMAKE_COMMAND} -E make_directory ${LOCALES}
    COMMAND ${LOCALEDEF} -i en_US -f UTF-8 ${LOCALES}/en_US.UTF-8)
  add_custom_target(locales ALL DEPENDS ${LOCALES}/en_US.UTF-8/LC_COLLATE)
  fault_program(collate collate.c)
  target_compile_definitions(fault_collate PRIVATE LOCALES="${LOCALES}")
  fault(collate collate.c fault_collate)
else()
  not_tested("comparisons by the rules of a locale: localedef or its sources are not here")
endif()
foreach(name critical pieces triangle)
  fault_program(${name} ${name}.c -fopenmp)
  target_link_options(fault_${name} PRIVATE -fopenmp)
  fault(${name} ${name}.c fault_${name})
endforeach()
if(OPENBLAS_FOUND)
  fault_program(tiny_gemm tiny_gemm.c)
  target_link_libraries(fault_tiny_gemm PRIVATE PkgConfig::OPENBLAS)
  fault(tiny_gemm tiny_gemm.c fault_tiny_gemm)
endif()
foreach(name archive array_loop backtracking callers clones collect columns commits compared concatenate consumer digits documents
        double_gemm elements event_loop exact exceptions flushing gil halves imports insert integers inverse joined
        list_loop lists loader log_stacks looking median one_by_one one_task records regex scan search sleeping slow_store
        subprocesses text thumbs tiny_dot tiny_ops)
  fault(${name}_py ${name}.py)
endforeach()
