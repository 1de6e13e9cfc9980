#!/bin/sh
# SPDX-License-Identifier: MIT
# same.sh OP_REPORT PATTERN COMMAND…: with the functions that match traced, the command prints what
# it prints without, and ends as without; and there are ops. With MANY set, only at least so many.
report=$1 pattern=$2
shift 2
work=$(mktemp -d) || exit 125
trap 'rm -rf "$work"' EXIT
"$@" >"$work/plain" 2>"$work/plain.err" </dev/null
plain=$?
"$report" -g -o 64 -t "$pattern" -- sh -c 'out=$1; shift; exec "$@" >"$out" 2>"$out.err" </dev/null' \
	sh "$work/traced" "$@" >"$work/ops" 2>"$work/said"
traced=$?
[ $plain = $traced ] || { echo "ended with $traced, not $plain"; tail -3 "$work/said"; exit 1; }
diff "$work/plain" "$work/traced" || exit 1
[ -n "$STDERR_DIFFERS" ] || diff "$work/plain.err" "$work/traced.err" || exit 1
calls=$(awk '$3 == "begin" { calls++ } $3 == "count" { calls += $7 } END { print calls + 0 }' "$work/ops")
echo "$calls calls were traced"
[ "$calls" -ge "${MANY:-1}" ]
