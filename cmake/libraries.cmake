# SPDX-License-Identifier: MIT
# The libraries that we stand on, as imported targets.
find_package(PkgConfig)
if(NOT PKG_CONFIG_FOUND)
  message(FATAL_ERROR "pkg-config is missing\n  hint: On Debian and Ubuntu: apt install pkg-config")
endif()
set(missing)
set(missing_packages)

# library(PREFIX PACKAGE MODULE...): of pkg-config; PACKAGE is Debian's.
macro(library prefix package)
  pkg_check_modules(${prefix} IMPORTED_TARGET ${ARGN})
  if(NOT ${prefix}_FOUND)
    list(APPEND missing ${ARGN})
    list(APPEND missing_packages ${package})
  endif()
endmacro()

# symbolize/ leaves DWARF 5 and split DWARF to elfutils; releases older than that have not been tried.
library(DW libdw-dev libdw>=0.183)
library(ELF libelf-dev libelf>=0.183)
library(UNWIND libunwind-dev libunwind-ptrace libunwind-generic libunwind)
library(SQLITE libsqlite3-dev sqlite3)
library(SMARTCOLS libsmartcols-dev smartcols)
library(ZLIB zlib1g-dev zlib)
library(LZMA liblzma-dev liblzma)
find_library(IBERTY iberty)
if(NOT IBERTY)
  list(APPEND missing iberty)
  list(APPEND missing_packages libiberty-dev)
endif()
if(missing)
  list(JOIN missing ", " missing)
  list(JOIN missing_packages " " missing_packages)
  message(FATAL_ERROR "libraries or their headers are missing, or too old: ${missing}\n"
                      "  hint: On Debian and Ubuntu: apt install ${missing_packages}")
endif()

# Without it, hot loops get no kind, which the report says. Releases before 4 have no file for
# pkg-config, so it is looked for by hand.
find_path(ZYDIS_INCLUDE Zydis/Zydis.h)
find_library(ZYDIS_LIBRARY Zydis)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64 AND ZYDIS_INCLUDE AND ZYDIS_LIBRARY)
  add_library(Zydis INTERFACE)
  target_include_directories(Zydis SYSTEM INTERFACE ${ZYDIS_INCLUDE})
  target_link_libraries(Zydis INTERFACE ${ZYDIS_LIBRARY})
  file(STRINGS ${ZYDIS_INCLUDE}/Zydis/Decoder.h ZYDIS_4 REGEX ZydisDecoderDecodeFull)
  if(ZYDIS_4)
    target_compile_definitions(Zydis INTERFACE ZYDIS_4)
  endif()
else()
  message(STATUS "Zydis (libzydis-dev) was not found: hot loops get no kind")
endif()
