#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ckpt verify --replay: the last steps of a run again, by the same and by other replicas and threads, give the same bits; other data do not.
. tests/cli/setup.sh
write_tiny
job=$TEST_DIR/job.yaml
sed -e "s|^  format: .*|  format: csv\n  train: x.csv|; /^  examples:/d; s|^  element: .*|  element: {image: {columns: [a, b, c, d, e, f, g, h], dtype: float32}, label: {column: y, dtype: int32}}|" \
    -e 's|SGD: {learning_rate: 0.05}|Adam: {use_ema: true}|; s|epochs: 2|epochs: 3|' "$tiny" >"$job"
draw() {
    awk -v other="$1" 'BEGIN { print "a,b,c,d,e,f,g,h,y"; for (i = 0; i < 40; i++) { for (k = 0; k < 8; k++) printf "%d,", (i * 7 + k * k * 3 + other * (i == 3)) % 11; print i % 3 } }' \
        >"$TEST_DIR/x.csv"
}
plain() {
    sed 's/sha [0-9a-f]\{12\}/sha H/; s/[0-9.]*[0-9]e-[0-9]*\|[0-9][0-9]*\.[0-9][0-9]*/N/g' | hide
}
draw 0
exits 66 ckpt verify --replay 1 "$job"
"$DTRAIN" fit "$job" -q || echo "exit $?"
show ckpt verify --replay 1 "$job" | plain
show ckpt verify --replay 5 "$job" strategy.replicas=5 --threads 1 | plain
(cd "$TEST_DIR" && "$DTRAIN" ckpt verify --replay 6 - -q <"$job") || echo "from standard input: exit $?"
show ckpt verify --replay 99 "$job" --json | plain
exits 0 ckpt verify --replay 99 "$job" -q
cat "$TEST_DIR/out"
exits 80 ckpt verify --replay 1 "$job" fit.epochs=4
sed 's/^dtrain: error: //' "$TEST_DIR/err" | hide
exits 65 ckpt verify --replay 1 "$job" fit.epochs=2
sed 's/^dtrain: error: //' "$TEST_DIR/err" | hide
exits 65 ckpt verify --replay 1 "$job" seed=8
# a run that was cut short by --steps has not taken averages
"$DTRAIN" fit "$job" output.dir="$TEST_DIR/cut" --steps 7 -q || echo "exit $?"
show ckpt verify --replay 2 "$job" output.dir="$TEST_DIR/cut" | plain
draw 1
show ckpt verify --replay 99 "$job" | plain | cut -c 1-40
exits 64 ckpt verify --replay 0 "$job"
exits 64 ckpt verify --replay 3
exits 66 ckpt verify --replay 3 "$TEST_DIR/run"
# nothing is left of what was done again, nor where it cannot be done
mkdir "$TEST_DIR/tmp"
TMPDIR=$TEST_DIR/tmp "$DTRAIN" ckpt verify --replay 3 "$job" >"$TEST_DIR/out" 2>&1 || :
ls "$TEST_DIR/tmp"
TMPDIR=$TEST_DIR/none "$DTRAIN" ckpt verify --replay 3 "$job" 2>&1 | sed 's/replay-....../replay-N/' | hide
# the newest is what is to be verified: damage of it is no reason to look at the one before
draw 0
last=$(find "$TEST_DIR/cut/ckpt" -name 'step-*' | sort | tail -n 1)
printf 'x' | dd of="$last/model.safetensors" bs=1 seek=900 conv=notrunc 2>/dev/null
exits 65 ckpt verify --replay 1 "$job" output.dir="$TEST_DIR/cut"
grep '^dtrain: error' "$TEST_DIR/err" | hide
