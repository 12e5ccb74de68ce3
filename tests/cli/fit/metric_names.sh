#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Metrics of one class are numbered, as in Keras, unless the job names them.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
cat >job.yaml <<'END'
version: 1
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset: {format: synthetic, examples: 32, element: {x: {shape: [4]}, y: {num_classes: 2}}, global_batch_size: 8}
model: {layers: [Input: {name: x, shape: [4]}, Dense: {units: 1, activation: sigmoid}]}
compile: {optimizer: sgd, loss: bce}
fit: {epochs: 1}
END
keys() {
    echo "$1"
    "$DTRAIN" fit job.yaml --fresh -q "compile.metrics=$1" output.dir=run 2>&1 | sed 's/^/    /'
    [ -f run/history.jsonl ] && grep -o '"[a-z_0-9]*":' run/history.jsonl | tr -d '":' | tr '\n' ' '
    echo
    rm -rf run
}
keys '[AUC, {AUC: {curve: PR}}, Precision, {Precision: {thresholds: 0.7}}, {AUC: {num_thresholds: 20}}]'
keys '[AUC, {AUC: {curve: PR, name: pr}}, AUC]'
keys '[{Precision: {thresholds: [0.3, 0.7]}}, {Precision: {thresholds: [0.4, 0.6]}}, Precision]'
keys '[acc, acc]'
keys '[AUC, {AUC: {name: auc}}]'
