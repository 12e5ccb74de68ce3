#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: format train
# A run that keeps one checkpoint removes the one that a reader has just found: predict, ckpt inspect and init_from read what they opened, or take the next, and are
# never report damage.
. tests/cli/setup.sh
. tests/cli/jobs.sh
write_tiny
run=$TEST_DIR/run
"$DTRAIN" fit "$tiny" -q checkpoint.max_to_keep=1 || echo "exit $?"
"$DTRAIN" fit "$tiny" -q checkpoint.max_to_keep=1 checkpoint.save_freq=1 fit.epochs=1000000 &
trainer=$!
read_quietly() {
    "$DTRAIN" "$@" >"$TEST_DIR/out" 2>"$TEST_DIR/err" || { echo "$1: exit $?" && cat "$TEST_DIR/err"; }
    [ ! -s "$TEST_DIR/err" ] || cat "$TEST_DIR/err"
}
i=0
while [ $i -lt 60 ]; do
    read_quietly predict "$tiny"
    read_quietly ckpt inspect "$run"
    read_quietly fit "$tiny" -q --fresh fit.epochs=1 model.init_from="$run" output.dir="$TEST_DIR/begun"
    i=$((i + 1))
done
kill -9 "$trainer" || echo "the run ended before the predictions"
wait "$trainer" 2>"$TEST_DIR/err"
exit 0
