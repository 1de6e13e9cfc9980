# SPDX-License-Identifier: MIT
# bash completion for bottleneck(1). The options are those of --help.

_bottleneck_options() {
	bottleneck "$1" --help 2>/dev/null |
		sed -n 's/^  \(-[a-zA-Z]\)\?,\? *\(--[a-z+-]*\)\(=\?\).*/\1 \2\3/p'
}

# Names of the commands.
_bottleneck_verbs() {
	bottleneck --help 2>/dev/null | sed -n '/^Commands:/,/^"/s/^  \([a-z]*\) .*/\1/p'
}

# Ids of findings.
_bottleneck_rules() {
	bottleneck explain 2>/dev/null | sed -n 's/^  \([A-Z][A-Z0-9-]*\) .*/\1/p'
}

# Formats of --export.
_bottleneck_exports() {
	bottleneck report --help 2>/dev/null |
		sed -n '/ --export=/,/(see/{s/.*--export=[^ ]*//; s/(see.*//; p}'
}

_bottleneck_values() {
	case $2$1 in
	diff--by) echo run wall function line module file thread process op shape kernel; return ;;
	diff--sort) echo change ratio base new; return ;;
	esac
	case $1 in
	--budget) echo none ;;
	--as) echo torch nvtx itt api blas fftw mpi cuda python cprofile cprofile-callers cprofile-callees ;;
	--by) echo function line module file thread process op shape stack domain stream kernel ;;
	--color) echo auto always never ;;
	--export) _bottleneck_exports ;;
	--fail-on) echo info warn error; _bottleneck_rules ;;
	--rule) _bottleneck_rules ;;
	--gpu-callsites) echo off sampled all ;;
	--phase) echo all startup warmup steady ;;
	--rung) echo kernel user agent proc ;;
	--sort) echo wall self total line calls mem flops avg mem-total net net-total gpu-net gpu-net-total gpu gpu-total ;;
	--unwinder) echo table libunwind ;;
	esac
}

# Where the profiled program stands: its own completion goes on from there.
_bottleneck_program() {
	local i word
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		case $word in
		--) echo $((i + 1)); return ;;
		run) ((i == 1)) && continue ;;
		-F | -o | -R | -n | -p) ((i++)); continue ;;
		-*) [[ ${COMP_WORDS[i + 1]} == = ]] && ((i += 2)); continue ;;
		esac
		echo "$i"
		return
	done
	echo 0
}

_bottleneck() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb=run verbs values
	verbs=" $(_bottleneck_verbs | tr '\n' ' ') "
	[[ $verbs == *" ${COMP_WORDS[1]} "* ]] && verb=${COMP_WORDS[1]}
	[[ $cur == = ]] && cur=
	[[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}
	case $prev in
	-o | --output | -R | --report | --rules | --base | --junit)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	esac
	values=$(_bottleneck_values "$prev" "$verb")
	if [[ $values ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$values" -- "$cur")
		return
	fi
	if [[ $verb == run ]]; then
		local start
		start=$(_bottleneck_program)
		if ((start > 0)) && declare -F _command_offset >/dev/null; then
			_command_offset "$start"
			return
		fi
	fi
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_bottleneck_options $verb)" -- "$cur")
		[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
	elif [[ $verb == explain ]] && ((COMP_CWORD > 1)); then
		mapfile -t COMPREPLY < <(compgen -W "$(_bottleneck_rules)" -- "$cur")
	elif ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W "$verbs" -c -- "$cur")
	else
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}

complete -F _bottleneck bottleneck
