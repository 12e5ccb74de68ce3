#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Metrics that give several numbers: a key for each in the history, on the screen, for --expect and callbacks; the same for any number of replicas; and AUC
# of what lies outside of [0, 1].
. tests/cli/setup.sh
. tests/cli/jobs.sh
job=tests/jobs/metrics.yaml
for replicas in 1 3 16; do
    exits 0 fit "$job" strategy.replicas=$replicas output.dir="$TEST_DIR/$replicas"
    cmp "$TEST_DIR/1/history.jsonl" "$TEST_DIR/$replicas/history.jsonl"
done
head -n 1 "$TEST_DIR/1/history.jsonl" | grep -o '"[a-z_0-9]*":' | tr '\n' ' '
echo
"$DTRAIN" evaluate "$job" output.dir="$TEST_DIR/3" dataset.global_batch_size=7 --json >"$TEST_DIR/evaluated" || echo "exit $?"
for key in loss f1_score_0 f1_score_1 f1_score_2 precision_0 precision_1 auc one_hot_mean_io_u; do
    [ "$(value "val_$key" "$TEST_DIR/3/history.jsonl")" = "$(value "$key" "$TEST_DIR/evaluated")" ] || echo "evaluate: another $key"
done
exits 0 fit "$job" output.dir="$TEST_DIR/x" --expect 'val_f1_score_2>=0' 'fit.callbacks=[EarlyStopping: {monitor: val_f1_score_1, patience: 5}]'
exits 78 fit "$job" output.dir="$TEST_DIR/x" --expect 'f1_score>=0'
show fit "$job" output.dir="$TEST_DIR/y" 'model.layers=[Input: {name: x, shape: [5]}, Dense: {units: 3}]' -q
show fit "$job" output.dir="$TEST_DIR/y" 'compile.metrics=[AUC: {multi_label: true, label_weights: [1, 2]}]' -q
show fit "$job" output.dir="$TEST_DIR/y" 'compile.metrics=[OneHotIoU: {num_classes: 3, target_class_ids: [3]}]' -q
show fit "$job" output.dir="$TEST_DIR/y" 'compile.metrics=[PearsonCorrelation: {axis: 0}]' -q
show fit "$job" output.dir="$TEST_DIR/y" compile.sample_weight=y compile.target=y -q
