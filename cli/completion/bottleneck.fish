# SPDX-License-Identifier: MIT
# fish completion for bottleneck(1).
complete -c bottleneck -n __fish_use_subcommand -a run -d 'run a program and report'
complete -c bottleneck -n __fish_use_subcommand -a report -d 'print a saved run again'
complete -c bottleneck -n __fish_use_subcommand -a check -d 'what can be measured here'
complete -c bottleneck -n __fish_use_subcommand -xa '(__fish_complete_subcommand)'
complete -c bottleneck -s F -l frequency -x -d 'samples per second'
complete -c bottleneck -s o -l output -r -d 'keep the profile here'
complete -c bottleneck -s R -l report -r -d 'write the report here'
complete -c bottleneck -l rung -xa 'kernel user agent proc'
complete -c bottleneck -l unwinder -xa 'table libunwind'
complete -c bottleneck -l sort -xa 'self total line'
complete -c bottleneck -l by -xa 'function line module file thread process'
complete -c bottleneck -l color -xa 'auto always never'
complete -c bottleneck -l call-tree -d 'who calls whom'
complete -c bottleneck -s n -l top -x -d 'rows of each table'
complete -c bottleneck -l min-pct -x -d 'leave out rows below this share'
complete -c bottleneck -l thread -x
complete -c bottleneck -l process -x
complete -c bottleneck -l from -x
complete -c bottleneck -l to -x
complete -c bottleneck -l on-cpu
complete -c bottleneck -l off-cpu
complete -c bottleneck -l hide -x
complete -c bottleneck -l user-code -x
complete -c bottleneck -l width -x
complete -c bottleneck -s q -l quiet
complete -c bottleneck -s v -l verbose
complete -c bottleneck -l no-report
complete -c bottleneck -l no-off-cpu
complete -c bottleneck -l stack-size -x
complete -c bottleneck -l debuginfod
complete -c bottleneck -s h -l help
complete -c bottleneck -s V -l version
