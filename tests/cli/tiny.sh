# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Read by setup.sh and rows.sh.

# tiny DIRECTORY: the smallest job, which writes there: twelve steps on examples that are drawn, 8 of 8 numbers each; trains in no time, needs no file.
tiny() {
    cat <<END
version: 1
name: tiny
seed: 7
strategy: {type: mirrored, replicas: 2}
dataset:
  format: synthetic
  examples: 60
  element: {image: {shape: [8], dtype: float32}, label: {num_classes: 3}}
  validation_split: 0.2
  shuffle: true
  global_batch_size: 8
model:
  type: sequential
  layers:
    - Input: {name: image, shape: [8]}
    - Dense: {units: 4, activation: relu}
    - Dense: {units: 3, name: logits}
compile:
  optimizer: {SGD: {learning_rate: 0.05}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
fit: {epochs: 2}
output: {dir: "$1"}
END
}
