# SPDX-License-Identifier: MIT
foreach(module
  activity_names
  callgrind
  cells
  columns
  cycle
  cycle_recorded
  locations
  meetings
  merger_slots
  paths
  prices
  notes
  recorder
  lengths
  recording
  spread
  environment
  threads)
  unit(${module} LIBS merge PkgConfig::ZLIB)
endforeach()

fixture(merge_fixture SOURCES unit/merge_fixture.c LIBS merge)
fixture(finding_fixture SOURCES unit/finding_fixture.c LIBS merge)
fixture(gpu_fixture SOURCES unit/gpu_fixture.c LIBS merge)
# unit/merge_fixture.c holds a symbolizer of its own, so that these need no debug information.
foreach(module
  account
  ask_early
  callables
  diff
  file_ops
  goroutine_holders
  gpu_lines
  merger
  profile
  profile_file
  profile_programs
  query
  query_awaits
  query_goroutines
  query_contention
  query_counters
  query_devices
  query_imports
  query_iterations
  query_memory
  query_ops
  query_repeats
  query_slices
  query_stack_times
  query_stacks
  query_timeline
  query_wall)
  unit(${module} LIBS merge_fixture merge PkgConfig::SQLITE PkgConfig::ZLIB)
endforeach()

foreach(module finding finding_compiling finding_cpu finding_go finding_io finding_loops
        finding_memory finding_ops finding_python finding_quality
        merger_meetings price)
  unit(${module} LIBS finding_fixture merge_fixture
    merge PkgConfig::SQLITE PkgConfig::ZLIB)
endforeach()
foreach(module finding_gpu merger_parts query_gpu)
  unit(${module} LIBS gpu_fixture finding_fixture merge_fixture
    merge PkgConfig::SQLITE PkgConfig::ZLIB)
endforeach()

foreach(module histogram noise)
  unit(${module} LIBS merge m)
endforeach()
foreach(module gpu_busy gpu_idle gpu_touches history leaf_registers memory_curves op_table
        semaphores wall wall_time)
  unit(${module} LIBS merge)
endforeach()

# Every allocation of ours can be made to fail.
unit(profile_memory LIBS merge)
target_link_options(profile_memory_test PRIVATE
  -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=reallocarray)

fuzz(callgrind LIBS merge)
fixture(profile_base SOURCES fuzz/profile_base.c LIBS merge)
fuzz(profile_file LIBS profile_base merge PkgConfig::SQLITE)
fixture(sqlite_rows SOURCES fuzz/sqlite_rows.c LIBS merge PkgConfig::SQLITE)
if(FUZZ) # it is no code of ours that is to be covered
  set_source_files_properties(fuzz/sqlite_rows.c PROPERTIES
    COMPILE_OPTIONS "-O2;-fno-sanitize=address,undefined,fuzzer-no-link")
endif()
fuzz(profile_read LIBS profile_base sqlite_rows merge PkgConfig::SQLITE PkgConfig::ZLIB)
foreach(function open_v2 close exec db_config limit progress_handler deserialize errcode errmsg
        prepare_v2 finalize bind_text reset step column_count column_type column_blob column_bytes
        column_text column_int64 column_double)
  target_link_options(profile_read_fuzz PRIVATE -Wl,--wrap=sqlite3_${function})
endforeach()

# What a profile grows to in hours: replay HOURS prints it.
unit(replay SOURCES support/replay.c LIBS merge)
add_executable(replay EXCLUDE_FROM_ALL bench/replay.c support/replay.c)
target_link_libraries(replay PRIVATE flags merge)

# What findings cost: findings_cost [SERIES [FUNCTIONS [STACKS]]] prints it.
add_executable(findings_cost EXCLUDE_FROM_ALL bench/findings_cost.c)
target_link_libraries(findings_cost PRIVATE flags merge)

# What single calls cost: slices COUNT FILE prints it.
add_executable(slices bench/slices.c)
target_link_libraries(slices PRIVATE flags merge)

# As many ranks as one likes: ranks COUNT DIRECTORY writes their profiles.
add_executable(ranks bench/ranks.c)
target_link_libraries(ranks PRIVATE flags merge)

# What a sample costs the collector: samples -- COMMAND prints it.
add_executable(samples EXCLUDE_FROM_ALL bench/samples.c)
target_link_libraries(samples PRIVATE flags merge sampler)
