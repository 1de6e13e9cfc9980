# SPDX-License-Identifier: MIT
foreach(module array error hash kallsyms mapped module op ring strings)
  unit(${module} LIBS base)
endforeach()
