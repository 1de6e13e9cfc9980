# SPDX-License-Identifier: MIT
# Runs a program where perf_event_open is refused; never sanitized, as it execs foreign code.
add_executable(no_perf no_perf.c)
target_compile_definitions(no_perf PRIVATE _GNU_SOURCE)
