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
