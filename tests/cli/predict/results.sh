#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Outputs of a part and of a file, from a run's checkpoint; errors for what is missing or wrong.
. tests/cli/setup.sh
write_tiny
exits 66 predict "$tiny" -o "$TEST_DIR/y.npy"
"$DTRAIN" fit "$tiny" -q || echo "exit $?"
"$DTRAIN" predict "$tiny" -o "$TEST_DIR/y.npy" | hide
"$DTRAIN" predict "$tiny" --split train -o "$TEST_DIR/train.npy" -C . | hide
head -n 1 "$TEST_DIR/y.npy" | tr -d '\0' | sed "s/.*{/{/; s/ *\$//"
# a file of rows of 8, from a model with 8 outputs
wide="model.layers.2.Dense.units=8 dataset.element.label.num_classes=8 output.dir=$TEST_DIR/wide"
# shellcheck disable=SC2086
"$DTRAIN" fit "$tiny" $wide -q || echo "exit $?"
# shellcheck disable=SC2086
"$DTRAIN" predict "$tiny" $wide -o "$TEST_DIR/x.npy" -q || echo "exit $?"
"$DTRAIN" predict "$tiny" compile= fit= --input "$TEST_DIR/x.npy" -o "$TEST_DIR/y.npy" | hide
exits 66 predict "$tiny" --input "$TEST_DIR/none.npy" -o "$TEST_DIR/z.npy"
exits 78 predict "$tiny" --input "$TEST_DIR/y.npy" -o "$TEST_DIR/z.npy"
exits 64 predict "$tiny" -o "$TEST_DIR/z.txt"
exits 64 predict "$tiny" -o "$TEST_DIR/z.npy" --format parquet
exits 64 predict "$tiny" -o "$TEST_DIR/z.npy" --top 0
exits 64 predict - --input - <"$tiny"
# one number for each example: nothing to rank
number="model.layers.2.Dense.units=1 compile.loss=mse compile.metrics= output.dir=$TEST_DIR/number"
# shellcheck disable=SC2086
"$DTRAIN" fit "$tiny" $number -q || echo "exit $?"
# shellcheck disable=SC2086
exits 64 predict "$tiny" $number --top 2 -o "$TEST_DIR/z.csv"
cat "$TEST_DIR/err"
exits 73 predict "$tiny" -o "$TEST_DIR/none/z.npy"
exits 73 predict "$tiny" -o /dev/null --format csv
exits 66 predict "$tiny" --ckpt "$TEST_DIR/nothing" -o "$TEST_DIR/z.npy"
find "$TEST_DIR" -name 'z*' -o -name '*.tmp'
