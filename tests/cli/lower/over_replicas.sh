#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# over_replicas: each replica keeps a part of the optimizer's slots, or of the weights too, and what travels changes with it. On this machine
# replicas share their memory, so the weights that a job ends with are the same to the bit.
. tests/cli/setup.sh
. tests/cli/jobs.sh
cat >"$TEST_DIR/job.yaml" <<'END'
version: 1
strategy: {type: mirrored, replicas: 8}
dataset: {format: synthetic, examples: 128, element: {x: {shape: [64], dtype: float32}, label: {num_classes: 16}}, global_batch_size: 64}
model:
  layers:
    - Input: {name: x, shape: [64]}
    - Dense: {name: hidden, units: 128, activation: relu}
    - Dense: {name: logits, units: 16}
compile: {optimizer: {Adam: {learning_rate: 0.01}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
output: {dir: "{name}"}
END
for kept in optimizer weights; do
    echo "== $kept"
    "$DTRAIN" lower "$TEST_DIR/job.yaml" "partition.over_replicas=$kept" >"$TEST_DIR/program"
    sed -n '1p; s/, other values.*//; 2p' "$TEST_DIR/program"
    grep 'variable .*kernel' "$TEST_DIR/program"
done
all=$(hash "$TEST_DIR/job.yaml" -C "$TEST_DIR" --fresh)
for kept in none optimizer weights; do
    [ "$(hash "$TEST_DIR/job.yaml" "partition.over_replicas=$kept" -C "$TEST_DIR" --fresh)" = "$all" ] || echo "$kept: other weights"
done
