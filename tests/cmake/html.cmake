# SPDX-License-Identifier: MIT
# The HTML report, in a browser: Debian's Chromium, driven by its Selenium. Without them the test
# says so and is skipped.
if(JANSSON_FOUND)
  unit(html SOURCES unit/merge_fixture.c
    LIBS cli merge base PkgConfig::JANSSON PkgConfig::SQLITE PkgConfig::ZLIB)
endif()
add_executable(html_page html/page.c unit/merge_fixture.c)
target_link_libraries(html_page PRIVATE flags cli merge base PkgConfig::CRITERION PkgConfig::SQLITE
  PkgConfig::ZLIB)
add_test(NAME html_browser
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/html/check.py $<TARGET_FILE:html_page>
          $<TARGET_FILE:bottleneck>)
set_tests_properties(html_browser PROPERTIES LABELS e2e TIMEOUT 900 SKIP_RETURN_CODE 77)
