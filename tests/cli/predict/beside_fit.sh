#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A run that keeps one checkpoint removes the one that predict has just found: predict takes the next, and is never told of damage.
. tests/cli/setup.sh
. tests/cli/jobs.sh
write_tiny
"$DTRAIN" fit "$tiny" -q checkpoint.max_to_keep=1 || echo "exit $?"
"$DTRAIN" fit "$tiny" -q checkpoint.max_to_keep=1 checkpoint.save_freq=1 fit.epochs=1000000 &
trainer=$!
i=0
while [ $i -lt 60 ]; do
    "$DTRAIN" predict "$tiny" >"$TEST_DIR/out" 2>"$TEST_DIR/err" || { echo "exit $?" && cat "$TEST_DIR/err"; }
    [ -s "$TEST_DIR/err" ] && cat "$TEST_DIR/err"
    i=$((i + 1))
done
kill -9 "$trainer"
wait "$trainer" 2>"$TEST_DIR/err"
exit 0
