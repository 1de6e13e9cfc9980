#!/bin/sh
# SPDX-License-Identifier: MIT
# real.sh SAME OP_REPORT: every function of several libraries and programs is traced while real
# programs run: what they print, and how they end, is what it is without.
same=$1 report=$2
failed=0
ran=0

run() { # run PATTERN COMMAND…: if the command is there
	pattern=$1
	shift
	command -v "$1" >/dev/null || { echo "SKIP $1: it is not there"; return; }
	ran=$((ran + 1))
	if said=$("$same" "$report" "$pattern" "$@" 2>&1); then
		echo "ok   $pattern: $1: $said"
	else
		echo "FAIL $pattern: $*: $said"
		failed=1
	fi
}

sql='create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 2000) insert into t select x, x * x from c;
select sum(a), sum(b) from t; select count(*) from t x join t y on x.a = y.b;'
# Ubuntu 22.04 links it into the program.
if ldd "$(command -v sqlite3)" 2>/dev/null | grep -q libsqlite3; then
	run 'libsqlite3*:*' sqlite3 :memory: "$sql"
else
	run '*' sqlite3 :memory: "$sql"
fi
run 'libcrypto*:EVP_*' openssl dgst -sha256 /bin/sh
run 'libcrypto*:*' openssl enc -aes-256-cbc -pbkdf2 -pass pass:x -S 0011223344556677 -in /bin/sh -a
run _PyEval_EvalFrameDefault /usr/bin/python3 -c 'import json; print(len(json.dumps(list(range(2000)))))'
run '*' /usr/bin/python3 -c 'import json, re; print(re.sub(r"\d", "x", json.dumps(list(range(200)))))'
run 'libc.so*:*' /usr/bin/python3 -c '
import threading
t = [threading.Thread(target=lambda: print(end="")) for i in range(8)]
[x.start() for x in t]; [x.join() for x in t]'
run '*' perl -e 'for (1 .. 2000) { $h{$_ % 7} += $_ } print "$_ $h{$_}\n" for sort keys %h; eval { die "x\n" }; print $@, `echo hi`'
repository=$(mktemp -d) || exit 125
trap 'rm -rf "$repository"' EXIT
git_in() { git -C "$repository" -c user.name=n -c user.email=e -c init.defaultBranch=main "$@"; }
if command -v git >/dev/null && git_in init -q; then
	for i in 1 2 3 4 5; do
		seq $((i * 100)) >"$repository/file$i"
		git_in add . && GIT_AUTHOR_DATE="200$i-01-01T00:00Z" GIT_COMMITTER_DATE="200$i-01-01T00:00Z" \
			git_in commit -qm "commit $i"
	done
	run '*' git -C "$repository" log --stat --format='%H %an %s'
	run '*' git -C "$repository" diff HEAD~3
	run '*' git -C "$repository" grep -n 99
	run '*' git -C "$repository" fsck --no-progress
	run '*' git -C "$repository" blame file1
fi
run 'libc.so*:*' git --version
run '*' bash -c 'for i in 1 2; do echo $i | sort; done; (exit 3); echo $?'
run 'libc.so*:*' ls -l /bin
printf 'int f(int x) { return x * x; }\n' >"${TMPDIR:-/tmp}/trace_real.$$.c"
run 'cc1:*' gcc -O2 -S -o - "${TMPDIR:-/tmp}/trace_real.$$.c"
run 'libc.so*:*' gcc -O2 -S -o - "${TMPDIR:-/tmp}/trace_real.$$.c"
rm -f "${TMPDIR:-/tmp}/trace_real.$$.c"
[ $ran -gt 0 ] || exit 77
exit $failed
