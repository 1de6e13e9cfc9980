#!/bin/sh
# SPDX-License-Identifier: MIT
# The manual pages are clean, name the options that --help names and no others, and their examples
# run.
#
#	man.sh MAN_DIRECTORY BOTTLENECK
set -eu
man=$(cd "$1" && pwd)
bottleneck=$2
failed=0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "FAIL: $*"
	failed=1
}

if command -v mandoc >/dev/null; then
	for page in "$man"/*.[1-9]; do
		# What only another system's database knows (other pages) is not an error here.
		mandoc -T lint -W warning "$page" || fail "mandoc: $page"
	done
else
	echo "SKIP: mandoc is not installed: the pages are not checked"
fi

# Long options of a page, and of a help text, one a line.
page_options() {
	grep -o 'Fl -[a-z][a-z+-]*' "$1" | sed 's/^Fl //; s/^/-/' | sort -u
}
help_options() {
	"$bottleneck" "$@" --help | grep -o '^ *\(-[a-zA-Z],\)\? *--[a-z][a-z+-]*' |
		grep -o -- '--[a-z+-]*' | sort -u
}

compare() {
	page=$1
	shift
	page_options "$man/$page" >"$work/page"
	help_options "$@" >"$work/help"
	test -s "$work/help" || fail "$page: no options in --help"
	diff "$work/help" "$work/page" >"$work/diff" ||
		fail "$page (>) and --help (<) differ: $(cat "$work/diff")"
}
# The first screen of help fits one, and names options that there are.
"$bottleneck" --help >"$work/first"
test "$(wc -l <"$work/first")" -le 40 || fail "--help is longer than 40 lines"
"$bottleneck" --help-all | grep -o -- '--[a-z+-]*' | sort -u >"$work/all"
for option in $(sed -n '/^Common options/,$s/^ *\(-[a-zA-Z],\)\? *\(--[a-z+-]*\).*/\2/p' "$work/first"); do
	grep -qx -- "$option" "$work/all" || fail "$option of --help is not in --help-all"
done
test "$(wc -l <"$work/all")" -gt 60 || fail "--help-all leaves options out"
# Every command has a page, and it is installed.
"$bottleneck" --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' | grep -vx run >"$work/verbs"
test -s "$work/verbs" || fail "--help lists no commands"
while read -r verb; do
	grep -q "bottleneck-$verb\.1" "$man/CMakeLists.txt" || fail "no page bottleneck-$verb.1"
done <"$work/verbs"
compare bottleneck.1 run
for verb in batch bench count diff explain merge report top; do
	compare bottleneck-$verb.1 $verb
done
# The page mentions an option of run.
page_options "$man/bottleneck-check.1" | grep -v -- --debuginfod >"$work/page"
help_options check | diff - "$work/page" || fail "bottleneck-check.1 and --help differ"

# Every rule is in the page, and no other.
"$bottleneck" explain | sed -n 's/^  \([A-Z][A-Z0-9-]*\) .*/\1/p' | sort >"$work/rules"
test -s "$work/rules" || fail "bottleneck explain lists no rules"
sed -n 's/^\.It Sy \([A-Z][A-Z0-9-]*\)$/\1/p' "$man/bottleneck-findings.7" | sort >"$work/page"
diff "$work/rules" "$work/page" >"$work/diff" ||
	fail "bottleneck-findings.7 (>) and explain (<) differ: $(cat "$work/diff")"

# The examples, in the order of the pages: the later ones look at the last run of the earlier.
examples() {
	sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE ALSO/p' "$1" | sed -n '/^\.Bd/,/^\.Ed/p' |
		grep -v '^\.'
}
mkdir "$work/bin" "$work/run" "$work/state"
ln -s "$(realpath "$bottleneck")" "$work/bin/bottleneck"
PATH=$work/bin:$PATH
export PATH XDG_STATE_HOME="$work/state"
cd "$work/run"
# One page a line. Instructions are counted by valgrind, a hundred times as slowly.
make_data() {
	seq "$1" | awk '{ print ($1 * 7919) % 1000003 }' >data
}
pages='
	bottleneck-count.1
	bottleneck.1
	bottleneck-report.1
	bottleneck-check.1
	bottleneck-explain.1
	bottleneck-bench.1
	bottleneck-diff.1
	bottleneck-batch.1
	bottleneck-merge.1
	bottleneck-ops.7
	bottleneck-export.7
'
command -v valgrind >/dev/null || pages=$(echo "$pages" | grep -v count)
for page in $pages; do
	case $page in
	*count*) make_data 20000 ;;
	bottleneck.1) make_data 300000 ;;
	esac
	examples "$man/$page" >"$work/examples"
	test -s "$work/examples" || fail "$page has no examples"
	while read -r example; do
		status=0
		sh -c "$example" >"$work/out" 2>"$work/err" </dev/null || status=$?
		test $status -eq 0 || fail "$page: status $status of: $example
$(cat "$work/err")"
		cat "$work/out" "$work/err" | grep -q . ||
			case $example in
			*-R* | *--export*=*) ;;
			*) fail "$page: nothing comes from: $example" ;;
			esac
	done <"$work/examples"
done
test -s report.txt || fail "-R wrote no report"
test -s start.json || fail "--export wrote no file"
test -s trace.json.gz || fail "--export wrote no trace"
test -s report.html || fail "--export wrote no page"
test -s script.bneck || fail "-o wrote no profile"
rm -r nightly || fail "the batch left nothing"
rm -f data data.gz
rm -f run.0.bneck run.1.bneck all.bneck
rm -f base.bneck new.bneck old-[12].bneck now-[12].bneck script.bneck
rm -f report.html report.txt start.json stacks.txt.gz trace.json.gz
test -z "$(ls -A)" || fail "left behind: $(ls -A)"
exit $failed
