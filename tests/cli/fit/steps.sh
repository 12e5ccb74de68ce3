#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --steps within an epoch: a run with more steps resumes there and ends with the weights and the history of an uninterrupted one.
. tests/cli/setup.sh
write_tiny
"$DTRAIN" fit "$tiny" --json output.dir="$TEST_DIR/whole" >"$TEST_DIR/a" || echo "exit $?"
for steps in 2 3 6 7 7; do
    exits 0 fit "$tiny" --steps $steps
    tail -n 1 "$TEST_DIR/run/history.jsonl" | grep -o '"epoch.*"step": [0-9]*'
done
"$DTRAIN" fit "$tiny" --json >"$TEST_DIR/b" || echo "exit $?"
[ "$(weights "$TEST_DIR/a")" = "$(weights "$TEST_DIR/b")" ] || echo "other weights after going on"
diff "$TEST_DIR/whole/history.jsonl" "$TEST_DIR/run/history.jsonl"
