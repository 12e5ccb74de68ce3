#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What data convert writes of a job's own examples, given as --input in each format, has the predictions of the examples themselves.
. tests/cli/setup.sh
write_tiny
"$DTRAIN" fit "$tiny" -q || echo "exit $?"
"$DTRAIN" predict "$tiny" --split train -o "$TEST_DIR/want.csv" -q || echo "exit $?"
for suffix in npz tfrecord; do
    "$DTRAIN" data convert "$tiny" -o "$TEST_DIR/x.$suffix" -q || echo "exit $?"
    "$DTRAIN" predict "$tiny" --input "$TEST_DIR/x.$suffix" -o "$TEST_DIR/got.csv" -q || echo "exit $?"
    cmp "$TEST_DIR/want.csv" "$TEST_DIR/got.csv"
done
cp "$TEST_DIR/x.tfrecord" "$TEST_DIR/cut.tfrecord"
truncate -s -3 "$TEST_DIR/cut.tfrecord"
show predict "$tiny" --input "$TEST_DIR/cut.tfrecord" -o "$TEST_DIR/got.csv"
