#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# On a terminal, pages are broken at blanks to fit it; not a word is lost. A word that is too long stays whole. In a pipe it is the same.
. tests/cli/setup.sh
needs_terminals
words() {
    tr -d '\r' | tr '|' '\n' | tr -s ' \n' '\n'
}
for page in 'help fit' 'help' 'explain 17 172'; do
    for columns in 40 80 200; do
        on_terminal "COLUMNS=$columns $DTRAIN $page" >"$TEST_DIR/page"
        awk -v most="$columns" -v page="$page" '{ sub(/\|$/, "") } length > most && !/^ *[^ ]+$/ { print page " on " most " columns: " $0 }' "$TEST_DIR/page"
        # shellcheck disable=SC2086
        "$DTRAIN" $page | words >"$TEST_DIR/words"
        words <"$TEST_DIR/page" | cmp "$TEST_DIR/words" -
    done
done
on_terminal "COLUMNS=60 $DTRAIN help fit" | grep -A 1 -e '--fresh'
