# SPDX-License-Identifier: MIT
unit(address_space LIBS sampler)

include(sampler_capture.cmake OPTIONAL)
include(sampler_offcpu.cmake OPTIONAL)
