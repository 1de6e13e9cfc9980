#!/bin/sh
# SPDX-License-Identifier: MIT
# mini_debug.sh FROM TO: TO has no symbols but a compressed table of them in .gnu_debugdata,
# as Fedora ships its programs.
set -eu
nm --defined-only --format=posix "$1" | awk '$2 ~ /[TtDd]/ { print $1 }' | sort >"$2.keep"
objcopy -S --remove-section .gdb_index --remove-section .comment \
	--keep-symbols="$2.keep" --only-keep-debug "$1" "$2.mini"
objcopy --strip-debug "$2.mini" "$2.mini2" && mv "$2.mini2" "$2.mini"
xz -f "$2.mini"
objcopy --strip-all --add-section .gnu_debugdata="$2.mini.xz" "$1" "$2"
rm -f "$2.keep" "$2.mini.xz"
