#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every statement of the reference documents names tests that exist, and every test of tests/contract is named by a statement.
table=tests/contract/statements.tsv
tab=$(printf '\t')
grep -ohE '"id": ?"[^"]*"' tests/golden/*.json | sed 's/.*"id": *"//; s/"$//' | sort -u >"$TEST_DIR/cases"

# exists REFERENCE: a function that its program runs, a recorded case, an example whose output is compared, or a case of the command line.
exists() {
    case $1 in
    golden:*) grep -qxF "${1#golden:}" "$TEST_DIR/cases" ;;
    example:*) [ -f "examples/${1#example:}.c" ] && grep -qw "${1#example:}" tests/cli/examples/documented.sh tests/cli/examples/programs.sh ;;
    cli/*) [ -f "tests/$1.sh" ] ;;
    *:test_*) grep -qE "cmocka_unit_test[a-z_]*\(${1#*:}[,)]" "tests/${1%:*}_test.c" 2>/dev/null ;;
    *) false ;;
    esac
}

grep -v '^#' "$table" >"$TEST_DIR/rows"
while IFS=$tab read -r line statement tests rest; do
    case $line in [012]:[1-9]*) ;; *) echo "$line: no line of a document" ;; esac
    [ -n "$statement" ] && [ -n "$tests" ] && [ -z "$rest" ] || echo "$line $statement: three columns are needed"
    case $tests in "not here: "?*) continue ;; esac
    for test in $tests; do
        exists "$test" || echo "$line $statement: there is no test '$test'"
    done
done <"$TEST_DIR/rows"

for file in tests/contract/*_test.c; do
    name=$(basename "$file" _test.c)
    grep -oE 'cmocka_unit_test[a-z_]*\(test_[a-z0-9_]*' "$file" | sed 's/.*(//' | while read -r test; do
        grep -q "contract/$name:$test\([ $tab]\|\$\)" "$TEST_DIR/rows" || echo "$file: no statement names $test"
    done
done
[ "$(wc -l <"$TEST_DIR/rows")" -ge 200 ] || echo "only $(wc -l <"$TEST_DIR/rows") statements"
echo "checked"
