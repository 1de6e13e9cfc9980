# SPDX-License-Identifier: MIT
# Somebody else's program: never sanitized.
find_package(Threads REQUIRED)
add_executable(sampler_child programs/sampler_child.c)
target_compile_definitions(sampler_child PRIVATE _GNU_SOURCE)
target_compile_options(sampler_child PRIVATE -Wall -Wextra -O1 -g)
target_link_libraries(sampler_child PRIVATE Threads::Threads)

unit(sampler LIBS sampler)
add_dependencies(sampler_test sampler_child)
target_compile_definitions(sampler_test PRIVATE SAMPLER_CHILD="$<TARGET_FILE:sampler_child>")

fuzz(perf_event LIBS sampler)
fuzz(perf_wakeup LIBS sampler)
