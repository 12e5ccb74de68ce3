#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# F13, F14, F15: closed, full and deserted standard streams harm neither the run nor its files.
. tests/cli/setup.sh
write_tiny
state() {
    "$DTRAIN" evaluate "$tiny" "output.dir=$1" --json | tail -n 1 | sed 's/.*"weights_sha256":"\([0-9a-f]*\)".*/\1/'
}
"$DTRAIN" fit "$tiny" >/dev/null
want=$(state "$TEST_DIR/run")
"$DTRAIN" fit "$tiny" output.dir="$TEST_DIR/closed" >&- 2>&- <&-
echo "closed: exit $?"
"$DTRAIN" fit "$tiny" output.dir="$TEST_DIR/full" >/dev/full 2>"$TEST_DIR/err"
echo "full: exit $?"
cat "$TEST_DIR/err"
"$DTRAIN" fit "$tiny" output.dir="$TEST_DIR/gone" 2>/dev/null | head -n 1 | cut -c 1-3
for run in closed full gone; do
    [ "$(state "$TEST_DIR/$run")" = "$want" ] || echo "$run: other weights"
done
