#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A number that stands for a missing value is one in CSV and in JSON, as a number and as a text, and is not reported as rounded.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
printf 'a,k,y\n1,2,1\n-999,3,0\n4,-999.0,1\n,2,0\n' >t.csv
printf '{"a": 1, "k": 2, "y": 1}\n{"a": -999, "k": 3, "y": 0}\n{"a": 4, "k": -999.0, "y": 1}\n{"a": "-999", "k": "2", "y": 0}\n' >t.jsonl
cat >job.yaml <<'END'
version: 1
dataset:
  format: csv
  train: t.csv
  missing_values: [-999]
  element: {x: {columns: [a]}, k: {column: k, vocabulary: ["2", "3"]}, y: {columns: [y]}}
  map: {x: [impute: {strategy: mean, indicator: true}], k: [impute: most_frequent, one_hot: 2]}
  global_batch_size: 2
model:
  type: functional
  layers: [Input: {name: x, shape: [2]}, Input: {name: k, shape: [2]}, Concatenate: {name: c, inputs: [x, k]}, Dense: {units: 1, name: p}]
  outputs: [p]
compile: {optimizer: sgd, loss: mse}
fit: {epochs: 1}
output: {dir: run}
END
"$DTRAIN" fit job.yaml -q || exit 1
for i in csv jsonl; do "$DTRAIN" predict job.yaml --input t.$i >$i.txt; done
cmp csv.txt jsonl.txt
"$DTRAIN" data convert job.yaml --mapped -q -o csv.csv
"$DTRAIN" data convert job.yaml --mapped -q -o jsonl.csv dataset.format=jsonl dataset.train=t.jsonl
cmp csv.csv jsonl.csv
tr -d '\r' <csv.csv
show data inspect job.yaml dataset.format=jsonl dataset.train=t.jsonl dataset.map=null
