#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: exec backend job
# Memory: what fit announces; a job that does not fit is reported before its first step, with the layer that takes the most and what would fit.
. tests/cli/setup.sh
write_tiny
"$DTRAIN" fit "$tiny" -n --json | sed -n 's/.*"memory_bytes":\(.*\),"train_examples".*/\1/p' | tr -c '0-9\n' ' ' |
    awk '{ for (i = 2; i <= NF; i++) sum += $i } END { if (NF != 6 || sum != $1) print "the parts are not the whole: " $0 }'
# No machine has that: 8 TB of activations.
wide='model.layers=[Input: {name: image, shape: [8]}, Dense: {units: 1000000, name: wide}, Dense: {units: 3, name: logits}]'
"$DTRAIN" fit "$tiny" -n "$wide" dataset.examples=2500000 dataset.global_batch_size=2000000 >"$TEST_DIR/out" 2>"$TEST_DIR/err"
echo "exit $?"
sed 's/[0-9.]* [KMGTP]iB/N/g; s/ on this machine//; s/ (\/[^)]*)//; s/batch of [0-9]*/batch of N/' "$TEST_DIR/err"
exits 78 fit "$tiny" -q "$wide" dataset.examples=2500000 dataset.global_batch_size=2000000
[ ! -e "$TEST_DIR/run/ckpt" ] || ls "$TEST_DIR/run/ckpt"
# Weights that do not fit are not even made.
"$DTRAIN" fit "$tiny" -n 'model.layers=[Input: {name: image, shape: [8]}, Dense: {units: 90000, name: first}, Repeat: {for: {i: 300}, layers: [Dense: {units: 90000, name: "wide_{i}"}]}, Dense: {units: 3}]' 2>&1 |
    sed 's/[0-9.]* [KMGTP]iB/N/g; s/ on this machine//; s/ (\/[^)]*)//'
# The batch that is said to fit does.
rows=$(sed -n 's/.*global batch of \([0-9]*\) instead.*/\1/p' "$TEST_DIR/err")
exits 0 fit "$tiny" -n "$wide" dataset.examples=2500000 "dataset.global_batch_size=$rows"
# Not even one example fits.
"$DTRAIN" fit "$tiny" -n 'model.layers=[Input: {name: image, shape: [8]}, Reshape: {target_shape: [8, 1, 1]}, UpSampling2D: {size: [2000, 5000]}, Repeat: {for: {i: 400}, layers: [Conv2D: {filters: 1, kernel_size: 1, activation: tanh, name: "wide_{i}"}]}, GlobalAveragePooling2D, Dense: {units: 3}]' 2>&1 >/dev/null |
    sed 's/[0-9.]* [KMGTP]iB/N/g; s/ on this machine//; s/ (\/[^)]*)//'
# A large model is refused before its weights are made: the run has not begun, so its lines are not there.
"$DTRAIN" fit "$tiny" -n 'model.layers=[Input: {name: image, shape: [8]}, Dense: {units: 9000}, Dense: {units: 9000, name: wide}, Dense: {units: 3}]' dataset.examples=20000000 dataset.global_batch_size=16000000 2>&1 |
    sed 's/[0-9.]* [KMGTP]iB/N/g; s/ on this machine//; s/ (\/[^)]*)//; s/batch of [0-9]*/batch of N/'
