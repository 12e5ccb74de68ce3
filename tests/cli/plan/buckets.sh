#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A sum of a synchronized normalization is launched with one that comes later, so what reads it waits for both: no kernel that makes
# the later one may read it.
cd "$TEST_DIR" || exit 1
cat >job.yaml <<'EOF'
version: 1
name: buckets
seed: 1
dataset:
  format: synthetic
  examples: 1024
  element: {x: {shape: [8, 8, 3]}, y: {num_classes: 10}}
  global_batch_size: 256
model:
  type: sequential
  rematerialize: save_dot_except_mlp
  layers:
    - Input: {name: x, shape: [8, 8, 3]}
    - Conv2D: {filters: 24, kernel_size: 5, padding: same, use_bias: false}
    - UpSampling2D: {size: 2}
    - UpSampling2D: {size: 2}
    - BatchNormalization: {synchronized: true}
    - Flatten
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
strategy: {type: tpu, cluster_resolver: {tpu: "sim:v3-8"}, device_assignment: {num_replicas: 2}}
fit: {steps: 4}
EOF
"$DTRAIN" plan job.yaml | sed -n '1p;/^step time/p'
