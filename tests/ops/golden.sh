#!/bin/sh
# SPDX-License-Identifier: MIT
# golden.sh OP_REPORT FILE COMMAND…: what the agent says of COMMAND's ops is what FILE says.
# TRACE: the functions that are traced, and nothing else. STATUS: with which the command ends; else 0.
# With UPDATE set, FILE is written. With ONLY set, an extended regular expression, only such lines are
# compared, without their threads and depths. Lines that match SORTED, another one, come last and are sorted.
report=$1 golden=$2
shift 2
said=$(mktemp) || exit 125
trap 'rm -f "$said"' EXIT
"$report" -g ${TRACE:+-o 64 -t "$TRACE"} -- "$@" >"$said"
ended=$?
[ $ended = "${STATUS:-0}" ] || { echo "$1 ended with $ended"; exit 1; }
if [ -n "$ONLY" ]; then
	all=$(grep -E -- "$ONLY" "$said" | sed 's/^p1 t[0-9]* //; s/ depth.*//')
	printf '%s\n' "$all" >"$said"
fi
if [ -n "$SORTED" ]; then
	all=$(grep -Ev -- "$SORTED" "$said"; grep -E -- "$SORTED" "$said" | LC_ALL=C sort)
	printf '%s\n' "$all" >"$said"
fi
if [ -n "$UPDATE" ]; then
	cat "$said" >"$golden"
	exit
fi
diff -u "$golden" "$said"
