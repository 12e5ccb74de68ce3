#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Statistics of each replica's rows take as many segments, and so joins, as those of the batch: variances need no pass of their own.
. tests/cli/setup.sh
cat >"$TEST_DIR/job.yaml" <<'END'
version: 1
dataset: {format: synthetic, examples: 128, global_batch_size: 64, element: {image: {shape: [32, 32, 32]}, label: {num_classes: 10}}}
model: {layers: [Input: {name: image, shape: [32, 32, 32]}, DepthwiseConv2D: {kernel_size: 3, padding: same}, BatchNormalization, ReLU,
        Conv2D: {filters: 64, kernel_size: 1}, BatchNormalization, GlobalAveragePooling2D, Dense: {units: 10}]}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
for strategy in default 'mirrored, replicas: 2' 'mirrored, replicas: 4'; do
    "$DTRAIN" lower "$TEST_DIR/job.yaml" --stage executable "strategy={type: $strategy}" >"$TEST_DIR/text" 2>/dev/null
    echo "$strategy: $(sed -n '1s/.*: \([0-9]* segments\),.*/\1/p' "$TEST_DIR/text"), $(grep -c deviations "$TEST_DIR/text") deviations"
done
