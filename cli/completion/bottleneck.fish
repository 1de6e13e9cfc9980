# SPDX-License-Identifier: MIT
# fish completion for bottleneck(1): the options are those of --help.

function __bottleneck_verbs
    bottleneck --help 2>/dev/null | string replace -rf '^  ([a-z]+) +([a-z].*)' '$1\t$2'
end

function __bottleneck_verb
    set -l words (commandline -opc)
    if __bottleneck_verbs | string match -q -- "$words[2]"\t'*'
        echo $words[2]
    else
        echo run
    end
end

function __bottleneck_runs
    contains -- (__bottleneck_verb) $argv
end

# What --help says of the command: of run and report it stands below, with their values.
function __bottleneck_options
    bottleneck (__bottleneck_verb) --help 2>/dev/null |
        string replace -rf '^  (?:-\w,)? *(--[a-z+-]+=?)\S* +(.*)' '$1\t$2'
end

function __bottleneck_exports
    bottleneck report --help 2>/dev/null |
        sed -n '/ --export=/,/(see/{s/.*--export=[^ ]*//; s/(see.*//; p}' | string match -ra '\S+'
end

function __bottleneck_rules
    bottleneck explain 2>/dev/null | string replace -rf '^  ([A-Z][A-Z0-9-]*) .*' '$1'
end

complete -c bottleneck -n __fish_use_subcommand -a '(__bottleneck_verbs)'
complete -c bottleneck -n 'not __bottleneck_runs run report' -a '(__bottleneck_options)'
complete -c bottleneck -n '__bottleneck_runs diff' -l by -xa 'run wall function line module file thread process op shape kernel' -d 'one table'
complete -c bottleneck -n '__bottleneck_runs diff' -l sort -xa 'change ratio base new' -d 'largest first'
complete -c bottleneck -n '__bottleneck_runs diff' -l phase -xa 'all startup warmup steady' -d 'only that part of each run'
complete -c bottleneck -n '__bottleneck_runs explain' -xa '(__bottleneck_rules)'
complete -c bottleneck -n '__bottleneck_runs run' -xa '(__fish_complete_subcommand)'
complete -c bottleneck -n '__bottleneck_runs run' -s p -l pid -xa '(__fish_complete_pids)' -d 'attach to processes that run already'
complete -c bottleneck -n '__bottleneck_runs run' -l agent -d 'with -p: load the agent into them, for ops, allocations and locks'
complete -c bottleneck -n '__bottleneck_runs run' -s F -l frequency -x -d 'samples per second of CPU time of each thread (999; with -p 399)'
complete -c bottleneck -n '__bottleneck_runs run' -l stack-size -x -d 'stack bytes captured with each sample (32768)'
complete -c bottleneck -n '__bottleneck_runs run' -l unwinder -xa 'table libunwind' -d 'table or libunwind (slower)'
complete -c bottleneck -n '__bottleneck_runs run' -l rung -xa 'kernel user agent proc' -d 'no better access than kernel, user, agent or proc'
complete -c bottleneck -n '__bottleneck_runs run' -l delay -x -d 'record nothing before this time of the run'
complete -c bottleneck -n '__bottleneck_runs run' -l duration -x -d 'record no longer than this'
complete -c bottleneck -n '__bottleneck_runs run' -l range -x -d 'record only while an op of this name is open'
complete -c bottleneck -n '__bottleneck_runs run' -l names -d 'have Node, Java and PHP name the functions that they compile'
complete -c bottleneck -n '__bottleneck_runs run' -l timeline-limit -x -d 'calls, waits and GPU activities to keep one by one (250000)'
complete -c bottleneck -n '__bottleneck_runs run' -l budget -xa 'none' -d 'lower the sampling rate above this overhead, in percent, or none (3)'
complete -c bottleneck -n '__bottleneck_runs run' -l no-off-cpu -d 'disable off-CPU profiling'
complete -c bottleneck -n '__bottleneck_runs run' -l no-ops -d 'record samples only: no ops, no allocations'
complete -c bottleneck -n '__bottleneck_runs run' -l exact -xa 'none ops malloc samples' -d 'ops: record every op of PyTorch and BLAS, whatever that costs; malloc: count every allocation; samples: keep the sampling rate (none)'
complete -c bottleneck -n '__bottleneck_runs run' -l no-nvtx -d 'disable tracing of NVTX ranges'
complete -c bottleneck -n '__bottleneck_runs run' -l no-api -d 'ignore the program\'s own calls of bottleneck\'s API'
complete -c bottleneck -n '__bottleneck_runs run' -l start-paused -d 'record nothing before the program calls start() of bottleneck\'s API'
complete -c bottleneck -n '__bottleneck_runs run' -l no-itt -d 'disable tracing of ITT tasks'
complete -c bottleneck -n '__bottleneck_runs run' -l no-blas -d 'disable tracing of BLAS, LAPACK and FFTW calls'
complete -c bottleneck -n '__bottleneck_runs run' -l no-mpi -d 'disable tracing of MPI calls'
complete -c bottleneck -n '__bottleneck_runs run' -l no-torch -d 'disable tracing of PyTorch ops'
complete -c bottleneck -n '__bottleneck_runs run' -l no-gpu -d 'disable tracing of GPUs and CUDA calls'
complete -c bottleneck -n '__bottleneck_runs run' -l gpu-lines -d 'sample GPU instructions and their stall reasons (requires elevated privileges)'
complete -c bottleneck -n '__bottleneck_runs run' -l gpu-graph-nodes -d 'record each kernel of a CUDA graph instead of the whole launch (higher overhead)'
complete -c bottleneck -n '__bottleneck_runs run' -l gpu-callsites -xa 'off sampled all' -d 'stacks of CUDA calls: off, sampled or all (sampled)'
complete -c bottleneck -n '__bottleneck_runs run' -l no-agent -d 'load nothing into the program: no ops, no allocations, no Python'
complete -c bottleneck -n '__bottleneck_runs run' -l no-shell -d 'disable tracing of the lines of bash scripts that start processes'
complete -c bottleneck -n '__bottleneck_runs run' -l no-gc -d 'disable tracing of Python\'s garbage collections'
complete -c bottleneck -n '__bottleneck_runs run' -l count-calls -d 'count each call of Python and C functions'
complete -c bottleneck -n '__bottleneck_runs run' -l trace -x -d 'make each call of a function of this name an op; globs, LIBRARY:FUNC'
complete -c bottleneck -n '__bottleneck_runs run' -l no-malloc -d 'disable tracing of allocations'
complete -c bottleneck -n '__bottleneck_runs run' -l no-waits -d 'disable tracing of waits for locks and other threads'
complete -c bottleneck -n '__bottleneck_runs run' -s o -l output -r -d 'keep the profile here, not as the last run'
complete -c bottleneck -n '__bottleneck_runs run' -s R -l report -r -d 'write the report here, not to stderr'
complete -c bottleneck -n '__bottleneck_runs run' -l ranks -x -d 'profile these ranks only, as in 0,3,8-15: others just run'
complete -c bottleneck -n '__bottleneck_runs run' -l no-report -d 'only keep the profile'
complete -c bottleneck -n '__bottleneck_runs run report' -l debuginfod -d 'fetch debug information from DEBUGINFOD_URLS'
complete -c bottleneck -s h -l help -d 'print this and exit'
complete -c bottleneck -n '__bottleneck_runs run' -l help-all -d 'print all options and exit'
complete -c bottleneck -n '__bottleneck_runs run' -s V -l version -d 'print the version and exit'
complete -c bottleneck -n '__bottleneck_runs run report' -l sort -xa 'wall self total line calls mem flops avg mem-total net net-total gpu-net gpu-net-total gpu gpu-total' -d 'one table, ranked by wall, self, total, line, mem, gpu, gpu-total; of ops also calls, avg, flops, mem-total, net, net-total, gpu-net, gpu-net-total; with --by function also calls'
complete -c bottleneck -n '__bottleneck_runs run report' -l as -xa 'torch nvtx itt api blas fftw mpi cuda python cprofile cprofile-callers cprofile-callees' -d 'ops of this kind alone, as torch or blas, with the time of others within them; or counted calls as cprofile, cprofile-callers, cprofile-callees'
complete -c bottleneck -n '__bottleneck_runs run report' -l by -xa 'function line module file thread process op shape stack domain stream kernel' -d 'function, line, module, file, thread, process; of ops op, shape, stack:N, domain; of GPUs stream, kernel'
complete -c bottleneck -n '__bottleneck_runs run report' -l ops -d 'the table of ops'
complete -c bottleneck -n '__bottleneck_runs run report' -l of -x -d 'percentages of ops are of the time in these, as in a label'
complete -c bottleneck -n '__bottleneck_runs run report' -l waits -d 'who waited for whom: waiter, resource, holder'
complete -c bottleneck -n '__bottleneck_runs run report' -l env -d 'what the run ran on and with: versions, libraries, CPUs, variables'
complete -c bottleneck -n '__bottleneck_runs run report' -l call-tree -d 'who calls whom, with shares'
complete -c bottleneck -n '__bottleneck_runs run report' -s n -l top -x -d 'rows of each table (15)'
complete -c bottleneck -n '__bottleneck_runs run report' -l min-pct -x -d 'leave out rows below X % (0.5; 2 in trees)'
complete -c bottleneck -n '__bottleneck_runs run report' -l thread -x -d 'only the threads of this name or number'
complete -c bottleneck -n '__bottleneck_runs run report' -l process -x -d 'only the processes of this name or number'
complete -c bottleneck -n '__bottleneck_runs run report' -l from-steady -d 'only what happened after the warm-up'
complete -c bottleneck -n '__bottleneck_runs run report' -l from -x -d 'only what happened after this time of the run'
complete -c bottleneck -n '__bottleneck_runs run report' -l to -x -d 'only what happened before this time of the run'
complete -c bottleneck -n '__bottleneck_runs run report' -l skip -x -d 'the same as --from'
complete -c bottleneck -n '__bottleneck_runs run report' -l until -x -d 'the same as --to'
complete -c bottleneck -n '__bottleneck_runs run report' -l skip-first -x -d 'only what happened after so many steps'
complete -c bottleneck -n '__bottleneck_runs run report' -l phase -xa 'all startup warmup steady' -d 'only startup, warmup or steady; all'
complete -c bottleneck -n '__bottleneck_runs run report' -l steps -x -d 'the op whose calls are the steps of the run (auto-detected)'
complete -c bottleneck -n '__bottleneck_runs run report' -l on-cpu -d 'only time on a CPU'
complete -c bottleneck -n '__bottleneck_runs run report' -l off-cpu -d 'only time spent waiting'
complete -c bottleneck -n '__bottleneck_runs run report' -l hide -x -d 'give their time to the callers'
complete -c bottleneck -n '__bottleneck_runs run report' -l interpreter -d "show Python's own code, too"
complete -c bottleneck -n '__bottleneck_runs run report' -l user-code -x -d 'give all time to these files or modules; auto: to your own code'
complete -c bottleneck -l width -x -d 'of the report (the terminal\'s, else 100)'
complete -c bottleneck -l color -xa 'auto always never' -d 'auto, always or never'
complete -c bottleneck -n '__bottleneck_runs run report' -s q -l quiet -d 'the answer only: no tables'
complete -c bottleneck -n '__bottleneck_runs run report' -s v -l verbose -d 'more about how the numbers came about'
complete -c bottleneck -n '__bottleneck_runs run report' -l rule -xa '(__bottleneck_rules)' -d 'another threshold of a finding, or off; see bottleneck explain'
complete -c bottleneck -n '__bottleneck_runs run report' -l rules -r -d 'the same, one on each line'
complete -c bottleneck -n '__bottleneck_runs run report' -l base -r -d 'a profile of another run, to compare with in --export html, markdown and digest'
complete -c bottleneck -n '__bottleneck_runs run report' -l fail-on -xa 'info warn error (__bottleneck_rules)' -d 'exit with 90 if this rule finds something, or any of info, warn, error'
complete -c bottleneck -n '__bottleneck_runs run report' -l schedule -x -d 'a table for each cycle of steps, as wait=1,warmup=1,active=3,repeat=2,skip_first=0'
complete -c bottleneck -n '__bottleneck_runs run report' -l cycle -x -d 'only this cycle of the schedule'
complete -c bottleneck -n '__bottleneck_runs run report' -l max-events -x -d 'of --export chrome and firefox, the first ones, or 0: all (400000)'
complete -c bottleneck -n '__bottleneck_runs run report' -l strict -d 'exit with 92 if what was measured cannot be trusted'
complete -c bottleneck -n '__bottleneck_runs run report' -l export -xa '(__bottleneck_exports)' -d 'for other programs; see bottleneck-export(7)'
complete -c bottleneck -n '__bottleneck_runs run report' -l source -d 'show source files that need not be those of the run, too'
complete -c bottleneck -n '__bottleneck_runs run report' -l umask -d 'let others read new files, as the umask says, not you alone'
complete -c bottleneck -n '__bottleneck_runs run report' -l table -x -d 'export this table alone, as csv or json'
complete -c bottleneck -n '__bottleneck_runs report' -l json -d 'the findings for programs'
