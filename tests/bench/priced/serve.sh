#!/bin/sh
# SPDX-License-Identifier: MIT
# serve.sh READY STOP LOAD SERVER...: starts SERVER, waits until the command READY succeeds, runs the
# command LOAD, then STOP, and waits for the server's end: one command that ends when all is served.
ready=$1
stop=$2
load=$3
shift 3
"$@" >server.log 2>&1 &
tries=0
until sh -c "$ready" >/dev/null 2>&1; do
	tries=$((tries + 1))
	[ $tries -lt 200 ] || exit 1
	sleep 0.05
done
sh -c "$load" >load.log 2>&1
status=$?
sh -c "$stop" >/dev/null 2>&1
wait
exit $status
