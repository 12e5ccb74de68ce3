#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# configs/quickstart.yaml on XLA: every epoch's loss, metrics and val_* are cpu's within 1e-4, on one device, on two and on all four, with three replicas, whose
# rows do not divide, and where devices are named. The plug-in gave wrong val_* where steps donate variables that evaluation reads, weights being right: so both
# are compared. The key, the options and the environment choose the same.
. tests/cli/setup.sh
. tests/cli/jobs.sh
# shellcheck source=/dev/null
. tests/cli/pjrt.inc
needs_digits
needs_xla
job=configs/quickstart.yaml
trains one $job 'strategy={type: default}'
same_history "$TEST_DIR/one-cpu" "$TEST_DIR/one-pjrt" 1e-4
for replicas in 2 3; do
    "$DTRAIN" fit $job -q --backend pjrt "strategy={type: mirrored, replicas: $replicas}" "output.dir=$TEST_DIR/$replicas"
    same_history "$TEST_DIR/one-cpu" "$TEST_DIR/$replicas" 1e-4
done
plugin=$DTRAIN_PJRT_PLUGIN
"$DTRAIN" fit $job --backend pjrt fit.epochs=2 "output.dir=$TEST_DIR/all" | sed -n 's/^devices *//p'
"$DTRAIN" fit $job fit.epochs=2 'strategy={type: mirrored, devices: ["GPU:3", "GPU:1"]}' "output.dir=$TEST_DIR/named" | sed -n 's/^devices *//p'
unset DTRAIN_PJRT_PLUGIN
"$DTRAIN" fit $job --plugin "$plugin" fit.epochs=2 'strategy={type: one_device, device: "GPU:2"}' "output.dir=$TEST_DIR/option" | sed -n 's/^devices *//p'
"$DTRAIN" fit $job -q fit.epochs=2 'strategy={type: default}' "backend={type: pjrt, plugin: $plugin}" "output.dir=$TEST_DIR/key"
head -n 2 "$TEST_DIR/one-cpu/history.jsonl" >"$TEST_DIR/history.jsonl"
for run in all named option key; do
    same_history "$TEST_DIR" "$TEST_DIR/$run" 1e-4
done
