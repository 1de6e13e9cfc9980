#!/bin/sh
# SPDX-License-Identifier: MIT
# deferred.sh OP_REPORT COMMAND…: each op of COMMAND that is called "took N" took N us.
"$@" | awk '
	match($0, / took [0-9]+ calls 1 took [0-9]+ /) {
		split(substr($0, RSTART + 1, RLENGTH - 1), word, " ")
		if (word[6] != 1000 * word[2]) {
			print "not so: " $0
			wrong = 1
		}
		seen++
	}
	END { if (seen != 4) print seen " ops instead of 4"; exit wrong || seen != 4 }'
