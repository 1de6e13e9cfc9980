# SPDX-License-Identifier: MIT
# Which folder includes which, and what else keeps the order of the folders.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME house_includes
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tools/includes.py ${PROJECT_SOURCE_DIR}
      --commands ${PROJECT_BINARY_DIR}/compile_commands.json)
  add_test(NAME house_includes_test
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tools/includes_test.py)
  add_test(NAME rules_page
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tools/rules_page.py
      $<TARGET_FILE:bottleneck> ${PROJECT_SOURCE_DIR}/man/bottleneck-findings.7)
  set_tests_properties(house_includes house_includes_test rules_page PROPERTIES
    LABELS unit TIMEOUT 300)
else()
  not_tested("the order of the folders: Python 3 is missing")
endif()
