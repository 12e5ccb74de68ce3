#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compressed files of MNIST's format: 8,000 digits to train, the last 2,000 to validate, five epochs of 784-128-10. DTRAIN_MNIST names a
# folder with real ones (t10k-images-idx3-ubyte.gz, t10k-labels-idx1-ubyte.gz); without it drawn ones are compressed.
. tests/cli/setup.sh
. tests/cli/jobs.sh
mnist=${DTRAIN_MNIST:-$TEST_DIR}
images=$mnist/t10k-images-idx3-ubyte.gz
labels=$mnist/t10k-labels-idx1-ubyte.gz
if [ -z "${DTRAIN_MNIST:-}" ]; then
    "$DTRAIN" -q data synth digits -o "$TEST_DIR/drawn"
    gzip -1 -c "$TEST_DIR/drawn/train-images-idx3-ubyte" >"$images"
    gzip -1 -c "$TEST_DIR/drawn/train-labels-idx1-ubyte" >"$labels"
fi
"$DTRAIN" fit configs/quickstart.yaml "output.dir=$TEST_DIR/run" --json --expect 'val_accuracy>0.93' \
    "dataset={format: idx, train: {image: $images, label: $labels}, map: {image: [cast: float32, rescale: {scale: 0.00392156862745098}]},
              validation_split: 0.2, shuffle: true, global_batch_size: 64}" >"$TEST_DIR/out" 2>"$TEST_DIR/err" || echo "exit $?"
cat "$TEST_DIR/err"
grep '"event":"epoch"' "$TEST_DIR/out" | grep -o '"examples":[0-9]*'
grep '"event":"eval"' "$TEST_DIR/out" | grep -o '"examples":[0-9]*'
