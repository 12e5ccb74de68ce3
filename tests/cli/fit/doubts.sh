#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Warnings about the data before training: columns of very different ranges, a validation part of one class, and weights that leave nothing to train on.
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
# whole numbers that float32 rounds: once a column, in whichever file or part it comes first
printf 't,u,y\n5,16777216,1\n16777217,3,1\n16777219,33554435.0,0\n1e30,-33554437,1\n' >u.csv
printf 't,u,y\n5,6,1000000001\n7,16777217,0\n' >v.csv
sed 's/train: t.csv/train: u.csv/; /validation_split/d; s/global_batch_size: 16/global_batch_size: 2/
    s/^  element:.*/  element: {x: {columns: [t, u]}, y: {column: y}}/; s/shape: \[3\]/shape: [2]/; s/units: 2/units: 1/
    s/^compile:.*/compile: {optimizer: SGD, loss: mean_squared_error}/' job.yaml >u.yaml
sed -i '/^  element:/a\  map: {x: [rescale: {scale: 1e-30}]}' u.yaml
for words in '' 'dataset.train=[v.csv, u.csv]' 'dataset.train=v.csv dataset.validation=u.csv' \
    'dataset.element.x={columns: [t, u], dtype: float64}'; do
    echo "\$ fit u.yaml $words"
    case $words in *' dataset.v'*) set -- dataset.train=v.csv dataset.validation=u.csv ;; '') set -- ;; *) set -- "$words" ;; esac
    "$DTRAIN" fit u.yaml --dry-run "$@" 2>&1 | grep -v '^job \|^devices\|^data \|^memory\|^dry' | hide
done
