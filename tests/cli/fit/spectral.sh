#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SpectralNormalization: weights are the same for any number of replicas, in float32 and in mixed precision; a stored kernel has the largest singular value 1;
# wrong arguments are errors.
. tests/cli/setup.sh
. tests/cli/jobs.sh
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
dataset: {format: synthetic, examples: 40, element: {x: {shape: [6, 6, 2]}, label: {num_classes: 3}}, validation_split: 0.2, global_batch_size: 8}
model:
  type: sequential
  layers:
    - Input: {name: x, shape: [6, 6, 2]}
    - SpectralNormalization: {layer: {Conv2D: {filters: 4, kernel_size: 3, activation: relu}}, power_iterations: 2}
    - Flatten
    - SpectralNormalization: {name: last, layer: {Dense: {units: 3, name: dense}}}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 2}
END
replicas_agree "$job"
exits 0 fit "$job" reproducible.shards=4 output.dir="$TEST_DIR/x" --fresh -q
"$DTRAIN" ckpt inspect "$TEST_DIR/x" | grep -o '^ *[a-z_0-9]*/[a-z/_0-9]*' | tr -d ' ' | grep -v '/[mv]$'
# refused LAYER
refused() { show fit "$job" output.dir="$TEST_DIR/z" "model.layers.3=$1" --dry-run -q; }
refused '{SpectralNormalization: {layer: {BatchNormalization: {}}}}'
refused '{SpectralNormalization: {layer: ReLU}}'
refused '{SpectralNormalization: {layer: {Dense: {units: 3}}, power_iterations: 0}}'
refused '{SpectralNormalization: {layer: {SpectralNormalization: {layer: {Dense: {units: 3}}}}}}'
refused '{SpectralNormalization: {layer: {Dense: {units: 3, inputs: x}}}}'
