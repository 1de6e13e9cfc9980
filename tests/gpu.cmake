# SPDX-License-Identifier: MIT
# GPU activity, on machines without a GPU.
find_path(CUPTI_INCLUDE cupti.h PATHS /usr/local/cuda/include
                                      /usr/local/cuda/extras/CUPTI/include)
if(CUPTI_INCLUDE)
  add_executable(cupti_abi_test gpu/cupti_abi_test.c)
  target_include_directories(cupti_abi_test PRIVATE ${PROJECT_SOURCE_DIR})
  target_include_directories(cupti_abi_test SYSTEM PRIVATE ${CUPTI_INCLUDE})
  add_test(NAME cupti_abi COMMAND cupti_abi_test)
  set_tests_properties(cupti_abi PROPERTIES LABELS unit)
else()
  message(STATUS "The layouts of CUPTI's records are not compared: its headers are not there")
endif()
