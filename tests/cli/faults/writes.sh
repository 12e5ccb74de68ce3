#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# F09 to F12: a sample of what scripts/soak tries in full: calls that write fail, in fit and in every verb that writes a file. Of errors there
# is a word and an exit code, the same command goes on to the same bits, and nothing is said to be done that is not.
. tests/cli/setup.sh
n=40
grep -q '__[at]san_init' "$DTRAIN" && n=8
SOAK_DIR=$TEST_DIR scripts/soak writes $n >"$TEST_DIR/log" || grep -v ' calls that write, ' "$TEST_DIR/log"
grep -c ' calls that write, ' "$TEST_DIR/log"
