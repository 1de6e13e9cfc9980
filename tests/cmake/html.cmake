# SPDX-License-Identifier: MIT
# What is asked of a profile for a report, and the HTML report, in a browser: Debian's Chromium, driven by its Selenium. Without them the test
# says so and is skipped.
if(JANSSON_FOUND)
  unit(html LIBS merge_fixture cli merge base PkgConfig::JANSSON PkgConfig::SQLITE
    PkgConfig::ZLIB)
endif()
unit(row_words LIBS merge_fixture cli merge base PkgConfig::SQLITE PkgConfig::ZLIB)
add_executable(html_page html/page.c)
target_link_libraries(html_page PRIVATE merge_fixture cli merge base expect PkgConfig::SQLITE
  PkgConfig::ZLIB)
add_test(NAME html_browser
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/html/check.py $<TARGET_FILE:html_page>
          $<TARGET_FILE:bottleneck>)
set_tests_properties(html_browser PROPERTIES LABELS e2e TIMEOUT 900 SKIP_RETURN_CODE 77)
