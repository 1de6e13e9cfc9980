# SPDX-License-Identifier: MIT
# Runs programs under the agent and prints the Python stacks that it saw.
add_executable(python_report python_report.c)
target_link_libraries(python_report PRIVATE agent_run)
