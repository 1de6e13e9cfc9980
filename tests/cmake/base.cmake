# SPDX-License-Identifier: MIT
foreach(module array code error flops foreign_file function_name go_function go_module go_table hash kallsyms known_calls mapped message module
        namespaces new_file op origin provider
        nearest python_lines python_scope ring schedule secret strings)
  unit(${module} LIBS base)
endforeach()
# The assertions of unit tests; and that they fail where they do not hold, all of them.
unit(expect LIBS m)
add_executable(expect_fails unit/expect_fails.c)
target_link_libraries(expect_fails PRIVATE unit_flags)
add_test(NAME expect_fails COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/unit/expect_fails.sh
         $<TARGET_FILE:expect_fails>)
set_tests_properties(expect_fails PROPERTIES LABELS unit TIMEOUT 60)

fuzz(go_module LIBS base)
fuzz(go_table LIBS base)
fuzz(namespaces LIBS base)
fuzz(python_lines LIBS base)
fuzz(python_scope LIBS base)
