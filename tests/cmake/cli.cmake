# SPDX-License-Identifier: MIT
foreach(module batch_file binding cgroup connections contention cpu_clock format jit_names job jvm kernel_names launch limits machine op_wrapper option peers
        rank recorded source state terminal tracks versions)
  unit(${module} LIBS cli reader sampler merge symbolize base)
endforeach()
target_link_libraries(terminal_test PRIVATE util)

fuzz(batch_file LIBS cli base)
fuzz(markdown LIBS cli base)
fuzz(cgroup LIBS merge)
fuzz(connections LIBS sampler)

# A strict reader of JSON is the judge.
if(JANSSON_FOUND)
  unit(json LIBS cli base PkgConfig::JANSSON)
endif()

# What it asks, and whom, is the test's.
unit(ahead LIBS cli base)

# The report of a hand-made profile: its answers stand in for merge/.
# Built once: each of these tests is linked to all of it.
fixture(fake_profile SOURCES unit/fake_profile.c unit/fake_profile_more.c unit/fake_query.c
  unit/made_section.c unit/text_page.c support/golden.c)
foreach(part text text_ops text_run text_verdict)
  unit(${part} LIBS fake_profile cli base)
endforeach()

# A section made by hand, and the formats that print it.
unit(section LIBS fake_profile cli base)
unit(brief LIBS cli base)
unit(markdown LIBS cli base)

# Kept runs of real programs, as their users see them.
unit(real_reports SOURCES unit/text_page.c support/golden.c LIBS cli reader merge symbolize base)

# What the builders of sections make of that profile.
foreach(part account compiling counters counts devices environment gpu header modules ranks repeats tree wall warmup
        workers)
  unit(sections_${part} LIBS fake_profile cli base)
endforeach()

# The same of a hand-made comparison.
unit(text_diff LIBS fake_profile cli merge base)

add_test(NAME man
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/e2e/man.sh ${PROJECT_SOURCE_DIR}/man
          $<TARGET_FILE:bottleneck>)
set_tests_properties(man PROPERTIES TIMEOUT 300)

add_test(NAME rules_tested
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/unit/rules.sh $<TARGET_FILE:bottleneck>
          ${CMAKE_CURRENT_SOURCE_DIR})
set_tests_properties(rules_tested PROPERTIES LABELS unit)
