#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Steps over rows of the batch have kernels: an op whose result has the batch (here 48 rows, of two replicas), or is made for each replica, does not run as
# `eval`, cell by cell. One number for each example may: it takes less time than a task. Others that do are printed, with the reason why they may.
. tests/cli/setup.sh
# why LINE: "LAYER: OP TYPE"
why() {
    case $1 in
    *'axis: 1'*segment_reduce*) echo 'sums of dimensions that are not the first ones, no kernel yet' ;;
    GroupNormalization*reduce*) echo 'sums of dimensions that are not next to each other, no kernel yet' ;;
    *broadcast_in_dim*) echo 'repeats along inner dimensions, no kernel yet' ;;
    GaussianNoise*random*) echo 'normal numbers; the kernel has uniform ones only' ;;
    *) echo 'no reason' ;;
    esac
}
# of ELEMENT LAYERS..: one job for each layer, between an Input of that element and a Dense of its mean.
of() {
    element=$1
    shift
    for layer; do
        cat >"$TEST_DIR/job.yaml" <<END
version: 1
strategy: {type: mirrored, replicas: 2}
dataset: {format: synthetic, examples: 96, global_batch_size: 48, element: {x: {$element}, label: {num_classes: 3}}}
model: {layers: [Input: {name: x, $element}, $layer, Flatten, Dense: {units: 3}]}
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {epochs: 1}
END
        "$DTRAIN" lower "$TEST_DIR/job.yaml" --stage executable >"$TEST_DIR/text" 2>"$TEST_DIR/err" || { echo "$layer: exit $?" && cat "$TEST_DIR/err"; }
        awk -v layer="$layer" '
            $1 == "eval" { op[$2] = $3 }
            /^  %/ && ($1 in op) && ($2 ~ /\[48,/ || op[$1] ~ /^segment_(reduce|dot|conv|broad)/) { print layer ": " op[$1] " " $2 }' "$TEST_DIR/text" | sort -u | while read -r line; do
            echo "$line: $(why "$line")"
        done
    done
}
of 'shape: [8, 8, 4]' BatchNormalization 'BatchNormalization: {axis: 1}' 'BatchNormalization: {synchronized: true}' LayerNormalization UnitNormalization \
    'GroupNormalization: {groups: 2}' 'Conv2D: {filters: 4, kernel_size: 3}' 'Conv2D: {filters: 4, kernel_size: 3, strides: 2, groups: 2}' \
    'Conv2DTranspose: {filters: 4, kernel_size: 3, strides: 2}' 'DepthwiseConv2D: {kernel_size: 3}' 'SeparableConv2D: {filters: 4, kernel_size: 3}' MaxPooling2D \
    AveragePooling2D GlobalMaxPooling2D GlobalAveragePooling2D UpSampling2D 'ZeroPadding2D: {padding: 1}' 'Cropping2D: {cropping: 1}' \
    'Dropout: {rate: 0.5}' 'SpatialDropout2D: {rate: 0.5}' 'GaussianNoise: {stddev: 0.1}' ReLU LeakyReLU ELU PReLU Softmax \
    'Activation: {activation: gelu}' 'Permute: {dims: [2, 1, 3]}' 'Reshape: {target_shape: [64, 4]}'
of 'shape: [8, 4]' BatchNormalization 'Conv1D: {filters: 4, kernel_size: 3}' 'Conv1D: {filters: 4, kernel_size: 3, padding: causal, dilation_rate: 2}' MaxPooling1D \
    AveragePooling1D GlobalMaxPooling1D GlobalAveragePooling1D 'UpSampling1D: {size: 2}' 'LSTM: {units: 4}' 'GRU: {units: 4, return_sequences: true}' \
    'SimpleRNN: {units: 4}' 'Bidirectional: {layer: {LSTM: {units: 4}}}' 'Dense: {units: 4, activation: relu}'
of 'shape: [8]' BatchNormalization LayerNormalization 'RepeatVector: {n: 3}' 'Dense: {units: 4}'
