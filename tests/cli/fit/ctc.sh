#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CTC with Muon and ScheduleFreeAdamW: the same weights for any number of replicas, a run that stops and resumes, and what CTC refuses.
. tests/cli/setup.sh
. tests/cli/jobs.sh
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
dataset: {format: synthetic, examples: 64, element: {x: {shape: [12, 6]}, label: {shape: [3], num_classes: 5}}, validation_split: 0.2, global_batch_size: 8}
model: {type: sequential, layers: [Input: {name: x, shape: [12, 6]}, GRU: {units: 16, return_sequences: true}, Dense: {units: 5}]}
compile: {optimizer: {Muon: {learning_rate: 0.02, exclude_layers: [^dense/]}}, loss: CTC}
fit: {epochs: 4}
END
for optimizer in '{Muon: {learning_rate: 0.02, exclude_layers: [^dense/]}}' ScheduleFreeAdamW; do
    first=$(hash "$job" "compile.optimizer=$optimizer" output.dir="$TEST_DIR/run" --fresh)
    [ "$(hash "$job" "compile.optimizer=$optimizer" strategy.replicas=3 output.dir="$TEST_DIR/run" --fresh)" = "$first" ] || echo "$optimizer: other weights"
    exits 0 fit "$job" "compile.optimizer=$optimizer" fit.epochs=2 output.dir="$TEST_DIR/part" --fresh
    [ "$(hash "$job" "compile.optimizer=$optimizer" output.dir="$TEST_DIR/part")" = "$first" ] || echo "$optimizer: resumed with other weights"
done
# Matrices have momentum alone; the vectors and the last layer, velocity, too.
"$DTRAIN" ckpt inspect "$TEST_DIR/run" >/dev/null || echo "exit $?"
exits 0 fit "$job" output.dir="$TEST_DIR/x" --fresh
"$DTRAIN" ckpt inspect "$TEST_DIR/x" | grep -o 'optimizer/[a-z/_]*'
# The loss falls.
awk 'NR == 1 { first = $0 } END { split(first, a, /"loss":/); split($0, b, /"loss":/); exit !(b[2] + 0 < a[2] + 0) }' "$TEST_DIR/x/history.jsonl" || echo 'the loss does not fall'
show fit "$job" output.dir="$TEST_DIR/z" 'model.layers.2={Dense: {units: 5, activation: softmax}}' --dry-run -q
show fit "$job" output.dir="$TEST_DIR/z" dataset.element.label.num_classes=6 -q
show fit "$job" output.dir="$TEST_DIR/z" dataset.element.label.shape=[14] -q
show fit "$job" output.dir="$TEST_DIR/z" dataset.element.label.shape=[] -q
show fit "$job" output.dir="$TEST_DIR/z" 'compile.optimizer={Muon: {exclude_layers: ["a{3}"]}}' -q
