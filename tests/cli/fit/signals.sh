#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SIGUSR1 saves and goes on; a second SIGTERM ends at once: 143, or 75 where the save was quicker.
. tests/cli/setup.sh
write_tiny
: >"$TEST_DIR/a"
"$DTRAIN" fit "$tiny" fit.epochs=10000000 checkpoint.save_freq=1000000000 --json --every-step >"$TEST_DIR/a" 2>"$TEST_DIR/err" &
wait_for '"event":"step"' "$TEST_DIR/a"
kill -USR1 $!
wait_for '"event":"checkpoint"' "$TEST_DIR/a"
kill -TERM $!
kill -TERM $!
ended $!
code=$?
case $code in 75 | 143) ;; *) echo "exit $code" ;; esac
sed -n '/"checkpoint"/,$p' "$TEST_DIR/a" | grep -q '"event":"step"' || echo "no step after SIGUSR1"
tail -n 1 "$TEST_DIR/a" | grep -q "\"exit\":$code" || tail -n 1 "$TEST_DIR/a"
"$DTRAIN" evaluate "$tiny" >/dev/null || echo "the checkpoint cannot be read: exit $?"
