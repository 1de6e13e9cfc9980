# SPDX-License-Identifier: MIT
foreach(module array code error flops foreign_file function_name hash kallsyms mapped message module
        new_file op origin
        python_lines ring strings)
  unit(${module} LIBS base)
endforeach()
fuzz(python_lines LIBS base)
