# SPDX-License-Identifier: MIT
# Which folder includes which, and what else keeps the order of the folders.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME rules_page
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tools/rules_page.py
      $<TARGET_FILE:bottleneck> ${PROJECT_SOURCE_DIR}/man/bottleneck-findings.7)
  set_tests_properties(rules_page PROPERTIES LABELS unit TIMEOUT 300)
else()
  not_tested("the order of the folders: Python 3 is missing")
endif()

# How the code is written is the same in a sanitized build.
if(SANITIZE OR FUZZ)
  return()
endif()
if(Python3_FOUND)
  add_test(NAME house_includes
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tools/includes.py ${PROJECT_SOURCE_DIR}
      --commands ${PROJECT_BINARY_DIR}/compile_commands.json)
  add_test(NAME house_includes_test
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tools/includes_test.py)
  add_test(NAME house_words
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tools/words.py ${PROJECT_SOURCE_DIR})
  add_test(NAME house_classes
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tools/classes.py ${CMAKE_CTEST_COMMAND}
      ${PROJECT_BINARY_DIR})
  set_tests_properties(house_classes house_includes house_includes_test house_words PROPERTIES LABELS unit TIMEOUT 300)
endif()
if(CLANG_FORMAT)
  add_test(NAME house_format
    COMMAND ${PROJECT_SOURCE_DIR}/cmake/format.sh --check ${CLANG_FORMAT}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(house_format PROPERTIES LABELS unit TIMEOUT 300 SKIP_RETURN_CODE 77)
else()
  not_tested("the layout of the code: clang-format is missing")
endif()
# 75 s, and what the last files need that were begun: less than 2 minutes on 2 cores. It takes all
# of them.
if(CLANG_TIDY AND Python3_FOUND)
  add_test(NAME house_lint
    COMMAND ${LINT} --pinned --seconds 75 --base ${LINT_BASE}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(house_lint PROPERTIES LABELS lint TIMEOUT 600 SKIP_RETURN_CODE 77
    PROCESSORS 4)
else()
  not_tested("what changed by clang-tidy: it, or Python 3, is missing")
endif()
