#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Metrics with a number for each class say which class it is; their keys stay the same. Numbers for thresholds are of no class.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit
awk 'BEGIN { print "a,b,kind"; for (i = 0; i < 60; i++) print i % 7 "," i % 5 "," (i % 2 ? "<lily>" : "iris") }' >kinds.csv
cat >job.yaml <<'END'
version: 1
dataset:
  format: csv
  train: kinds.csv
  element: {x: {columns: [a, b]}, kind: {column: kind, vocabulary: [iris, <lily>]}}
  map: {kind: [one_hot: {num_classes: 2}, cast: float32]}
  validation_split: 0.2
  global_batch_size: 8
model: {layers: [Input: {name: x, shape: [2]}, Dense: {units: 2, activation: softmax}]}
compile:
  optimizer: SGD
  loss: categorical_crossentropy
  metrics: [F1Score, Precision: {thresholds: [0.3, 0.6]}]
fit: {epochs: 2}
END
"$DTRAIN" fit job.yaml | sed -n '/^epoch/s/ [0-9.]*[0-9]\( \|$\)/ N\1/gp' | tail -n 1
"$DTRAIN" evaluate job.yaml --expect 'f1_score_1>=0' | sed -n 's/ [0-9.]*[0-9]\( \|$\)/ N\1/g; /^validation/p'
"$DTRAIN" evaluate job.yaml --json | sed -n 's/:[0-9.]*\([,}]\)/:N\1/g; /"eval"/p'
"$DTRAIN" report runs/job -q
grep -o '"classes": {[^}]*}' runs/job/report.html
