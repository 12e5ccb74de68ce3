#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A sample of what scripts/soak tries in full: allocations fail, in readers of all formats, plans, checkpoints and steps. Exit 71 and one line.
. tests/cli/setup.sh
n=8
grep -q '__[at]san_init' "$DTRAIN" && { echo "a sanitizer's allocations are its own" && exit 77; }
SOAK_DIR=$TEST_DIR scripts/soak memory $n >"$TEST_DIR/log" || grep -v ' allocations, ' "$TEST_DIR/log"
grep -c ': [0-9]* allocations, ' "$TEST_DIR/log"
