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
# Nor may a kernel that reads a sum make what other kernels turn into another sum of the same launch.
cat >job.yaml <<'EOF'
version: 1
name: branches
seed: 1
dataset:
  format: synthetic
  examples: 256
  element: {x: {shape: [8, 8, 8]}, y: {num_classes: 10}}
  global_batch_size: 256
model:
  type: functional
  rematerialize: minimal
  layers:
    - Input: {name: x, shape: [8, 8, 8]}
    - Conv2D: {name: l1, inputs: x, filters: 4, kernel_size: 3, padding: same, use_bias: false}
    - LayerNormalization: {name: l2, inputs: l1}
    - Activation: {name: l3, inputs: l2, activation: relu}
    - BatchNormalization: {name: l4, inputs: l3, synchronized: true}
    - DepthwiseConv2D: {name: l5, inputs: l2, kernel_size: 3, padding: same}
    - BatchNormalization: {name: l6, inputs: l5, synchronized: true}
    - Multiply: {name: l7, inputs: [l4, l6]}
    - GlobalAveragePooling2D: {name: l8, inputs: l7}
    - Dense: {name: l9, inputs: l8, units: 10}
  outputs: l9
compile: {optimizer: {AdamW: {global_clipnorm: 1.0}}, precision: mixed_bfloat16, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
strategy: {type: tpu, cluster_resolver: {tpu: "sim:v4-16"}, device_assignment: {num_replicas: 4}}
fit: {steps: 2}
EOF
"$DTRAIN" plan job.yaml | sed -n '1p;/^step time/p'
