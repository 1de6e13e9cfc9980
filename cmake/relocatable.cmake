# SPDX-License-Identifier: MIT
# Run by cpack on what it has installed, before it packs it: copies every library that the program
# needs, directly or not, except the C library's own, to where its run path leads.
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
