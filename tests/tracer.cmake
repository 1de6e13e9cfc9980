# SPDX-License-Identifier: MIT
# Runs a program where perf_event_open is refused; never sanitized, as it execs foreign code.
add_executable(no_perf no_perf.c)
target_compile_definitions(no_perf PRIVATE _GNU_SOURCE)

# Runs programs under the agent.
add_library(agent_run STATIC agent_drain.c agent_run.c)
target_link_libraries(agent_run PUBLIC reader)
target_compile_definitions(agent_run PRIVATE
  AGENT_LIBRARY="$<TARGET_FILE:bottleneck-agent>")
add_dependencies(agent_run bottleneck-agent)
add_executable(agent_report agent_report.c)
target_link_libraries(agent_report PRIVATE agent_run)
