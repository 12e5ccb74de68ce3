#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A folder of pictures: classes, counts, sizes, and what cannot be read.
. tests/cli/setup.sh
mkdir -p "$TEST_DIR/set/cat" "$TEST_DIR/set/dog" "$TEST_DIR/none"
echo iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAF0lEQVR4nGNkYGRiZmZmZmZm4eTkhLAAAo4ASMA/XigAAAAASUVORK5CYII= | base64 -d >"$TEST_DIR/set/cat/1.png"
echo iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAAAAACMmsGiAAAAFElEQVR4nGNkYGRkZGRhZGRkgRMAAVEAI9SIzDgAAAAASUVORK5CYII= | base64 -d >"$TEST_DIR/set/cat/2.png"
cp "$TEST_DIR/set/cat/1.png" "$TEST_DIR/set/dog/1.png"
show data inspect "$TEST_DIR/set"
head -c 50 "$TEST_DIR/set/cat/1.png" >"$TEST_DIR/set/dog/cut.png"
echo text >"$TEST_DIR/set/dog/readme.txt"
: >"$TEST_DIR/set/dog/empty.jpg"
show data inspect "$TEST_DIR/set"
show data inspect "$TEST_DIR/set" --json
show data inspect "$TEST_DIR/none"
mkdir "$TEST_DIR/parts" && mv "$TEST_DIR/set" "$TEST_DIR/parts/train"
show data inspect "$TEST_DIR/parts"
mkdir -p "$TEST_DIR/deep/cat/2024/may"
cp "$TEST_DIR/parts/train/cat/1.png" "$TEST_DIR/deep/cat/2024/may"
echo text >"$TEST_DIR/deep/cat/readme.txt"
show data inspect "$TEST_DIR/deep"
