#!/bin/sh
# SPDX-License-Identifier: MIT
# called_from.sh BOTTLENECK FAKE SOURCE PROGRAM: the table of ops has each wait of PROGRAM with the
# line of SOURCE that calls it.
bottleneck=$1 fake=$2 source=$3 program=$4
profile=$(mktemp -d) || exit 125
trap 'rm -r "$profile"' EXIT
LD_LIBRARY_PATH=$fake "$bottleneck" -o "$profile/p.bneck" --ops --width 200 "$program" >/dev/null \
	2>"$profile/report" || { cat "$profile/report"; exit 1; }
for call in cudaDeviceSynchronize cudaStreamSynchronize cudaEventSynchronize; do
	line=$(grep -n "$call(" "$source" | head -1 | cut -d: -f1)
	grep -q " cuda  *$call  *$(basename "$source"):$line\$" "$profile/report" || {
		echo "$call is not called from line $line"
		cat "$profile/report"
		exit 1
	}
done
