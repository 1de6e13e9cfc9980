# SPDX-License-Identifier: MIT
# `cpack` in the build directory makes a tarball that runs wherever glibc is new enough: the
# libraries that it needs lie beside the agent, in lib/bottleneck (see relocatable.cmake). So does
# `cpack -G RPM`, as other distributions' libraries have other versions. `cpack -G DEB` leaves them
# to the packages of the Debian or Ubuntu that it is run on. python/make_wheel packs the tarball.
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
install(FILES ${PROJECT_SOURCE_DIR}/python/pyproject.toml ${PROJECT_SOURCE_DIR}/python/setup.py
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bottleneck/python)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/bottleneck_profiler
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bottleneck/python
  FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_FILE_NAME
  ${PROJECT_NAME}-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR}-linux)
set(CPACK_PACKAGE_CONTACT "The authors of bottleneck <authors@bottleneck.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_FILE ${CMAKE_CURRENT_LIST_DIR}/description.txt)
set(CPACK_PACKAGE_VENDOR "The authors of bottleneck")
set(CPACK_PACKAGE_RELOCATABLE OFF)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/relocatable.cmake)
set(CPACK_STRIP_FILES OFF)
set(CPACK_BOTTLENECK_LICENSES ${CMAKE_INSTALL_DOCDIR}/licenses)
set(CPACK_BOTTLENECK_STATIC_LIBRARIES ${IBERTY} ${ZYDIS_LIBRARY})
list(FILTER CPACK_BOTTLENECK_STATIC_LIBRARIES INCLUDE REGEX "\\.a$")
set(CPACK_BOTTLENECK_LIBRARIES ${CMAKE_INSTALL_LIBDIR}/bottleneck)
set(CPACK_VERBATIM_VARIABLES ON)

# No clash with python3-bottleneck, a library for NumPy, which has another name and no program.
set(CPACK_DEBIAN_PACKAGE_NAME bottleneck-profiler)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libc6-dbg, elfutils")

set(CPACK_RPM_PACKAGE_NAME bottleneck-profiler)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE MIT)
set(CPACK_RPM_PACKAGE_GROUP Development/Debuggers)
# The libraries within are nobody else's, and what they need is there or glibc's.
set(CPACK_RPM_PACKAGE_AUTOREQPROV OFF)
set(CPACK_RPM_PACKAGE_REQUIRES "glibc >= 2.34")
# rpm would strip what it packs, and make a second package of what it has taken. It names a packager
# by this macro alone.
set(CPACK_RPM_SPEC_MORE_DEFINE
  "%define packager ${CPACK_PACKAGE_CONTACT}\n%define debug_package %{nil}\n%define __os_install_post %{nil}\n%define _build_id_links none")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
  /usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/fish
  /usr/share/fish/vendor_completions.d /usr/share/zsh /usr/share/zsh/site-functions
  /usr/share/man /usr/share/man/man1 /usr/share/man/man5 /usr/share/man/man7)
include(CPack)
