#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What data tell before training: columns of very different ranges, a validation part of one class, and weights that leave nothing to train on.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
# sorted by class, as many tables are; 'rare' is 1 in one row of 90
awk 'BEGIN { print "hue,proline,rare,kind,none,some"
    for (i = 0; i < 90; i++) printf "%.2f,%d,%d,%s,0,%d\n", 0.5 + i % 10 / 10, 300 + i * 97 % 1300, i == 7, i < 70 ? "red" : "white", i == 69 }' >t.csv
cat >job.yaml <<'END2'
version: 1
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset:
  format: csv
  train: t.csv
  validation_split: 0.2
  global_batch_size: 16
  element: {x: {columns: [hue, proline, rare]}, kind: {column: kind, vocabulary: [red, white]}, none: {column: none}, some: {column: some}}
model:
  layers:
    - Input: {name: x, shape: [3]}
    - Dense: {name: logits, units: 2}
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, target: kind, metrics: [accuracy]}
fit: {epochs: 1}
output: {dir: run}
END2
run() {
    echo "\$ fit $*"
    "$DTRAIN" fit job.yaml --dry-run "$@" 2>&1 | grep -v '^job \|^devices\|^data \|^memory\|^dry' | hide
}
run
run 'dataset.map={x: [normalize]}'
run 'dataset.map={x: [cast: float32]}' dataset.shuffle=true
# what looks itself after ranges, and numbers that are looked up
run 'model.layers=[{Input: {name: x, shape: [3]}}, BatchNormalization, {Dense: {units: 2}}]'
run 'model.layers=[{Input: {name: x, shape: [3], dtype: int32}}, {Embedding: {input_dim: 2000, output_dim: 2}}, Flatten, {Dense: {units: 2}}]' \
    'dataset.element.x={columns: [hue, proline, rare], dtype: float64}'
# weights
run 'dataset.map={x: [normalize]}' 'fit.class_weight={0: 0, 1: 0}'
run 'dataset.map={x: [normalize]}' 'fit.class_weight={0: 0}' dataset.take=60
run 'dataset.map={x: [normalize]}' 'fit.class_weight={1: 0}' dataset.take=60
run 'dataset.map={x: [normalize], kind: [one_hot: 2]}' 'compile.loss={CategoricalCrossentropy: {from_logits: true}}' 'fit.class_weight={0: 0, 1: 0}'
run 'dataset.map={x: [normalize]}' compile.sample_weight=none
run 'dataset.map={x: [normalize]}' compile.sample_weight=some
