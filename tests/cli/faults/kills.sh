#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A sample of what scripts/soak tries in full: runs that are killed, checkpoints that are damaged, many starts at once.
. tests/cli/setup.sh
kills=4 damages=12 starts=100
grep -q '__[at]san_init' "$DTRAIN" && kills=4 damages=4 starts=20
for what in "kills $kills" "damage $damages" "locks $starts" "workers 2"; do
    # shellcheck disable=SC2086
    SOAK_DIR=$TEST_DIR scripts/soak $what >"$TEST_DIR/log" || cat "$TEST_DIR/log"
    sed -n 's/^\([a-z]*\): .* 0 wrong (seed [0-9]*)$/\1: 0 wrong/p' "$TEST_DIR/log"
done
