# SPDX-License-Identifier: MIT
foreach(module array error flops hash kallsyms mapped module op ring strings)
  unit(${module} LIBS base)
endforeach()
