#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files by themselves: their format is seen by their contents.
. tests/cli/setup.sh
printf 'height,kind,count\r\n1.5,cat,3\r\n2.5,"a, dog",\r\n-1,cat,7\r\n' >"$TEST_DIR/a.csv"
show data inspect "$TEST_DIR/a.csv"
show data inspect "$TEST_DIR/a.csv" --json -r 1
gzip -c "$TEST_DIR/a.csv" >"$TEST_DIR/b"
show data inspect "$TEST_DIR/b" -r 0
show data inspect tests/golden/data/deflated.npz -r 1
show data inspect x=tests/golden/data/stored.npz -r 0
printf '1,2\n3\n' >"$TEST_DIR/cut.csv"
show data inspect "$TEST_DIR/cut.csv"
printf '\211PNG\r\n\032\n\0\0\0\0' >"$TEST_DIR/picture"
show data inspect "$TEST_DIR/picture"
printf '\222NUMPY\1,v\n' >"$TEST_DIR/binary.npy"
show data inspect "$TEST_DIR/binary.npy"
show data inspect "$TEST_DIR/nope"
show data inspect "$TEST_DIR/a.csv" tests/golden/data/stored.npz
: >"$TEST_DIR/empty"
show data inspect "$TEST_DIR/empty"
