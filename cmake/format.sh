#!/bin/sh
# SPDX-License-Identifier: MIT
# format.sh [--check] CLANG-FORMAT: formats all C and C++ files, or names those that are not formatted.
# Left alone: assembly in strings, and a source whose lines a golden file quotes.
set -eu
check=
if [ "$1" = --check ]; then
	check="--dry-run -Werror"
	shift
fi
# Versions differ in what they make of macros: 14 is that of Debian 12.
version=$("$1" --version | sed -n 's/.*version \([0-9]*\).*/\1/p')
if [ "$version" != 14 ]; then
	echo "SKIP: $1 is of version $version, the code is formatted by version 14"
	exit 77
fi
if ! git rev-parse --quiet --verify HEAD >/dev/null 2>&1; then
	echo "SKIP: no git checkout: nobody knows which files are ours"
	exit 77
fi
# shellcheck disable=SC2086 # several words
git ls-files '*.c' '*.h' '*.cc' |
	grep -vE '^(tracer/agent/trace/trace_entry\.c|tests/golden/source\.c)$' |
	xargs "$1" ${check:--i}
