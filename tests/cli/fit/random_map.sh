#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Random steps of map: the same weights for any number of replicas and threads, with or without what is kept, and for a run that was stopped and went on.
. tests/cli/setup.sh
cat >"$TEST_DIR/job.yaml" <<END
version: 1
seed: 5
strategy: {type: one_device, device: "CPU:0"}
dataset:
  format: synthetic
  examples: 50
  element: {image: {shape: [12, 10, 3]}, label: {num_classes: 3}}
  map: {image: [zero_padding: 2, random_crop: [12, 10], random_flip, random_rotation: 0.1, random_zoom: 0.2, random_translation: 0.1, random_shear: 0.1, random_color_jitter: {value_range: [0, 1], brightness_factor: 0.1, contrast_factor: 0.2, saturation_factor: 0.6, hue_factor: 0.1}, random_erasing: {value_range: [0, 1]}, normalize: {mean: [0.4, 0.5, 0.6], std: 0.25}]}
  shuffle: true
  repeat: 2
  validation_split: 0.2
  global_batch_size: 12
model:
  layers:
    - Input: {name: image, shape: [12, 10, 3]}
    - Flatten
    - Dense: {units: 3}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 3}
output: {dir: "$TEST_DIR/run"}
END
# run WORDS...: the hash of the weights
run() {
    "$DTRAIN" fit "$TEST_DIR/job.yaml" --json "$@" | sed -n 's/.*"event":"end".*"weights_sha256":"\([0-9a-f]*\)".*/\1/p'
}
plain=$(run --fresh)
same() {
    what=$1
    shift
    got=$(run "$@")
    [ "$got" = "$plain" ] && echo "$what: the same" || echo "$what: $got, not $plain"
}
same '3 replicas' 'strategy={type: mirrored, replicas: 3}' --fresh
same '3 threads ahead' dataset.num_parallel_calls=3 dataset.prefetch=2 --fresh --threads 1
run --fresh --steps 9 >"$TEST_DIR/cut"
same 'stopped after 9 steps' --resume must
other=$(run seed=6 --fresh)
[ "$other" != "$plain" ] && echo 'another seed: other weights'
first=$(run dataset.map= --fresh)
[ "$first" != "$plain" ] && echo 'no steps: other weights'
