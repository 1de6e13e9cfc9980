# SPDX-License-Identifier: MIT
# The rule that tells whether a run measured its warm-up, on series whose truth is known.
unit(median LIBS merge)
unit(series LIBS merge)
unit(warmup LIBS merge)
unit(clocks LIBS merge)
unit(query_clock SOURCES unit/merge_fixture.c LIBS merge PkgConfig::SQLITE PkgConfig::ZLIB)
unit(query_causes SOURCES unit/merge_fixture.c LIBS merge PkgConfig::ZLIB)
unit(query_startup SOURCES unit/merge_fixture.c LIBS merge PkgConfig::ZLIB)
unit(query_steps SOURCES unit/merge_fixture.c LIBS merge PkgConfig::ZLIB)
unit(query_warmup SOURCES unit/merge_fixture.c LIBS merge PkgConfig::SQLITE PkgConfig::ZLIB)
pkg_check_modules(JANSSON IMPORTED_TARGET jansson)
if(JANSSON_FOUND)
  add_executable(warmup_verdict warmup/warmup_verdict.c)
  target_link_libraries(warmup_verdict PRIVATE flags merge PkgConfig::JANSSON)
  add_test(NAME warmup_corpus
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/warmup/corpus.py
      $<TARGET_FILE:warmup_verdict> ${CMAKE_CURRENT_SOURCE_DIR}/warmup/dev.jsonl.gz 0.992 0.964)
  set_tests_properties(warmup_corpus PROPERTIES LABELS unit)
else()
  message(STATUS "The warm-up rule is not scored on its corpus: libjansson-dev is not there")
endif()
