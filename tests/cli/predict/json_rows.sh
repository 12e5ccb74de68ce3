#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rows as JSON lines: a byte order mark is skipped; what is JSON but not JSON lines is named with its cure; so are other kinds of files.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
printf 'a,b,y\n1,2,0\n2,3,1\n3,4,0\n4,5,1\n' >train.csv
cat >job.yaml <<'END'
version: 1
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset: {format: csv, train: train.csv, element: {x: {columns: [a, b]}, y: {columns: [y]}}, global_batch_size: 4}
model: {layers: [Input: {name: x, shape: [2]}, Dense: {units: 1}]}
compile: {optimizer: sgd, loss: mse}
fit: {epochs: 1}
output: {dir: run}
END
"$DTRAIN" fit job.yaml -q || exit 1
say() { # text of new.jsonl
    printf '== %s\n' "$1"
    # shellcheck disable=SC2059 # it has escapes
    printf "$1" >new.jsonl
    "$DTRAIN" predict job.yaml --input new.jsonl >out 2>err
    printf 'exit %s, %s lines\n' $? "$(wc -l <out)"
    cat err
}
say '{"x": [1, 2]}\n{"x": [3, 4]}\n'
cp out plain
say '\357\273\277{"x": [1, 2]}\n{"x": [3, 4]}\n'
cmp out plain
say '\357\273\277{"x": [1, 2]}\r\n\r\n{"x": [3, 4]}'
cmp out plain
say '[{"x": [1, 2]},\n {"x": [3, 4]}]\n'
say '[{"x": [1, 2]}, {"x": [3, 4]}]\n'
say '{\n  "x": [1, 2]\n}\n'
say '{"x": [1, 2]}\n{"x": "\351"}\n'
say '{"x": [1, 2}\n'
say '\377\376{\000"\000x\000'
say '<!DOCTYPE html>\n<html></html>\n'
say 'PAR1\025\004\025\020\000\000'
exit 0
