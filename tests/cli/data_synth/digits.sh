#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same digits for the same seed, others for another; IDX files and arrays; a text.
. tests/cli/setup.sh
"$DTRAIN" data synth digits -o "$TEST_DIR/a" | hide
"$DTRAIN" -q data synth digits -o "$TEST_DIR/b" --seed 0
"$DTRAIN" -q data synth digits --output="$TEST_DIR/c" --seed=1
(cd "$TEST_DIR/a" && stat -c "%s %n" ./*)
for file in "$TEST_DIR"/a/*; do
    cmp "$file" "$TEST_DIR/b/${file##*/}"
done
cmp -s "$TEST_DIR/a/x.npy" "$TEST_DIR/c/x.npy" && echo "another seed, the same digits"
"$DTRAIN" data synth text -o "$TEST_DIR/text" | hide
"$DTRAIN" -q data synth text -o "$TEST_DIR/text-7" --seed 7
wc -c <"$TEST_DIR/text/play.txt"
head -n 2 "$TEST_DIR/text/play.txt"
cmp -s "$TEST_DIR/text/play.txt" "$TEST_DIR/text-7/play.txt" && echo "another seed, the same text"
show data synth letters -o "$TEST_DIR/d"
[ ! -e "$TEST_DIR/d" ] || echo "made a folder for data that it does not know"
