#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A page for each verb, for the program and for job files: groff and mandoc read the roff without a warning, and show all of it.
. tests/cli/setup.sh
"$DTRAIN" man --list >"$TEST_DIR/list"
while read -r page; do
    "$DTRAIN" man "$page" >"$TEST_DIR/$page" || echo "$page: exit $?"
    if command -v groff >/dev/null; then groff -man -ww -Tascii -z "$TEST_DIR/$page" 2>&1 | hide; fi
    if command -v mandoc >/dev/null; then mandoc -Tlint -W warning "$TEST_DIR/$page" | grep -v 'missing date' | hide; fi
done <"$TEST_DIR/list"
"$DTRAIN" man >"$TEST_DIR/program"
cmp "$TEST_DIR/program" "$TEST_DIR/dtrain.1"
for verb in fit evaluate topology 'data synth' man; do
    # shellcheck disable=SC2086 # two words
    "$DTRAIN" help $verb | sed -n 's/^ *-\{0,1\}[a-zA-Z]\{0,1\},\{0,1\} *--\([a-z-]*\).*/\1/p' | while read -r option; do
        has "$TEST_DIR/dtrain-$(echo "$verb" | tr ' ' '-').1" "\\-\\-$(echo "$option" | sed 's/-/\\-/g')"
    done
done
for key in fit.epochs dataset.global_batch_size strategy.replicas 'model.layers[].Dense.units' compile.optimizer.Adam.beta_1; do
    has "$TEST_DIR/dtrain-job.5" "\\fB$key\\fR"
done
show man dtrain-nothing.1
show man dtrain.1 dtrain-fit.1
# At 80 columns nothing is wider, pages for the terminal neither.
if command -v groff >/dev/null; then
    while read -r page; do
        groff -man -Tascii -P-c -rLL=80n "$TEST_DIR/$page" | sed 's/\x1b\[[0-9;]*m//g; s/.\x08//g' | awk -v page="$page" 'length > 80 { print page ": " $0 }'
    done <"$TEST_DIR/list"
fi
while read -r page; do
    verb=$(echo "$page" | sed -n 's/^dtrain-\(.*\)\.1$/\1/p' | sed 's/^\(data\|ckpt\|config\)-/\1 /')
    # shellcheck disable=SC2086 # two words
    "$DTRAIN" help $verb >"$TEST_DIR/help" 2>"$TEST_DIR/err" || echo "help $verb: exit $?"
    awk -v verb="$verb" 'length > 80 { print "help " verb ": " $0 }' "$TEST_DIR/help"
done <"$TEST_DIR/list"
for columns in 40 60 200; do
    COLUMNS=$columns "$DTRAIN" help fit | awk -v n="$columns" 'length > n && !/dtrain|@|\|/ { print n ": " $0 }'
done
COLUMNS=200 "$DTRAIN" help fit | awk 'length > most { most = length } END { if (most <= 80) print "COLUMNS=200 changes nothing" }'
