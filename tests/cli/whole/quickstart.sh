#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first job of the README reaches an accuracy between 94 % and 99 %, and writes only below output.dir.
. tests/cli/setup.sh
. tests/cli/jobs.sh
needs_digits
mkdir "$TEST_DIR/copy" "$TEST_DIR/home"
find configs "$digits" | sort >"$TEST_DIR/before"
HOME=$TEST_DIR/home TMPDIR=$TEST_DIR/home "$DTRAIN" fit configs/quickstart.yaml -C "$TEST_DIR/copy" --json --expect 'val_accuracy>=0.94' \
    --expect 'val_accuracy<=0.99' >"$TEST_DIR/out" 2>"$TEST_DIR/err" || echo "exit $?"
cat "$TEST_DIR/err"
find configs "$digits" | sort | cmp "$TEST_DIR/before" -
(cd "$TEST_DIR" && find copy home -print | LC_ALL=C sort)
tail -n 1 "$TEST_DIR/out" | mask
"$DTRAIN" evaluate configs/quickstart.yaml -C "$TEST_DIR/copy" --json >"$TEST_DIR/evaluate" || echo "evaluate: exit $?"
near "$(value val_accuracy "$TEST_DIR/out")" "$(value accuracy "$TEST_DIR/evaluate")" 1e-9 || echo "evaluate sees another accuracy"
