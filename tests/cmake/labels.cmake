# SPDX-License-Identifier: MIT
# The labels by which tests/run chooses.
#
# quick: what --quick runs. All unit tests but a few that take longer than all
# others together, and of each folder with scripts the one that finds most in a few seconds.
set(quick_not gpu_hardware gpu_told_million nvcc_programs nvcc_programs_build)
set(quick_too
  e2e_report_options
  e2e_bench # bench/
  e2e_mpi_ops # mpi/
  e2e_ops_truth # ops/
  e2e_schedule e2e_warmup # warmup/
  fault_strcat # faults/
  html_browser # html/
  python_survival_hooks_kernel python_survival_hooks_agent # python/
  trace_real # trace/
  truth_shares truth_threads_no_perf # targets/
  unwind_oracle) # oracle/

get_property(all_tests DIRECTORY PROPERTY TESTS)
# sanitized: what tests/run runs of a build with sanitizers.
# Not what looks at nothing that is sanitized: neither the GPU that stands in for a real one, nor the
# agent, nor the programs that both are loaded into are.
set(sanitized_not fake_cuda fake_gpu fake_names man nvcc_programs nvcc_programs_build trace_stepped)
# sanitized_instead: what has only crashes to find, or finds the same in either build. tests/run
# runs it of the sanitized build alone, where it has one.
foreach(name e2e_damaged profile_memory symbol_oracle symbolizer_memory)
  if(name IN_LIST all_tests)
    set_property(TEST ${name} APPEND PROPERTY LABELS sanitized_instead)
  endif()
endforeach()
# sanitized_beside: what tests/run runs of it while the others wait, at the least priority: the longest
# that only compute.
set(sanitized_beside cfi_table e2e_damaged finding finding_cpu finding_io finding_ops finding_python loop_kinds memory_poisson
  op_thin profile_file profile_memory query query_ops query_warmup real_reports replay rules_page
  symbol_oracle symbolizer_memory text text_ops text_verdict torch_thin wall)
set(sanitized_too e2e_damaged e2e_manners truth_shares truth_threads truth_forks truth_dlopened)
foreach(name ${all_tests})
  get_property(labels TEST ${name} PROPERTY LABELS)
  if(name IN_LIST sanitized_too OR
     NOT (name IN_LIST sanitized_not OR "e2e" IN_LIST labels OR "fault" IN_LIST labels))
    set_property(TEST ${name} APPEND PROPERTY LABELS sanitized)
    if(name IN_LIST sanitized_beside)
      set_property(TEST ${name} APPEND PROPERTY LABELS sanitized_beside)
      if(SANITIZE)
        set_property(TEST ${name} PROPERTY TIMEOUT 1800)
      endif()
    endif()
  endif()
  if(("unit" IN_LIST labels OR name IN_LIST quick_too) AND NOT name IN_LIST quick_not)
    set_property(TEST ${name} APPEND PROPERTY LABELS quick)
  endif()
endforeach()

# alone: what has the machine to itself, without what tests/run does beside the other tests.
set_property(TEST e2e_contention APPEND PROPERTY LABELS alone)

# tests/run has two places for each CPU, and one more. A test that computes takes two: so many of
# them run as there are CPUs. These wait for a third of their time or more, and measure no
# time: they take one place, and run beside those that compute instead of having each hold a CPU back.
foreach(name ${all_tests})
  get_property(places TEST ${name} PROPERTY PROCESSORS)
  if(NOT places)
    set_property(TEST ${name} PROPERTY PROCESSORS 2)
  endif()
endforeach()
foreach(name e2e_asyncio_tasks e2e_attach e2e_attach_hooks e2e_batch e2e_ci_examples e2e_contention_quotas
        e2e_endings e2e_gevent_tasks e2e_goroutines e2e_names e2e_packages e2e_summaries e2e_terminal
        e2e_transparency e2e_transparency_no_perf e2e_trio_tasks
        fake_cuda gpu_told_killed gpu_told_slow_flush html_browser man python_cpython_agent
        python_cpython_kernel python_survival_waits_agent python_survival_waits_kernel python_survive
        python_waits_agent python_waits_kernel python_waits_user)
  if(name IN_LIST all_tests)
    set_property(TEST ${name} PROPERTY PROCESSORS 1)
  endif()
endforeach()
# A machine that has not run them yet knows no better order: the longest first, so that none of them
# is alone at the end.
foreach(name agent_e2e e2e_asyncio_tasks e2e_attach e2e_attach_agent e2e_attach_hooks e2e_batch e2e_chrome
        e2e_contention_quotas e2e_damaged e2e_goroutines e2e_gpu e2e_manners e2e_namespaces e2e_waits e2e_waits_kinds
        e2e_ops_providers e2e_package e2e_packages e2e_privileges e2e_real_programs e2e_seccomp e2e_transparency
        e2e_transparency_no_perf html_browser man nvcc_programs_build python_cfunctions
        python_cpython_agent python_cpython_kernel python_exact_timers python_exact_traps
        python_manners_handlers python_manners_processes python_manners_signals
        python_manners_threads python_manners_versions python_origins python_survive replay sampler
        symbol_oracle trace_real)
  if(name IN_LIST all_tests)
    set_property(TEST ${name} PROPERTY COST 10)
  endif()
endforeach()
# It takes both CPUs, which are never free again but at the end.
if("house_lint" IN_LIST all_tests)
  set_property(TEST house_lint PROPERTY COST 100)
endif()
