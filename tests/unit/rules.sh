#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rules.sh BOTTLENECK TESTS: each rule that "bottleneck explain" lists is named by a unit test
# in TESTS that expects it to fire or to be silent.
set -euo pipefail
bottleneck=$1 tests=$2 status=0

ids=$("$bottleneck" explain | grep -oE '^ *[A-Z]+-[A-Z0-9]+' | tr -d ' ')
[ "$(wc -l <<<"$ids")" -ge 50 ] || { echo "explain lists only:" $ids; exit 1; }
for id in $ids; do
	# A row of a table whose rules are planted, or asked about; or the question itself.
	if ! grep -qE "(\{ |finding_of\([a-z]+, |expect_[a-z]+\()\"$id\"" "$tests"/unit/*_test.c; then
		echo "$id: no unit test"
		status=1
	fi
done
exit $status
