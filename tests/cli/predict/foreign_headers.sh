#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CSV rows for a job of another format: a header with the names of elements is followed, one with some of them in another order than
# values are taken in is refused, and other headers are skipped.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
printf '{"a": [1], "b": [2, 0], "y": [0]}\n{"a": [3], "b": [1, 1], "y": [1]}\n' >train.jsonl
cat >job.yaml <<'END'
version: 1
dataset:
  format: jsonl
  train: train.jsonl
  element: {a: {shape: [1]}, b: {shape: [2]}, y: {shape: [1]}}
  global_batch_size: 2
model:
  type: functional
  layers: [Input: {name: a, shape: [1]}, Input: {name: b, shape: [2]}, Concatenate: {name: c, inputs: [a, b]}, Dense: {units: 1, name: p}]
  outputs: [p]
compile: {optimizer: sgd, loss: mse}
fit: {epochs: 1}
output: {dir: run}
END
"$DTRAIN" fit job.yaml -q || exit 1
printf '{"a": [5], "b": [6, 7]}\n' | "$DTRAIN" predict job.yaml --input - >plain || exit 1
say() { # text of new.csv
    printf '== %s\n' "$1"
    # shellcheck disable=SC2059 # it has escapes
    printf "$1" >new.csv
    "$DTRAIN" predict job.yaml --input new.csv >out 2>&1
    if cmp -s out plain; then echo same; else cat out; fi
}
say 'a,b_0,b_1\n5,6,7\n'
say 'b_1,b_0,a\n7,6,5\n'
say 'y,b_1,a_0,b_0\n1,7,5,6\n'
say '5,6,7\n'
say 'width,height,depth\n5,6,7\n'
say 'a,height,depth\n5,6,7\n'
say 'b_1,b_0,width\n7,6,5\n'
say ' b_0, b_1, a\n6,7,5\n'
