# SPDX-License-Identifier: MIT
add_executable(symbol_dump oracle/symbol_dump.c)
target_link_libraries(symbol_dump PRIVATE flags symbolize)
