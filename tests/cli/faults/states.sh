#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A sample of what scripts/soak tries in full (G3): states in which a power failure may leave the files. A run goes on from each to the same bits, and
# what verbs write is the old file or the whole new one.
. tests/cli/setup.sh
n=6
grep -q '__[at]san_init' "$DTRAIN" && n=2
SOAK_DIR=$TEST_DIR LEAST=0 scripts/soak states $n >"$TEST_DIR/log" || cat "$TEST_DIR/log"
grep -c ": $n of [0-9][0-9]* states" "$TEST_DIR/log"
# The check is not blind: without the calls that sync, the last verb's file may be neither.
maker=$PWD/$BUILD/tests/faults/states
cd "$TEST_DIR" || exit
grep -av '^sync ' rec >blind && cp -r rec.base blind.base
"$maker" list blind "$PWD/o" - 0 1 | while read -r _ state; do
    rm -rf o && "$maker" make blind "$PWD/o" "$state" o
    cmp -s o/p.svg whole/p.svg || [ "$(cat o/p.svg)" = old ] || { echo "neither old nor whole" && break; }
done
