#!/bin/sh
# SPDX-License-Identifier: MIT
# lint.sh CLANG-TIDY CC BUILD BASE: has clang-tidy (.clang-tidy) and gcc -fanalyzer look at the C
# files that differ from BASE and that BUILD compiles.
set -eu
tidy=$1 compiler=$2 build=$3 base=$4 status=0

for file in $(git diff --name-only --diff-filter=d "$base" -- '*.c'); do
	grep -q "\"file\": \".*/$file\"" "$build/compile_commands.json" || continue
	"$tidy" --quiet -p "$build" "$file" 2>/dev/null || status=1
	if "$compiler" --version | grep -q 'Free Software'; then
		# What leaks, clang-tidy does not see: cleanup attributes hide it.
		"$compiler" -std=gnu11 -D_GNU_SOURCE -I. -O1 -fanalyzer -fsyntax-only \
			-Wno-analyzer-use-of-uninitialized-value "$file" 2>&1 | grep -A6 'Wanalyzer.*leak' && status=1
	fi
done
exit $status
