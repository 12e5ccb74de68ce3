#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# validation_split as a mapping: drawn by the seed, of each class alike; the same rows for any number of replicas, threads and files, in any format.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
awk 'BEGIN { print "x,k"; for (i = 0; i < 150; i++) print i "," (i < 50 ? "a" : i < 100 ? "b" : i < 140 ? "c" : "d") }' >sorted.csv
for part in 1 2 3 4; do { head -n 1 sorted.csv; tail -n +2 sorted.csv | awk "NR > ($part - 1) * 40 && NR <= $part * 40"; } >part-$part.csv; done
awk -F, 'NR > 1 { printf "{\"x\": %d, \"k\": \"%s\"}\n", $1, $2 }' sorted.csv >sorted.jsonl
cat >job.yaml <<'END'
version: 1
seed: 3
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset:
  format: csv
  train: sorted.csv
  validation_split: {fraction: 0.2, shuffle: true, stratify: k}
  element: {x: {columns: [x]}, k: {column: k, vocabulary: [a, b, c, d]}}
  map: {x: [normalize]}
  shuffle: true
  global_batch_size: 12
model: {layers: [Input: {name: x, shape: [1]}, Dense: {units: 4}]}
compile: {optimizer: sgd, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {epochs: 2}
output: {dir: run}
END
# The last epoch's line, and the weights.
run() {
    "$DTRAIN" fit job.yaml --fresh "$@" 2>&1 | sed -n 's/.*weights sha \(.*\)/\1/p; s/dtrain: warning: //p; /^epoch 2/p'
}
echo "== the same"
run >first
cat first
for more in 'strategy.devices=["CPU:0", "CPU:1", "CPU:2"]' dataset.num_parallel_calls=5 dataset.train='part-*.csv' 'dataset.validation_split.seed=3'; do
    run "$more" >other
    cmp first other || echo "$more"
done
sed 's/format: csv/format: jsonl/; s/sorted.csv/sorted.jsonl/' job.yaml >jsonl.yaml
"$DTRAIN" fit jsonl.yaml --fresh 2>&1 | sed -n 's/.*weights sha \(.*\)/\1/p; s/dtrain: warning: //p; /^epoch 2/p' >other
cmp first other || cat other
echo "== shares of the classes"
"$DTRAIN" evaluate job.yaml | sed -n '/^class /,/^macro/p' | awk '{ print $1, $NF }'
echo "== other seeds, other rows"
for seed in 3 4 5; do run dataset.validation_split.seed=$seed | tail -n 1; done | sort -u | wc -l
echo "== a warning with the line to write"
run dataset.validation_split=0.2 | head -n 1
run 'dataset.validation_split={fraction: 0.2, shuffle: false}' | head -n 1
sed -n '1p; 51,$p' sorted.csv >missing.csv
run dataset.validation_split=null dataset.validation=missing.csv | head -n 1
echo "== what is refused"
for split in '{fraction: 0.2, stratify: y}' '{fraction: 0.2, stratify: x}' '{fraction: 0}' '{fraction: 1}' '{stratify: k}' '{fraction: 0.2, by: k}' '{fraction: 0.2, seed: -1}' k; do
    exits 78 fit job.yaml -n --fresh -q "dataset.validation_split=$split"
    grep error: err
done
exits 78 fit job.yaml -n --fresh -q dataset.validation=missing.csv
grep error: err
exits 65 fit job.yaml -n --fresh -q dataset.take=1
grep error: err
