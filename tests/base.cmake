# SPDX-License-Identifier: MIT
foreach(module array error hash module ring strings)
  unit(${module} LIBS base)
endforeach()
