#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What cannot be written, and what leaves nothing behind.
. tests/cli/setup.sh
printf 'a,b\n1,2\n3,4\n' >"$TEST_DIR/a.csv"
printf 'a\n1\n5000000000\n' >"$TEST_DIR/large.csv"
mkdir "$TEST_DIR/out"
show data convert "$TEST_DIR/a.csv"
show data convert "$TEST_DIR/a.csv" -o "$TEST_DIR/out/a.parquet"
show data convert "$TEST_DIR/a.csv" -o "$TEST_DIR/out/a.npy"
show data convert "$TEST_DIR/a.csv" -o "$TEST_DIR/out/a.npz" --shards 2
show data convert "$TEST_DIR/large.csv" -o "$TEST_DIR/out/a.idx"
show data convert "$TEST_DIR/a.csv" -o "$TEST_DIR/nope/a.csv"
show data convert "$TEST_DIR/a.csv" -o "$TEST_DIR/out/a.csv" --shards 0
ls "$TEST_DIR/out"
