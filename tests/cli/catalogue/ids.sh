#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every id of the catalogue has a row: 295 of them, each in one table. Rows with other ids are more of the same kind.
. tests/cli/setup.sh
ids() {
    for group in Y:1-30 K:1-30 S:1-29 M:1-23 R:1-7 V:1-12 D:1-36 D:40-50 D:60-86 C:1-8 C:10-31 F:1-36 P:1-24; do
        range=${group#*:}
        seq -f "${group%%:*}%02g" "${range%-*}" "${range#*-}"
    done
}
ids | sort >"$TEST_DIR/ids"
wc -l <"$TEST_DIR/ids"
grep -hoE '^[A-Z][0-9]+[a-z]? ' tests/cli/catalogue/*.rows | tr -d ' ' | sort >"$TEST_DIR/rows"
uniq -d "$TEST_DIR/rows" | sed 's/$/ has two rows/'
comm -23 "$TEST_DIR/ids" "$TEST_DIR/rows" | sed 's/$/ has no row/'
