#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From format to format and back: the bytes are the same.
. tests/cli/setup.sh
cd_dir=$TEST_DIR
printf 'a,b,c\r\n1,-2.5,300\r\n4,1e-300,-6\r\n7,0.1,9\r\n' >"$cd_dir/a.csv"
show data convert "$cd_dir/a.csv" -o "$cd_dir/a.npz"
show data convert "$cd_dir/a.npz" -o "$cd_dir/{element}.npy"
show data convert "$cd_dir/a.npy" "$cd_dir/b.npy" "$cd_dir/c.npy" -o "$cd_dir/again.csv"
cmp "$cd_dir/a.csv" "$cd_dir/again.csv"
show data convert "$cd_dir/a.npy" "$cd_dir/c.npy" -o "$cd_dir/{element}.idx"
show data convert a="$cd_dir/a.idx" c="$cd_dir/c.idx" -o "$cd_dir/ac.tfrecord"
show data convert "$cd_dir/ac.tfrecord" -o "$cd_dir/ac.csv" --json
cat "$cd_dir/ac.csv"
show data inspect tests/golden/data/stored.npz -r 0 -q
show data convert tests/golden/data/stored.npz -o "$cd_dir/back.npz" -q
show data convert "$cd_dir/back.npz" -o "$cd_dir/again.npz" -q
cmp "$cd_dir/back.npz" "$cd_dir/again.npz"
# a name has no slash: a folder of this name is none
mkdir "$cd_dir/lr=0.1"
cp "$cd_dir/a.npy" "$cd_dir/lr=0.1"
show data inspect "$cd_dir/lr=0.1/a.npy" -r 0
show data convert "$cd_dir/lr=0.1/a.npy" b="$cd_dir/lr=0.1/a.npy" -o "$cd_dir/named.csv"
head -n 1 "$cd_dir/named.csv"
(cd "$cd_dir" && exits 0 data inspect ./lr=0.1/a.npy)
# what is not as the file has it is said
printf 'v,w\n1.5,1\nnan,\n2.5,3\n' >"$cd_dir/words.csv"
show data convert "$cd_dir/words.csv" -o "$cd_dir/words.npz"
show data convert "$cd_dir/words.csv" -o "$cd_dir/words.csv.npz" -q
show data convert "$cd_dir/words.csv" -o "$cd_dir/words.npz" --json
