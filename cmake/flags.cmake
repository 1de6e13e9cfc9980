# SPDX-License-Identifier: MIT
# Flags for all code of ours: link to `flags` (PRIVATE).
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(flags INTERFACE)
target_include_directories(flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(flags INTERFACE _GNU_SOURCE)
target_compile_options(flags INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wshadow -Wvla -Wformat=2 -Wundef -Wstrict-prototypes
  -Wmissing-prototypes -Wpointer-arith -Wimplicit-fallthrough>
  -fno-omit-frame-pointer)
# A compiler newer than those that were tried may warn of more, which stops nobody's build or tests.
set(untried_GNU 16)
set(untried_Clang 20)
if(WERROR AND CMAKE_C_COMPILER_VERSION VERSION_LESS "${untried_${CMAKE_C_COMPILER_ID}}")
  target_compile_options(flags INTERFACE -Werror)
endif()
if(SANITIZE)
  target_compile_options(flags INTERFACE -fsanitize=${SANITIZE} -fno-sanitize-recover=all)
  target_link_options(flags INTERFACE -fsanitize=${SANITIZE})
  # It takes a third less to compile so, and runs hardly slower. What is fuzzed runs for long.
  if(NOT FUZZ)
    target_compile_options(flags INTERFACE -O1 -g1 -w) # warnings are those of -O2
    # What UBSan knows of each place is data with addresses, megabytes that each process would relocate.
    target_link_options(flags INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  endif()
endif()
if(FUZZ)
  target_compile_options(flags INTERFACE -fsanitize=fuzzer-no-link
    $<$<NOT:$<BOOL:${FUZZ_COMPARES}>>:-fno-sanitize-coverage=trace-cmp>)
  # An order that is drawn is as long as the table: thousands of entries would be hundreds of inputs a second.
  target_compile_definitions(flags INTERFACE SYMBOL_ORDER_LEAST=256u SECTION_CACHE_LEAST=1024u)
endif()
