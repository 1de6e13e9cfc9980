# SPDX-License-Identifier: MIT
foreach(module array code error flops foreign_file function_name hash kallsyms mapped message module
        namespaces new_file op origin provider
        python_lines ring schedule strings)
  unit(${module} LIBS base)
endforeach()
fuzz(namespaces LIBS base)
fuzz(python_lines LIBS base)
