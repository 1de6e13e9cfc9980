# SPDX-License-Identifier: MIT
# The libraries that we stand on, as imported targets.
find_package(PkgConfig REQUIRED)
# symbolize/ leaves DWARF 5 and split DWARF to elfutils; releases older than that have not been tried.
pkg_check_modules(DW REQUIRED IMPORTED_TARGET libdw>=0.183)
pkg_check_modules(ELF REQUIRED IMPORTED_TARGET libelf>=0.183)
pkg_check_modules(UNWIND REQUIRED IMPORTED_TARGET libunwind-ptrace libunwind-generic libunwind)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(SMARTCOLS REQUIRED IMPORTED_TARGET smartcols)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma)
find_library(IBERTY iberty REQUIRED)

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
