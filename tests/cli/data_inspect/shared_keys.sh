#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Several elements of JSON lines may take one key, the first key of the first row included: each gets its value, not its default.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
printf '{"a": 1, "b": "x", "y": 0}\n{"b": "z", "y": 1, "a": 2}\n' >t.jsonl
cat >job.yaml <<'END'
version: 1
dataset:
  format: jsonl
  train: t.jsonl
  element: {x: {columns: [a, y]}, twice: {column: a, default_value: 7}, y: {shape: [1]}, also: {column: b, vocabulary: [z, x], default_value: 0}, b: {vocabulary: [x, z]}}
  global_batch_size: 2
model: {layers: [Input: {name: x, shape: [2]}, Dense: {units: 1, name: p}]}
compile: {optimizer: sgd, loss: mse, target: {p: y}}
fit: {epochs: 1}
END
"$DTRAIN" data convert job.yaml -q --mapped -o out.csv
tr -d '\r' <out.csv
