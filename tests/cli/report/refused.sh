#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A path without a run is 66, a page that cannot be written 73 or 74, a call without runs 64. Nothing is left behind.
. tests/cli/setup.sh
write_tiny
"$DTRAIN" fit "$tiny" >/dev/null
mkdir "$TEST_DIR/empty" "$TEST_DIR/folder"
show report
show report "$TEST_DIR/nowhere"
show report "$TEST_DIR/rum"
mkdir "$TEST_DIR/alone"
show report "$TEST_DIR/alone/run"
rmdir "$TEST_DIR/alone"
show report "$TEST_DIR/empty"
show report "$tiny"
show report "$TEST_DIR/run" "$TEST_DIR/empty" -o "$TEST_DIR/both.html"
show report "$TEST_DIR/run" -o "$TEST_DIR/folder"
show report "$TEST_DIR/run" -o ''
show report "$TEST_DIR/run" --metric val_accurracy
exits 73 report "$TEST_DIR/run" -o /dev/full
"$DTRAIN" report "$TEST_DIR/run" -o - >/dev/full 2>"$TEST_DIR/err" || echo "to a full device: exit $?"
exits 73 report "$TEST_DIR/run" -o "$TEST_DIR/no/such/page.html"
(cd "$TEST_DIR" && ls && ls run)
