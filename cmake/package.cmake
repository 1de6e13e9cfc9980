# SPDX-License-Identifier: MIT
# `cpack` in the build directory makes a tarball that runs wherever glibc is new enough: the
# libraries that it needs lie beside the agent, in lib/bottleneck (see relocatable.cmake).
if(TARGET bottleneck)
  # DT_RPATH, not DT_RUNPATH: it also serves the libraries of the libraries, and a
  # LD_LIBRARY_PATH that is meant for the target does not reach us.
  set_target_properties(bottleneck PROPERTIES
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/bottleneck"
    # Else CMake fills the room for it with empty paths in the build tree, where each library is
    # then looked for in the working directory.
    BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH_USE_LINK_PATH ON)
  target_link_options(bottleneck PRIVATE LINKER:--disable-new-dtags)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/tracer/api/bottleneck/bottleneck.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/bottleneck)
install(FILES ${PROJECT_SOURCE_DIR}/python/pyproject.toml
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bottleneck/python)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/bottleneck_profiler
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bottleneck/python
  FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_FILE_NAME
  ${PROJECT_NAME}-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR}-linux)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/relocatable.cmake)
set(CPACK_STRIP_FILES OFF)
set(CPACK_BOTTLENECK_LIBRARIES ${CMAKE_INSTALL_LIBDIR}/bottleneck)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
