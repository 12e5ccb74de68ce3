#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sample weights and class weights count the same on 1, 2 and 3 workers and on 1 and 2 replicas: one hash, and the same losses and metrics, per reduction.
# check-fast: net strategy train
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
# weights from 0 to 5, so that parts of a batch differ in their sums; the last batch has one example
awk 'BEGIN { print "a,b,kind,w"; for (i = 0; i < 25; i++) printf "%.1f,%d,%d,%.2f\n", i / 10, i * 7 % 5, i * 5 % 3, i % 6 * 1.01 }' >t.csv
cat >job.yaml <<'END'
version: 1
reproducible: {shards: 6}
dataset:
  format: csv
  train: t.csv
  validation: t.csv
  global_batch_size: 12
  element: {x: {columns: [a, b]}, y: {column: kind, dtype: int32}, w: {column: w}}
model: {layers: [Input: {name: x, shape: [2]}, Dense: {units: 4, activation: tanh}, Dense: {units: 3}]}
compile:
  optimizer: Adam
  target: y
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
  weighted_metrics: [accuracy]
fit: {epochs: 2}
output: {dir: run}
END
# fit WORDS...: hash, losses and metrics of the last epoch.
fit() {
    timeout -k 3 100 "$DTRAIN" fit job.yaml --threads 1 --fresh --json "$@" >out 2>err || { echo "exit $?: $*" && cat err; }
    sed -n 's/.*"event":"end".*"weights_sha256":"\([0-9a-f]*\)".*/\1/p' out
    sed -n 's/.*"epoch":2,.*"examples_per_s":[^,]*,\(.*\),"waited_s".*/\1/p' out
}
# same WORDS...: on every number of workers and replicas.
same() {
    one=$(fit "$@")
    case $one in *loss*) ;; *) echo "no losses: $one" ;; esac
    all="$all${one%%
*}
"
    for n in 2 3; do
        many=$(fit --workers $n strategy.type=multi_worker_mirrored strategy.timeout=30 "$@")
        [ "$many" = "$one" ] || printf '%s, %s workers: %s\n   one: %s\n' "$*" $n "$many" "$one"
    done
    many=$(fit strategy.type=mirrored 'strategy.devices=["CPU:0", "CPU:1"]' "$@")
    [ "$many" = "$one" ] || printf '%s, 2 replicas: %s\n   one: %s\n' "$*" "$many" "$one"
}
for reduction in sum_over_batch_size mean_with_sample_weight; do
    loss="compile.loss={SparseCategoricalCrossentropy: {from_logits: true, reduction: $reduction}}"
    same "$loss"
    same "$loss" compile.sample_weight=w
    same "$loss" 'fit.class_weight={0: 3, 2: 0.1}'
    same "$loss" compile.sample_weight=w 'fit.class_weight={0: 3, 2: 0.1}'
done
# each weighting and each reduction trains other weights, but for the two means without weights
printf %s "$all" | sort -u | wc -l
