# SPDX-License-Identifier: MIT
unit(address_space LIBS sampler)
unit(cfi_table LIBS sampler PkgConfig::DW PkgConfig::ELF)

add_executable(unwind_oracle oracle/unwind_oracle.c oracle/capture.c oracle/child.c)
target_link_libraries(unwind_oracle PRIVATE flags sampler)
target_include_directories(unwind_oracle PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})

include(sampler_capture.cmake OPTIONAL)
include(sampler_offcpu.cmake OPTIONAL)
