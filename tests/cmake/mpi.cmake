# SPDX-License-Identifier: MIT
# MPI under the agent: see mpi/ops.py. The library is a fake, once with the handles of Open MPI and
# once with those of MPICH; real ones are in e2e/mpi.py.
if(FUZZ OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  return()
endif()
unit(mpi_call LIBS agent_core)
set(MPI_DIR ${CMAKE_CURRENT_BINARY_DIR}/mpi)

# Other people's programs: neither our flags nor sanitized.
function(mpi_place name style)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${MPI_DIR}
    LIBRARY_OUTPUT_DIRECTORY ${MPI_DIR} C_VISIBILITY_PRESET default)
  target_compile_options(${name} PRIVATE -O1 -Wall -Wextra)
  if(style STREQUAL pointers)
    target_compile_definitions(${name} PRIVATE FAKE_POINTERS)
  endif()
endfunction()

foreach(style pointers ints)
  add_library(mpi_fake_${style} SHARED mpi/fake_mpi.c)
  mpi_place(mpi_fake_${style} ${style})
  add_library(mpi_fortran_${style} SHARED mpi/fake_fortran.c)
  mpi_place(mpi_fortran_${style} ${style})
  target_link_libraries(mpi_fortran_${style} PRIVATE mpi_fake_${style})
  add_library(mpi_tool_${style} SHARED mpi/tool.c)
  mpi_place(mpi_tool_${style} ${style})
  target_link_libraries(mpi_tool_${style} PRIVATE mpi_fake_${style})
  # Without PIC, handles are copies of the library's objects in the program.
  add_executable(mpi_target_${style} mpi/target.c)
  mpi_place(mpi_target_${style} ${style})
  target_compile_options(mpi_target_${style} PRIVATE -fno-pie)
  target_link_options(mpi_target_${style} PRIVATE -no-pie)
  target_link_libraries(mpi_target_${style} PRIVATE mpi_fortran_${style} mpi_fake_${style})
  add_executable(mpi_with_tool_${style} mpi/target.c mpi/tool.c)
  mpi_place(mpi_with_tool_${style} ${style})
  set_target_properties(mpi_with_tool_${style} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(mpi_with_tool_${style} PRIVATE mpi_fortran_${style} mpi_fake_${style})
  add_executable(mpi_by_name_${style} mpi/by_name.c)
  mpi_place(mpi_by_name_${style} ${style})
  target_compile_definitions(mpi_by_name_${style} PRIVATE _GNU_SOURCE)
  target_link_libraries(mpi_by_name_${style} PRIVATE ${CMAKE_DL_LIBS})
endforeach()

if(Python3_FOUND)
  foreach(style Pointers Ints)
    string(TOLOWER ${style} name)
    add_test(NAME ops_mpi_${name}
      COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/mpi/ops.py ${style})
    set_tests_properties(ops_mpi_${name} PROPERTIES LABELS unit TIMEOUT 300
      ENVIRONMENT "OP_REPORT=$<TARGET_FILE:op_report>;PROGRAMS=${MPI_DIR}")
  endforeach()
endif()
