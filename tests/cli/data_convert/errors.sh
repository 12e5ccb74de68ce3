#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What cannot be written is an error, and no file is left behind.
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
# names from the data lead to no other folder
printf '../a,b\n1,2\n' >"$TEST_DIR/up.csv"
printf '%s,b\n1,2\n' "$TEST_DIR/down" >"$TEST_DIR/root.csv"
printf '..,b\n1,2\n' >"$TEST_DIR/dots.csv"
mkdir "$TEST_DIR/out/in"
show data convert "$TEST_DIR/up.csv" -o "$TEST_DIR/out/in/{element}.npy"
(cd "$TEST_DIR/out/in" && show data convert "$TEST_DIR/root.csv" -o "{element}.npy")
show data convert "$TEST_DIR/dots.csv" -o "$TEST_DIR/out/in/{element}/x.npy"
(cd "$TEST_DIR" && ls . out/in)
rmdir "$TEST_DIR/out/in"
ls "$TEST_DIR/out"
