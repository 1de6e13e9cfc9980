# SPDX-License-Identifier: MIT
foreach(module array error hash kallsyms module ring strings)
  unit(${module} LIBS base)
endforeach()
