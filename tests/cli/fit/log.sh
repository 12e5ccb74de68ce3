#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Not on a terminal: lines only, no control characters, nothing on standard error; run again: nothing to do, the same weights.
. tests/cli/setup.sh
write_tiny
"$DTRAIN" fit "$tiny" --threads 2 >"$TEST_DIR/a" 2>"$TEST_DIR/err" || echo "exit $?"
cat "$TEST_DIR/err"
mask <"$TEST_DIR/a"
tr -d '\n -~' <"$TEST_DIR/a" | wc -c
"$DTRAIN" fit "$tiny" --threads 2 >"$TEST_DIR/b" || echo "exit $?"
mask <"$TEST_DIR/b"
grep saved "$TEST_DIR/a" >"$TEST_DIR/saved.a"
grep saved "$TEST_DIR/b" | cmp - "$TEST_DIR/saved.a"
