#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: model op train
# Circle compares the examples of the global batch: the same weights for any number of replicas and workers, batches that are not full, evaluation in the job's batches, and what it refuses.
. tests/cli/setup.sh
. tests/cli/jobs.sh
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
dataset: {format: synthetic, examples: 90, element: {x: {shape: [12]}, label: {num_classes: 5}}, validation_split: 0.2, global_batch_size: 20}
model: {type: sequential, layers: [Input: {name: x, shape: [12]}, Dense: {units: 16, activation: relu}, Dense: {units: 8}, UnitNormalization]}
compile: {optimizer: adam, loss: {Circle: {gamma: 16}}}
fit: {epochs: 6}
END
same() {
    first=$(hash "$job" "$@" output.dir="$TEST_DIR/run" --fresh)
    for change in strategy.replicas=2 strategy.replicas=3 strategy.replicas=16 'strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}}'; do
        [ "$(hash "$job" "$@" "$change" output.dir="$TEST_DIR/run" --fresh)" = "$first" ] || echo "$* $change: other weights"
    done
}
same fit.epochs=6
same compile.precision=mixed_bfloat16
same fit.gradient_accumulation_steps=3
same dataset.global_batch_size=500
shards=$(hash "$job" reproducible.shards=4 output.dir="$TEST_DIR/run" --fresh)
for workers in 2 3; do
    [ "$(hash "$job" reproducible.shards=4 --workers $workers output.dir="$TEST_DIR/run" --fresh)" = "$shards" ] || echo "$workers workers: other weights"
done
exits 0 fit "$job" 'strategy={type: parameter_server, workers: 2}' output.dir="$TEST_DIR/run" --fresh
# The pairs are those of a batch: a batch half as large is another loss.
exits 0 fit "$job" output.dir="$TEST_DIR/run" --fresh
exits 0 fit "$job" fit.epochs=3 output.dir="$TEST_DIR/part" --fresh
exits 0 fit "$job" output.dir="$TEST_DIR/part"
cmp -s "$TEST_DIR/run/history.jsonl" "$TEST_DIR/part/history.jsonl" || [ "$(value loss "$TEST_DIR/run/history.jsonl")" = "$(value loss "$TEST_DIR/part/history.jsonl")" ] || echo 'resumed: another loss'
awk 'NR == 1 { first = $0 } END { split(first, a, /"loss":/); split($0, b, /"loss":/); exit !(b[2] + 0 < a[2] + 0) }' "$TEST_DIR/run/history.jsonl" || echo 'the loss does not fall'
loss() { "$DTRAIN" evaluate "$job" output.dir="$TEST_DIR/run" "$@" --json >"$TEST_DIR/evaluated" || echo "exit $?"; value loss "$TEST_DIR/evaluated"; }
[ "$(value val_loss "$TEST_DIR/run/history.jsonl")" = "$(loss)" ] || echo 'evaluate: another loss'
small=$(loss dataset.global_batch_size=6)
[ "$small" != "$(loss)" ] || echo 'evaluate: not the pairs of a batch'
[ "$small" = "$(loss dataset.global_batch_size=6 --workers 2)" ] || echo 'evaluate: another loss of workers'
"$DTRAIN" predict "$job" output.dir="$TEST_DIR/run" | awk -F, 'NR > 1 { s = 0; for (i = 1; i <= NF; i++) s += $i * $i; if (s < 0.99999 || s > 1.00001) print "length", s }' | head -3
# Weights of examples change the mean, and not the pairs: those of a class without weight are still the others' pairs.
exits 0 fit "$job" 'fit.class_weight={0: 0, 1: 2}' output.dir="$TEST_DIR/x" --fresh
"$DTRAIN" lower "$job" --stage stablehlo >"$TEST_DIR/hlo" || echo "exit $?"
grep -q stablehlo.scatter "$TEST_DIR/hlo" || echo "nothing is gathered"
show fit "$job" output.dir="$TEST_DIR/z" 'model.layers.3={Reshape: {target_shape: [2, 4]}}' -q
show fit "$job" output.dir="$TEST_DIR/z" dataset.element.label.shape=[2] -q
show fit "$job" output.dir="$TEST_DIR/z" 'compile.loss={Circle: {reduction: sum}}' -q
show fit "$job" output.dir="$TEST_DIR/z" 'compile.metrics=[circle]' -q
