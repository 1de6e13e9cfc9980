# SPDX-License-Identifier: MIT
foreach(module cover cubin debug_file decompress demangle dwarf_file early elf_file elf_symbols
        function_start jit_compiler jump_names jit_map jitdump line_program loop loop_fact names_cache subnormal symbol_order
        symbolizer)
  unit(${module} LIBS symbolize)
endforeach()
unit(section_cache LIBS symbolize PkgConfig::ZLIB)
unit(debug_package LIBS symbolize tracer_test_support)
# NVIDIA's own library says what lines it finds, without a driver.
find_file(REAL_CUPTI libcupti.so.13 PATHS /usr/local/cuda /usr/local/cuda/extras/CUPTI
          PATH_SUFFIXES lib lib64 NO_DEFAULT_PATH)
target_compile_definitions(cubin_test PRIVATE
  REAL_CUPTI="$<$<BOOL:${REAL_CUPTI}>:${REAL_CUPTI}>")
target_compile_options(symbolizer_test PRIVATE -g) # it looks itself up
target_compile_options(early_test PRIVATE -g)
target_link_options(jump_names_test PRIVATE -rdynamic) # it exports functions
target_compile_options(names_cache_test PRIVATE -g)

# Every way out when there is no memory: the allocations of all that is linked in fail in turn.
unit(symbolizer_memory LIBS symbolize)
target_compile_options(symbolizer_memory_test PRIVATE -g)
target_link_options(symbolizer_memory_test PRIVATE
  -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray,--wrap=strdup)

foreach(target cubin elf_notes function_start jit_map jitdump kallsyms kallsyms_cache line_program
        loop names_cache symbol_order symbolizer)
  fuzz(${target} LIBS symbolize)
endforeach()
fixture(input_file SOURCES fuzz/input_file.c)
target_link_libraries(kallsyms_cache_fuzz PRIVATE input_file)
target_link_libraries(names_cache_fuzz PRIVATE input_file)

# What our symbolizer says of a file, for the comparison with addr2line and llvm-symbolizer; and
# what it does with damaged ones, of all the kinds that the comparison makes.
foreach(tool symbol_dump elf_mutation)
  add_executable(${tool} oracle/${tool}.c)
  target_link_libraries(${tool} PRIVATE flags symbolize)
endforeach()
add_executable(loop_dump loops/loop_dump.c)
target_link_libraries(loop_dump PRIVATE flags symbolize)
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND NOT FUZZ)
  add_test(NAME loop_kinds COMMAND ${Python3_EXECUTABLE}
    ${CMAKE_CURRENT_SOURCE_DIR}/loops/run.py $<TARGET_FILE:loop_dump>
    ${CMAKE_CURRENT_SOURCE_DIR}/loops/kinds.c)
  set_tests_properties(loop_kinds PROPERTIES LABELS unit TIMEOUT 300 SKIP_RETURN_CODE 77)
  add_test(NAME symbol_oracle COMMAND ${Python3_EXECUTABLE}
    ${CMAKE_CURRENT_SOURCE_DIR}/oracle/symbol_oracle.py $<TARGET_FILE:symbol_dump> --fast
    --mutate $<TARGET_FILE:elf_mutation>)
  set_tests_properties(symbol_oracle PROPERTIES
    FAIL_REGULAR_EXPRESSION "ERROR: LeakSanitizer" TIMEOUT 900)
endif()
