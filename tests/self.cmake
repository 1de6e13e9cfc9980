# SPDX-License-Identifier: MIT
# Programs with a Python interpreter, which sample themselves: when, and that they do not notice.
add_executable(self_report self_report.c)
target_link_libraries(self_report PRIVATE agent_run)
