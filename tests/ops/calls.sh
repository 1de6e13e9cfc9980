#!/bin/sh
# SPDX-License-Identifier: MIT
# calls.sh N "NAME…" OP_REPORT COMMAND…: each op of these names is called N times, told one by one or
# counted. TRACE: the functions that are traced, and nothing else. STATUS: with which the
# command ends; else 0.
wanted=$1 names=$2 report=$3
shift 3
said=$(mktemp) || exit 125
trap 'rm -f "$said"' EXIT
"$report" -g ${TRACE:+-o 64 -t "$TRACE"} -- "$@" >"$said"
ended=$?
[ $ended = "${STATUS:-0}" ] || { echo "$1 ended with $ended"; exit 1; }
for name in $names; do
	calls=$(awk -v name="$name" '$5 == name && $3 == "end" { calls++ }
		$5 == name && $3 == "count" { calls += $7 }
		END { print calls + 0 }' "$said")
	[ "$calls" = "$wanted" ] || { echo "$name: $calls calls"; failed=1; }
done
exit ${failed:-0}
