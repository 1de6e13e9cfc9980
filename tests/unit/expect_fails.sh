#!/bin/sh
# SPDX-License-Identifier: MIT
# PROGRAM's tests all fail, and say why.
said=$("$1" 2>&1) && { echo "it passed: $said"; exit 1; }
for words in 'Tested: 6 | Passing: 0 | Failing: 6 | Crashing: 0' \
	'expect_fails.c:7: ' 'eq(int, 7, 8)' 'actual: 7, expected: 8' \
	'eq(str, "this", "that"): row 3' 'actual: "this"' 'expected: "that"' '2 + 2 == 5' \
	'actual: 1, expected: 2' 'the second one' 'the test fails: no row main'; do
	printf '%s' "$said" | grep -q -- "$words" || { echo "missing: $words in: $said"; exit 1; }
done
case $said in *'after the end'*) echo "it went on: $said"; exit 1 ;; esac
