# SPDX-License-Identifier: MIT
# --trace: functions of the program's own as ops.
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  message(STATUS "--trace is for x86-64: no tests of it")
  return()
endif()

foreach(module x86 displace pattern symbols)
  unit(${module} LIBS agent_core)
endforeach()
fuzz(displace LIBS agent_core)
fuzz(symbols LIBS agent_core)
if(FUZZ)
  return()
endif()

# An oracle, where it is there, for what we decode.
find_path(ZYDIS_INCLUDE Zydis/Zydis.h)
find_library(ZYDIS_LIBRARY Zydis)
if(ZYDIS_INCLUDE AND ZYDIS_LIBRARY)
  add_executable(x86_oracle oracle/x86_oracle.c)
  target_include_directories(x86_oracle SYSTEM PRIVATE ${ZYDIS_INCLUDE})
  target_link_libraries(x86_oracle PRIVATE flags agent_core ${ZYDIS_LIBRARY})
  add_test(NAME x86_oracle COMMAND sh -c "exec \"$0\" \"$@\" $(ldd \"$0\" | grep -o '/[^ ]*lib[cm].so[^ ]*') $(command -v perl git python3 sqlite3)"
           $<TARGET_FILE:x86_oracle> $<TARGET_FILE:bottleneck>)
  set_tests_properties(x86_oracle PROPERTIES LABELS unit TIMEOUT 120)
else()
  message(STATUS "Instructions are tested without Zydis: it is not there")
endif()

