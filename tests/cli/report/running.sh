#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A run while it trains: what is there so far, and its time. After a kill it is shown as interrupted; a run that is asked to stop writes its page itself.
. tests/cli/setup.sh
write_tiny
run=$TEST_DIR/run
page=$TEST_DIR/page.html
"$DTRAIN" fit "$tiny" fit.epochs=10000000 checkpoint.save_freq=5000000 >/dev/null 2>&1 &
pid=$!
wait_for '"event": "epoch"' "$run/record.jsonl" 2>/dev/null
show report "$run" -q -o "$page"
has "$page" '"outcome": "running"'
grep -qE 'still training as of 20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9:]{8} UTC: step [0-9,]+ of 60,000,000' "$page" || echo "not as of when"
kill -9 "$pid"
ended "$pid" 2>/dev/null
"$DTRAIN" report "$run" -q -o "$page"
has "$page" '"outcome": "interrupted"'
has "$page" 'killed, or the machine stopped, after step'
[ -e "$run/report.html" ] && echo "a page that was not asked for"

: >"$TEST_DIR/out" # wait_for would read what the run before has written
"$DTRAIN" fit "$tiny" --fresh fit.epochs=10000000 checkpoint.save_freq=5000000 output.report=html >"$TEST_DIR/out" 2>&1 &
pid=$!
wait_for 'epoch 3/' "$TEST_DIR/out"
kill -TERM "$pid"
ended "$pid"
echo "stopped with $?"
has "$run/report.html" '"outcome": "stopped"'
