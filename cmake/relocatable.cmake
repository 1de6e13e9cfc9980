# SPDX-License-Identifier: MIT
# Run by cpack on what it has installed, before it packs it: copies every library that the program
# needs, directly or not, except the C library's own, to where its run path leads; and beside the
# program's own licence those of all that is packed, as the system's packages have them.
if(CPACK_GENERATOR STREQUAL DEB)
  return() # its dependencies bring them
endif()
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
file(GLOB_RECURSE programs ${root}/*/bottleneck ${root}/bottleneck)
list(FILTER programs INCLUDE REGEX "/bin/bottleneck$")
list(LENGTH programs count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "expected one bin/bottleneck below ${root}, found: ${programs}")
endif()
cmake_path(GET programs PARENT_PATH bin)
cmake_path(GET bin PARENT_PATH prefix)

set(CMAKE_GET_RUNTIME_DEPENDENCIES_PLATFORM linux+elf)
set(CMAKE_GET_RUNTIME_DEPENDENCIES_TOOL objdump)
find_program(CMAKE_OBJDUMP objdump REQUIRED)
set(CMAKE_GET_RUNTIME_DEPENDENCIES_COMMAND ${CMAKE_OBJDUMP})
# glibc cannot be carried along: it and its loader must match.
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${programs}
  RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR missing
  POST_EXCLUDE_REGEXES "/(ld-linux[^/]*|lib(c|m|pthread|dl|rt|util|resolv))\\.so[^/]*$")
if(missing)
  message(FATAL_ERROR "libraries that were not found: ${missing}")
endif()
foreach(library ${libraries})
  # Not INSTALL: that would begin at DESTDIR, which packers of RPMs set, once more.
  file(COPY ${library} DESTINATION ${prefix}/${CPACK_BOTTLENECK_LIBRARIES} FOLLOW_SYMLINK_CHAIN)
endforeach()

# The text of the licence of LIBRARY, below licenses/ by the name of its package.
find_program(DPKG_QUERY dpkg-query)
find_program(RPM rpm)
function(copy_license library)
  file(REAL_PATH ${library} real)
  cmake_path(GET real FILENAME name)
  set(texts)
  if(DPKG_QUERY)
    # By name: /lib may be a link to /usr/lib, which its database does not know.
    execute_process(COMMAND ${DPKG_QUERY} -S "*/${name}" OUTPUT_VARIABLE owner ERROR_QUIET)
    if(owner MATCHES "^([^:, ]+)")
      set(package ${CMAKE_MATCH_1})
      file(GLOB texts /usr/share/doc/${package}/copyright)
    endif()
  endif()
  if(NOT texts AND RPM)
    execute_process(COMMAND ${RPM} -qf --qf %{NAME} ${real} OUTPUT_VARIABLE package ERROR_QUIET)
    execute_process(COMMAND ${RPM} -qf --licensefiles ${real} OUTPUT_VARIABLE texts ERROR_QUIET)
    string(STRIP "${texts}" texts)
    string(REPLACE "\n" ";" texts "${texts}")
  endif()
  if(NOT texts)
    message(WARNING "the licence of ${real} was not found: add it to ${CPACK_BOTTLENECK_LICENSES}")
    return()
  endif()
  foreach(text ${texts})
    file(REAL_PATH ${text} text)
    file(COPY ${text} DESTINATION ${prefix}/${CPACK_BOTTLENECK_LICENSES}/${package})
    # Debian's name the GNU licences by where every system has them.
    file(STRINGS ${text} lines REGEX /usr/share/common-licenses/)
    string(REGEX MATCHALL "/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]" common "${lines}")
    foreach(other ${common})
      file(COPY ${other} DESTINATION ${prefix}/${CPACK_BOTTLENECK_LICENSES}/common-licenses
        FOLLOW_SYMLINK_CHAIN)
    endforeach()
  endforeach()
endfunction()
foreach(library ${libraries} ${CPACK_BOTTLENECK_STATIC_LIBRARIES})
  copy_license(${library})
endforeach()
