#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: data train
# A warning says when reading is the bottleneck: how long steps wait, and for which part of it.
. tests/cli/setup.sh
cat >"$TEST_DIR/job.yaml" <<END
version: 1
strategy: {type: one_device, device: "CPU:0"}
dataset:
  format: synthetic
  examples: 32
  element: {image: {shape: [16, 16]}, label: {num_classes: 2}}
  map: {image: [resize: [1000, 1000], center_crop: [8, 8]]}
  repeat: 20
  num_parallel_calls: 1
  global_batch_size: 8
model:
  layers:
    - Input: {name: image, shape: [8, 8]}
    - Flatten
    - Dense: {units: 2}
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
checkpoint: {save_freq: 1000}
output: {dir: "$TEST_DIR/run"}
END
"$DTRAIN" fit "$TEST_DIR/job.yaml" | sed -n 's/^epoch.*  idle [0-9]* %/idle N %/p' | sed 's/map [0-9]* %\(, reading 1 %\)*/map N %/'
"$DTRAIN" fit "$TEST_DIR/job.yaml" dataset.repeat=1 --fresh --json | grep '"event":"epoch"' | tr ',{}' '[\n*]' | sed -n 's/"\(idle[a-z_]*\|waited_s\|wall_s\)":/\1 /p' >"$TEST_DIR/parts"
awk '{ x[$1] = $2 } END {
    sum = x["idle_reading"] + x["idle_decoding"] + x["idle_map"]; waited = x["waited_s"] / x["wall_s"]
    print (x["idle"] > 0.1 && x["idle"] <= 1 ? "waits" : "idle " x["idle"]), (sum - x["idle"] < 3e-4 && x["idle"] - sum < 3e-4 ? "for its parts" : "parts " sum),
        (x["idle_map"] > 0.9 * x["idle"] ? "of which map is most" : "map " x["idle_map"]), (waited - x["idle"] < 1e-3 && x["idle"] - waited < 1e-3 ? "all along" : "waited " waited) }' "$TEST_DIR/parts"
