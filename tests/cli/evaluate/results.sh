#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Metrics without the prefix val_, the name of their checkpoint, and errors where something is missing.
. tests/cli/setup.sh
write_tiny
exits 66 evaluate "$tiny"
"$DTRAIN" fit "$tiny" --json >"$TEST_DIR/fit" || echo "exit $?"
"$DTRAIN" evaluate "$tiny" | grep -e ^validation -e ^of | mask
"$DTRAIN" evaluate "$tiny" --json >"$TEST_DIR/a" || echo "exit $?"
sed "/\"explained\"/d" "$TEST_DIR/a" | mask
[ "$(weights "$TEST_DIR/a")" = "$(weights "$TEST_DIR/fit")" ] || echo "other weights than fit's"
"$DTRAIN" evaluate "$tiny" --split train --json | grep -c '"split":"train"'
exits 80 evaluate "$tiny" --expect 'loss<0'
exits 78 evaluate "$tiny" --expect 'val_loss<1'
exits 66 evaluate "$tiny" --ckpt "$TEST_DIR/none"
