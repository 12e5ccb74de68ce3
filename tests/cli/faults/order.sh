#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The power-loss rule (G4): what gets a final name has been synced, and the directory is synced after it; seen from outside, by strace.
. tests/cli/setup.sh
strace -o "$TEST_DIR/log" true 2>/dev/null || { echo "no strace, or it may not trace here" && exit 77; }
grep -q '__[at]san_init' "$DTRAIN" && { echo "the leak check of the sanitizer does not run under strace" && exit 77; }
write_tiny
sed -i 's/^fit:.*/fit: {epochs: 2, callbacks: [CSVLogger: {filename: log.csv}, ModelCheckpoint: {filepath: best, save_best_only: true}]}/' "$tiny"
calls=openat,write,pwrite64,ftruncate,fsync,rename,renameat2

# ordered WORDS...: the renames of one run, all in order.
ordered() {
    strace -f -y -qq -s 0 -e trace=$calls -e signal=none -o "$TEST_DIR/log" "$DTRAIN" "$@" >/dev/null 2>"$TEST_DIR/err" || echo "dtrain $*: exit $?"
    awk -v here="$PWD" -f tests/faults/order.awk "$TEST_DIR/log" >"$TEST_DIR/said"
    grep -qE '^[1-9][0-9]* renames in order$' "$TEST_DIR/said" || { echo "dtrain $*:" && cat "$TEST_DIR/said"; } | hide
}

o=$TEST_DIR
ordered fit "$tiny" checkpoint.save_freq=4 checkpoint.max_to_keep=2 --threads 1
# The checker is not blind: without the calls that sync it finds fault.
grep -v 'fsync(' "$TEST_DIR/log" >"$TEST_DIR/blind"
awk -v here="$PWD" -f tests/faults/order.awk "$TEST_DIR/blind" | grep -q 'before .* was synced' || echo "a rename without fsync was not noticed"
ordered fit "$tiny" checkpoint.save_freq=4 --fresh --threads 1
for file in m.onnx w.safetensors w.npz; do ordered export "$tiny" -o "$o/$file"; done
for file in y.csv y.npy y.jsonl; do ordered predict "$tiny" -o "$o/$file"; done
for file in x.csv x.npz x.tfrecord 'x-{element}.npy'; do ordered data convert "$tiny" -o "$o/$file"; done
ordered ckpt convert "$TEST_DIR/run" -o "$o/c.npz"
ordered topology --tpu v3-8 --svg "$o/t.svg"
