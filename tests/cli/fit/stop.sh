#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SIGTERM, SIGINT, SIGHUP: the step is finished, the state saved, exit 75; the command that is printed resumes, to the same bits.
. tests/cli/setup.sh
write_tiny
for signal in TERM INT HUP; do
    rm -rf "$TEST_DIR/run"
    : >"$TEST_DIR/a" # what the run before wrote must not be taken for this one's
    "$DTRAIN" fit "$tiny" fit.epochs=10000000 --json --every-step >"$TEST_DIR/a" 2>"$TEST_DIR/err" &
    wait_for '"event":"step"' "$TEST_DIR/a"
    kill -$signal $!
    ended $!
    echo "SIG$signal: exit $?"
    tail -n 1 "$TEST_DIR/a" | sed 's/step-[0-9]*/step-N/' | mask
done
sed 's/step [0-9]*/step N/' "$TEST_DIR/err" | hide
step=$(sed -n '$s/.*step-0*\([0-9]*\).*/\1/p' "$TEST_DIR/a")
"$DTRAIN" fit "$tiny" fit.epochs=10000000 --steps $((step + 20)) --json >"$TEST_DIR/b" || echo "exit $?"
"$DTRAIN" fit "$tiny" fit.epochs=10000000 --steps $((step + 20)) --json output.dir="$TEST_DIR/whole" >"$TEST_DIR/c" || echo "exit $?"
[ "$(weights "$TEST_DIR/b")" = "$(weights "$TEST_DIR/c")" ] || echo "other weights after a stop"
