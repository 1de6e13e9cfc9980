# SPDX-License-Identifier: MIT
foreach(module array error hash kallsyms module op ring strings)
  unit(${module} LIBS base)
endforeach()
