#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a fault report begins with: the same labels in both forms, only variables that matter, and what is wrong.
. tests/cli/setup.sh
SECRET=do-not-show OMP_NUM_THREADS=3 TMPDIR=$TEST_DIR/none "$DTRAIN" doctor >"$TEST_DIR/out" || echo "exit $?"
cut -c 1-12 "$TEST_DIR/out" | sed 's/ *$//' | grep . | tr '\n' ' '
echo
lacks "$TEST_DIR/out" do-not-show
has "$TEST_DIR/out" OMP_NUM_THREADS=3
sed -n '/^problems/,$p' "$TEST_DIR/out" | hide
"$DTRAIN" doctor --json >"$TEST_DIR/out" || echo "exit $?"
grep -o '^{"version": "\|"devices": {"cores": \|"problems": \[\]}$' "$TEST_DIR/out"
exits 64 doctor now
