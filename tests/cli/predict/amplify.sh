#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: file
# Small files that ask for much memory: lines of JSON of many values, lines longer than allowed, behind gzip. Each is refused, and takes at most the documented
# memory: values are read in place, and a row may have 64 MiB.
. tests/cli/setup.sh
if ldd "$DTRAIN" | grep -q san; then
    echo "sanitizers take memory of their own"
    exit 77
fi
"${CC:-cc}" -O1 -o "$TEST_DIR/peak" tests/cli/predict/peak.c || exit
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
dataset: {format: synthetic, examples: 32, element: {x: {shape: [4]}, y: {num_classes: 3}}, global_batch_size: 8}
model: {type: sequential, layers: [Input: {name: x, shape: [4]}, Dense: {units: 3}]}
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
output: {dir: run}
END
"$DTRAIN" fit "$job" "output.dir=$TEST_DIR/run" >"$TEST_DIR/out" 2>&1 || cat "$TEST_DIR/out"
# many N TEXT: the text so often.
many() { head -c "$1" /dev/zero | sed "s/\\x0/$2/g"; }
# refuses MIB: predicts from standard input, packed.
refuses() {
    gzip -9 >"$TEST_DIR/x.jsonl.gz"
    "$TEST_DIR/peak" "$1" "$DTRAIN" predict "$job" "output.dir=$TEST_DIR/run" --input "$TEST_DIR/x.jsonl.gz" >"$TEST_DIR/out" 2>&1 && status=0 || status=$?
    hide <"$TEST_DIR/out"
    [ "$status" -eq 65 ] || echo "exit $status, not 65"
    [ "$(wc -c <"$TEST_DIR/x.jsonl.gz")" -le 262144 ] || echo "$(wc -c <"$TEST_DIR/x.jsonl.gz") bytes are no small file"
}
echo "== values"
{ printf '{"x":[' && many 2796202 '{},' && echo '{}]}'; } | refuses 128
{ printf '{"x":[' && many 30000000 '1,' && echo '1]}'; } | refuses 192
echo "== nested"
{ printf '{"x":' && many 1000000 '['; } | refuses 128
echo "== a long line"
{ printf '{"x":[1' && many 200000000 ' ' && echo ',2,3,4]}'; } | refuses 192
