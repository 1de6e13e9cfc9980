# SPDX-License-Identifier: MIT
# The rule that tells whether a run measured its warm-up, on series whose truth is known.
foreach(module clocks median series warmup)
  unit(${module} LIBS merge)
endforeach()
foreach(module query_causes query_clock query_cycles query_excess query_startup query_step_parts query_workers query_steps
        query_warmup)
  unit(${module} LIBS merge_fixture merge PkgConfig::SQLITE PkgConfig::ZLIB)
endforeach()
pkg_check_modules(JANSSON IMPORTED_TARGET jansson)
if(JANSSON_FOUND)
  add_executable(warmup_verdict warmup/warmup_verdict.c)
  target_link_libraries(warmup_verdict PRIVATE flags merge PkgConfig::JANSSON)
  add_test(NAME warmup_corpus
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/warmup/corpus.py
      $<TARGET_FILE:warmup_verdict> ${CMAKE_CURRENT_SOURCE_DIR}/warmup/dev.jsonl.gz 0.992 0.964)
  set_tests_properties(warmup_corpus PROPERTIES LABELS unit)
else()
  not_tested("the warm-up rule on its corpus: libjansson-dev is not installed")
endif()
