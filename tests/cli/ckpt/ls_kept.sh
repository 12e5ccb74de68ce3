#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `ckpt ls` shows the metrics of the weights in the checkpoint, also where EarlyStopping restored an earlier epoch's: those of
# `evaluate`. Of several runs it names each.
. tests/cli/setup.sh
write_tiny
sed -i 's|^fit: .*|fit: {epochs: 9, callbacks: [EarlyStopping: {patience: 1, mode: max, restore_best_weights: true}]}|' "$tiny"
"$DTRAIN" fit "$tiny" -q || echo "exit $?"
"$DTRAIN" ckpt ls "$TEST_DIR/run" | tail -n 1 >"$TEST_DIR/line"
grep -o 'kept epoch [0-9]*  finished$' "$TEST_DIR/line"
"$DTRAIN" ckpt ls "$TEST_DIR/run" --json | tail -n 1 | grep -o '"kept_epoch": [0-9]*'
listed=$(grep -o 'val_loss [0-9.]*' "$TEST_DIR/line")
evaluated=$("$DTRAIN" evaluate "$tiny" 2>&1 | grep -o '\bloss [0-9.]*')
[ "$listed" = "val_$evaluated" ] || echo "listed $listed, evaluated $evaluated"
"$DTRAIN" ckpt ls "$TEST_DIR/run" "$TEST_DIR/run" | grep -c "^$TEST_DIR/run\$"
