#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs of many kinds on XLA, each number of each epoch within 1e-4 of cpu's: dropout with cpu's own random numbers, a layer's statistics that each replica takes of
# its own rows, activations computed again, LSTM, accumulated gradients with running means of weights, weights divided among replicas, logical devices, a simulated slice, attention. Of
# mixed_bfloat16 within 2e-3: the plug-in rounds at other places.
. tests/cli/setup.sh
. tests/cli/jobs.sh
# shellcheck source=/dev/null
. tests/cli/pjrt.inc
needs_digits
needs_xla
job=configs/quickstart.yaml
one='strategy={type: default}'
two='strategy={type: mirrored, replicas: 2}'
digits() { echo "model.layers=[{Input: {name: image, shape: [28, 28]}}, $1, {Dense: {units: 10, name: logits}}]"; }
compare() {
    within=$1
    shift
    trains "$@" dataset.global_batch_size=256
    same_history "$TEST_DIR/$1-cpu" "$TEST_DIR/$1-pjrt" "$within"
}
compare 2e-3 bfloat16 $job "$one" fit.epochs=2 compile.precision=mixed_bfloat16
compare 2e-3 float16 $job "$one" fit.epochs=2 compile.precision=mixed_float16
compare 1e-4 dropout $job "$two" fit.epochs=2 "$(digits 'Flatten, {Dense: {units: 64, activation: relu}}, {Dropout: {rate: 0.3}}')"
norm='Flatten, {Dense: {units: 64, use_bias: false}}, BatchNormalization, ReLU'
compare 1e-4 norm $job "$two" fit.epochs=2 "$(digits "$norm")"
compare 1e-4 norm3 $job 'strategy={type: mirrored, replicas: 3}' fit.epochs=2 "$(digits "$norm")"
# Statistics of 8,450 values a channel: added one by one they keep four digits, and val_loss is
# 1.5e-4 off after 13 steps.
conv() {
    echo "{Conv2D: {filters: $1, kernel_size: 3, strides: 2}},"
    echo "{BatchNormalization: {synchronized: true}}, ReLU"
}
trains cnn $job "$one" seed=7 dataset.take=620 dataset.shuffle=false fit.epochs=1 \
    dataset.global_batch_size=50 \
    'compile.optimizer={SGD: {learning_rate: 0.05, momentum: 0.9}}' \
    "$(digits "{Reshape: {target_shape: [28, 28, 1]}}, $(conv 8), $(conv 16), Flatten")"
same_history "$TEST_DIR/cnn-cpu" "$TEST_DIR/cnn-pjrt" 1e-5
compare 1e-4 remade $job "$two" fit.epochs=1 model.rematerialize=full
compare 1e-4 lstm $job "$one" fit.epochs=1 "$(digits '{LSTM: {units: 8}}')"
compare 1e-4 means $job "$two" fit.epochs=2 'compile.optimizer={Adam: {use_ema: true}}' fit.gradient_accumulation_steps=2
compare 1e-4 divided $job "$two" fit.epochs=2 partition.over_replicas=weights
compare 1e-4 logical $job 'strategy={type: tpu, cluster_resolver: {tpu: "sim:v3-8"}, spmd_partitioning: true, device_assignment: {computation_shape: [1, 1, 1, 2], num_replicas: 2}}' \
    'partition={image: replicate, label: replicate, weights: [{match: "dense/kernel", split: [1, 2]}]}' fit.epochs=2
slice='strategy={type: tpu, cluster_resolver: {tpu: "sim:v3-8"}, device_assignment: {computation_shape: [1, 1, 1, 2], num_replicas: 4}}'
compare 1e-4 more $job "$slice" strategy.spmd_partitioning=true 'partition={image: replicate, label: replicate, weights: [{match: "dense/kernel", split: [1, 2]}]}' fit.epochs=2
compare 1e-4 placed $job "$slice" strategy.device_assignment.num_replicas=2 'partition={weights: [{match: "logits/*", assign: 1}]}' fit.epochs=2
compare 1e-4 slice configs/tpu-loop.yaml fit.epochs=2
sed -n 's/^devices *//p' "$TEST_DIR/slice-pjrt.out"
compare 1e-4 mlp configs/mirrored-mlp.yaml fit.epochs=2
trains spatial configs/spatial-cnn.yaml 'model.layers.0.Input.shape=[64, 64, 3]' fit.epochs=2 \
    'dataset={format: synthetic, examples: 32, element: {image: {shape: [64, 64, 3]}, label: {num_classes: 4}}, global_batch_size: 8}'
same_history "$TEST_DIR/spatial-cpu" "$TEST_DIR/spatial-pjrt" 1e-4
# At its own rate, which is large for so few steps, the losses of cpu's libraries differ by 4e-3 from one another.
trains resnet configs/resnet20.yaml dataset.take=256 dataset.global_batch_size=64 fit.epochs=2 'compile.optimizer={SGD: {learning_rate: 0.001, momentum: 0.9}}'
same_history "$TEST_DIR/resnet-cpu" "$TEST_DIR/resnet-pjrt" 1e-4
write_text
for on in cpu pjrt; do
    small_gpt fit -q --backend $on 'strategy={type: mirrored, replicas: 4}' fit.steps=12 "output.dir=$TEST_DIR/gpt-$on"
done
same_history "$TEST_DIR/gpt-cpu" "$TEST_DIR/gpt-pjrt" 1e-4

# Ten blocks are a loop over stacks of their weights: on one device, divided among four, and in a run on four that begins and ends on cpu.
deep() { small_gpt fit -q 'model.layers.2.Repeat.for.i=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]' 'model.layers.2.Repeat.layers.0.TransformerDecoder.dropout=0.1' fit.steps=12 "$@"; }
four='strategy={type: mirrored, replicas: 4}'
deep 'strategy={type: default}' "output.dir=$TEST_DIR/deep"
deep --backend pjrt 'strategy={type: default}' "output.dir=$TEST_DIR/deep-one"
deep --backend pjrt "$four" partition=null 'partition={over_replicas: weights}' "output.dir=$TEST_DIR/deep-divided"
deep 'strategy={type: default}' --steps 5 "output.dir=$TEST_DIR/deep-both"
deep --backend pjrt "$four" --steps 9 "output.dir=$TEST_DIR/deep-both"
deep 'strategy={type: default}' "output.dir=$TEST_DIR/deep-both"
for run in one divided both; do
    same_history "$TEST_DIR/deep" "$TEST_DIR/deep-$run" 1e-4
done
