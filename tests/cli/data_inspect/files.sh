#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files without a job: the format is recognized by the contents.
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
# Records that lack a feature have it without a list, as TensorFlow writes it; names that no job can have.
printf '\034\000\000\000\000\000\000\000\310\301\225\035\012\032\012\021\012\001v\022\014\022\012\012\010\000\000\200\077\000\000\000\100\012\005\012\001w\022\000\0559R\227\030\000\000\000\000\000\000\000\243\177K\042\012\026\012\005\012\001v\022\000\012\015\012\001w\022\010\022\006\012\004\000\000\200\0770\354\206\027' >"$TEST_DIR/lacks.tfrecord"
show data inspect "$TEST_DIR/lacks.tfrecord" -r 2
printf '2\000\000\000\000\000\000\000\044\031V\354\0120\012\017\012\003a\000b\022\010\022\006\012\004\000\000\200\077\012\016\012\002\377\033\022\010\022\006\012\004\000\000\200\077\012\015\012\001w\022\010\022\006\012\004\000\000\200\077\236\214r\367' >"$TEST_DIR/names.tfrecord"
show data inspect "$TEST_DIR/names.tfrecord"
# Latin-1, in a header and in a column.
printf 'caf\351,b\n1,2\n' >"$TEST_DIR/header.csv"
show data inspect "$TEST_DIR/header.csv"
printf 'n,m\n1,x\n2,\351\n' >"$TEST_DIR/field.csv"
show data inspect "$TEST_DIR/field.csv"
