# SPDX-License-Identifier: MIT
# Targets for who changes code: `format` writes every file as .clang-format says; `lint` has clang-tidy
# and gcc's -fanalyzer look at the C files that differ from LINT_BASE (a commit, HEAD~1 by default).
find_program(CLANG_FORMAT NAMES clang-format-14 clang-format)
find_program(CLANG_TIDY NAMES clang-tidy-14 clang-tidy)
set(LINT_BASE HEAD~1 CACHE STRING "The commit that `lint` compares with")

if(CLANG_FORMAT)
  add_custom_target(format
    COMMAND ${PROJECT_SOURCE_DIR}/cmake/format.sh ${CLANG_FORMAT}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
endif()
if(CLANG_TIDY)
  add_custom_target(lint
    COMMAND ${PROJECT_SOURCE_DIR}/cmake/lint.sh ${CLANG_TIDY} ${CMAKE_C_COMPILER} ${PROJECT_BINARY_DIR} ${LINT_BASE}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
endif()
