#!/bin/sh
# SPDX-License-Identifier: MIT
# golden.sh OP_REPORT FILE COMMAND…: what the agent says of COMMAND's ops is what FILE says.
# With UPDATE set, FILE is written.
report=$1 golden=$2
shift 2
if [ -n "$UPDATE" ]; then
	"$report" -g -- "$@" >"$golden"
	exit
fi
said=$(mktemp) || exit 125
trap 'rm -f "$said"' EXIT
"$report" -g -- "$@" >"$said" || { echo "$1 ended with $?"; exit 1; }
diff -u "$golden" "$said"
