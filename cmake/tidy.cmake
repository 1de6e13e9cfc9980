# SPDX-License-Identifier: MIT
# Targets for who changes code: `format` writes every file as .clang-format says; `lint` has clang-tidy
# and gcc's -fanalyzer look at the C files that differ from LINT_BASE, `lint_all` at all outside tests/.
# The tests house_format and house_lint (tests/cmake/house.cmake) ask for both.
find_program(CLANG_FORMAT NAMES clang-format-14 clang-format)
find_program(CLANG_TIDY NAMES clang-tidy-14 clang-tidy)
find_package(Python3 COMPONENTS Interpreter)
set(LINT_BASE HEAD~20 CACHE STRING "The commit that `lint` compares with")

if(CLANG_FORMAT)
  add_custom_target(format
    COMMAND ${PROJECT_SOURCE_DIR}/cmake/format.sh ${CLANG_FORMAT}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
endif()
if(CLANG_TIDY AND Python3_FOUND)
  set(LINT ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/cmake/lint.py ${PROJECT_BINARY_DIR} --tidy ${CLANG_TIDY})
  add_custom_target(lint COMMAND ${LINT} --base ${LINT_BASE}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL VERBATIM)
  add_custom_target(lint_all COMMAND ${LINT} --all
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL VERBATIM)
endif()
