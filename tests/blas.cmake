# SPDX-License-Identifier: MIT
unit(fftw_plans LIBS agent_core)

# BLAS, LAPACK and FFTW under the agent: see ops/blas.py. What is missing is skipped by name.
if(FUZZ OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  return()
endif()
set(BLAS_DIR ${CMAKE_CURRENT_BINARY_DIR}/blas)

# Other people's programs: neither our flags nor sanitized.
function(blas_place name)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${BLAS_DIR}
    LIBRARY_OUTPUT_DIRECTORY ${BLAS_DIR} C_VISIBILITY_PRESET default)
  target_compile_options(${name} PRIVATE -O1 -Wall -Wextra)
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  set_property(GLOBAL APPEND PROPERTY BLAS_PROGRAMS ${name})
endfunction()

foreach(letter a b)
  add_library(blas_fake_${letter} SHARED ops/blas_fake.c)
  blas_place(blas_fake_${letter})
  string(TOUPPER ${letter} upper)
  target_compile_definitions(blas_fake_${letter} PRIVATE FAKE_${upper})
  add_executable(blas_target_${letter} ops/blas_target.c)
  blas_place(blas_target_${letter})
  set_target_properties(blas_target_${letter} PROPERTIES ENABLE_EXPORTS ON)
  target_link_libraries(blas_target_${letter} PRIVATE blas_fake_${letter} pthread)
  add_library(blas_plugin_${letter} MODULE ops/blas_plugin.c)
  blas_place(blas_plugin_${letter})
  target_link_libraries(blas_plugin_${letter} PRIVATE blas_fake_${letter})
endforeach()
add_executable(blas_plugins ops/blas_plugins.c)
blas_place(blas_plugins)
target_link_libraries(blas_plugins PRIVATE ${CMAKE_DL_LIBS})

pkg_check_modules(OPENBLAS IMPORTED_TARGET openblas)
if(OPENBLAS_FOUND)
  add_executable(openblas_target ops/openblas_target.c)
  blas_place(openblas_target)
  target_link_libraries(openblas_target PRIVATE PkgConfig::OPENBLAS)
endif()
pkg_check_modules(FFTW IMPORTED_TARGET fftw3 fftw3f fftw3l)
if(FFTW_FOUND)
  add_executable(fftw_target ops/fftw_target.c)
  blas_place(fftw_target)
  target_link_libraries(fftw_target PRIVATE fftw3_threads PkgConfig::FFTW)
endif()

find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  set(blas_environment "OP_REPORT=$<TARGET_FILE:op_report>" "PROGRAMS=${BLAS_DIR}"
    "AGENT=$<TARGET_FILE:bottleneck-agent>" "PYTHONDONTWRITEBYTECODE=1")
  foreach(case Fake OpenBlas Fftw NumPy Wheels Headers Symbols)
    string(TOLOWER ${case} name)
    add_test(NAME ops_${name}
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/ops/blas.py ${case})
    set_tests_properties(ops_${name} PROPERTIES LABELS unit TIMEOUT 600 SKIP_RETURN_CODE 77
      ENVIRONMENT "${blas_environment}")
  endforeach()
endif()
