# SPDX-License-Identifier: MIT
# cpack -G TGZ: see cmake/relocatable.cmake for what travels beside the binary.
set(CPACK_GENERATOR TGZ)
include(CPack)
