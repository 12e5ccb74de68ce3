#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The job on standard input, overrides, -C, -q, --log-file.
. tests/cli/setup.sh
write_tiny
"$DTRAIN" fit - --json <"$tiny" >"$TEST_DIR/a" || echo "exit $?"
"$DTRAIN" fit "$tiny" --json --fresh >"$TEST_DIR/b" || echo "exit $?"
[ "$(weights "$TEST_DIR/a")" = "$(weights "$TEST_DIR/b")" ] || echo "other weights from standard input"
"$DTRAIN" -q fit "$tiny" seed=8 fit.epochs=1 output.dir=other -C "$TEST_DIR" --log-file "$TEST_DIR/log" || echo "exit $?"
ls "$TEST_DIR/other/ckpt"
"$DTRAIN" fit "$tiny" --fresh --log-file "$TEST_DIR/log" >"$TEST_DIR/out" && cmp "$TEST_DIR/out" "$TEST_DIR/log"
exits 78 fit "$tiny" fit.epoch=1
head -n 1 "$TEST_DIR/err"
exits 73 fit "$tiny" --log-file "$TEST_DIR/none/log"
# what people write first
show fit "$tiny" fit.epochs = 3
mkdir "$TEST_DIR/folder"
show fit "$TEST_DIR/folder"
show explain Dense
