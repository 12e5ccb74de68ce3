#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ConvLSTM with dropout: weights are the same for any number of replicas, in float32 and in mixed precision; wrong arguments are errors.
. tests/cli/setup.sh
. tests/cli/jobs.sh
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
dataset: {format: synthetic, examples: 24, element: {x: {shape: [3, 6, 5, 2]}, label: {num_classes: 3}}, global_batch_size: 8}
model:
  type: sequential
  layers:
    - Input: {name: x, shape: [3, 6, 5, 2]}
    - ConvLSTM2D: {filters: 4, kernel_size: 3, padding: same, return_sequences: true, dropout: 0.2, recurrent_dropout: 0.2}
    - ConvLSTM2D: {filters: 2, kernel_size: [2, 3], strides: 2}
    - Flatten
    - Dense: {units: 3}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 2}
END
replicas_agree "$job"
# refused ARGUMENTS
refused() { show fit "$job" output.dir="$TEST_DIR/z" "model.layers.2={ConvLSTM2D: {$1}}" --dry-run -q; }
refused 'filters: 2, kernel_size: [2, 2, 2]'
refused 'filters: 2, kernel_size: 7'
refused 'filters: 2, kernel_size: 2, strides: 2, dilation_rate: 2'
refused 'filters: 2, kernel_size: 2, data_format: channels_first'
show fit "$job" output.dir="$TEST_DIR/z" 'model.layers.2={ConvLSTM1D: {filters: 2, kernel_size: 2}}' --dry-run -q
