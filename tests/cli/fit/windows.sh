#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Windows, strides and dilations far beyond the input cost no more than those that cover it, and give the same weights; refusals name the reason.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
# job SIDE LAYER
job() {
    cat <<END2
version: 1
seed: 3
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset: {format: synthetic, examples: 8, element: {x: {shape: [$1, $1, 2]}, y: {num_classes: 2}}, global_batch_size: 4}
model:
  layers:
    - Input: {name: x, shape: [$1, $1, 2]}
    - Conv2D: {filters: 2, kernel_size: 1}
    - $2
    - Flatten
    - Dense: {units: 2}
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
output: {dir: run}
END2
}
# same SIDE LAYERS...: all give one hash
same() {
    side=$1
    shift
    for layer; do
        job "$side" "$layer" >job.yaml
        timeout 60 "$DTRAIN" fit job.yaml --fresh --json >out 2>err || { echo "$layer: exit $?"; cat err; }
        weights out
    done | sort | uniq -c | sed "s/ *\([0-9]*\) .*/\1 alike/"
}
for kind in MaxPooling2D AveragePooling2D; do
    same 4 "$kind: {pool_size: 8, strides: 1, padding: same}" "$kind: {pool_size: 9, strides: 1, padding: same}" \
        "$kind: {pool_size: 8192, strides: 1, padding: same}" "$kind: {pool_size: 1000000000, strides: 1, padding: same}"
    same 5 "$kind: {pool_size: 9, strides: 3, padding: same}" "$kind: {pool_size: 12, strides: 3, padding: same}" "$kind: {pool_size: [9, 70000], strides: 3, padding: same}"
    same 5 "$kind: {pool_size: 2, strides: 5}" "$kind: {pool_size: 2, strides: 6}" "$kind: {pool_size: 2, strides: 4000000000}"
done
same 4 'Conv2D: {filters: 2, kernel_size: 1}' 'Conv2D: {filters: 2, kernel_size: 1, dilation_rate: 268435456}' 'Conv2D: {filters: 2, kernel_size: 1, dilation_rate: 4000000000}'
for n in 2 3; do
    same 4 "Conv2D: {filters: 2, kernel_size: $n, padding: same, dilation_rate: 10}" "Conv2D: {filters: 2, kernel_size: $n, padding: same, dilation_rate: 11}" \
        "Conv2D: {filters: 2, kernel_size: $n, padding: same, dilation_rate: 268435456}"
done
for layer in 'MaxPooling2D: {pool_size: 1000000000}' 'Conv2D: {filters: 2, kernel_size: [1, 300000000], padding: same}' \
    'Conv2D: {filters: 2, kernel_size: 2, dilation_rate: 268435456}'; do
    job 4 "$layer" >job.yaml
    exits 78 validate job.yaml
    sed -n 's/.*error: //p' err
done
