# SPDX-License-Identifier: MIT
# Which folder includes which, and what else keeps the order of the folders.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME house_includes
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tools/includes.py ${PROJECT_SOURCE_DIR}
      --commands ${PROJECT_BINARY_DIR}/compile_commands.json)
  add_test(NAME house_includes_test
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tools/includes_test.py)
  set_tests_properties(house_includes house_includes_test PROPERTIES LABELS unit TIMEOUT 300)
else()
  not_tested("the order of the folders: Python 3 is missing")
endif()
