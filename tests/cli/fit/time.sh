#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --time: the step is finished, the state saved, 75; the same command goes on, to the bits of a run that was never stopped.
. tests/cli/setup.sh
write_tiny
for bad in 0s 5 1h30 m -1s 1x 1e3s nan ''; do
    exits 64 fit "$tiny" --time "$bad"
    sed 's/^dtrain: error: //' "$TEST_DIR/err" | head -n 1
done
"$DTRAIN" fit "$tiny" fit.epochs=10000000 --time 0.3s --json >"$TEST_DIR/a" 2>"$TEST_DIR/err" || echo "exit $?"
tail -n 1 "$TEST_DIR/a" | sed 's/step-[0-9]*/step-N/' | mask
sed 's/step [0-9]*/step N/' "$TEST_DIR/err" | hide
# a step is always done: a run goes on however short its time is
step=$(sed -n '$s/.*step-0*\([0-9]*\).*/\1/p' "$TEST_DIR/a")
exits 75 fit "$tiny" fit.epochs=10000000 --time 0.000001s
[ -d "$TEST_DIR/run/ckpt/step-$(printf %08d $((step + 1)))" ] || echo "no step was done"
"$DTRAIN" fit "$tiny" fit.epochs=10000000 --steps $((step + 20)) --time 1h --json >"$TEST_DIR/b" || echo "exit $?"
"$DTRAIN" fit "$tiny" fit.epochs=10000000 --steps $((step + 20)) --json output.dir="$TEST_DIR/whole" >"$TEST_DIR/c" || echo "exit $?"
[ "$(weights "$TEST_DIR/b")" = "$(weights "$TEST_DIR/c")" ] || echo "other weights after a stop"
# the command that is printed resumes, also where the job itself would start over
for resume in never auto must "$TEST_DIR/whole/ckpt/step-$(printf %08d $((step + 20)))"; do
    exits 75 fit "$tiny" fit.epochs=10000000 checkpoint.resume="$resume" --time 0.00001s
    tail -n 1 "$TEST_DIR/err" | sed 's/step-[0-9]*/step-N/' | hide
done
for time in 90s 1h 100000.5s; do
    : >"$TEST_DIR/a" # what the run before wrote must not be taken for this one's
    "$DTRAIN" fit "$tiny" fit.epochs=10000000 --time $time --json output.dir="$TEST_DIR/printed" >"$TEST_DIR/a" 2>"$TEST_DIR/err" &
    wait_for '"event":"step"' "$TEST_DIR/a"
    kill -TERM $!
    ended $!
    sed -n 's/.* --time/--time/p' "$TEST_DIR/err"
done
# a run that ends before its time is a run that ended
exits 0 fit "$tiny" --time 1d2h3m4.5s output.dir="$TEST_DIR/short"
