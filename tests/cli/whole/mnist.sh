#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Real digits, where they are: 8,000 to train, the last 2,000 to validate, five epochs of 784-128-10.
. tests/cli/setup.sh
. tests/cli/jobs.sh
mnist=../shared/data/mnist-10k
[ -d "$mnist" ] || { echo "no real digits in $mnist" && exit 77; }
images=$(ls "$PWD/$mnist"/*images-idx3*)
labels=$(ls "$PWD/$mnist"/*labels-idx1*)
"$DTRAIN" fit configs/quickstart.yaml "output.dir=$TEST_DIR/run" --json --expect 'val_accuracy>0.93' \
    "dataset={format: idx, train: {image: $images, label: $labels}, map: {image: [cast: float32, rescale: {scale: 0.00392156862745098}]},
              validation_split: 0.2, shuffle: true, global_batch_size: 64}" >"$TEST_DIR/out" 2>"$TEST_DIR/err" || echo "exit $?"
cat "$TEST_DIR/err"
grep '"event":"epoch"' "$TEST_DIR/out" | grep -o '"examples":[0-9]*'
grep '"event":"eval"' "$TEST_DIR/out" | grep -o '"examples":[0-9]*'
