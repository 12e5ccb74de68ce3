#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Losses of sums over the whole batch: the same for any number of replicas, evaluated in the job's batches, without weights.
. tests/cli/setup.sh
. tests/cli/jobs.sh
job=tests/jobs/metrics.yaml
for loss in Dice '{Tversky: {axis: [0], alpha: 0.3}}'; do
    first=$(hash "$job" "compile.loss=$loss" strategy.replicas=1 output.dir="$TEST_DIR/run" --fresh)
    for change in strategy.replicas=3 strategy.replicas=16 'strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}}'; do
        [ "$(hash "$job" "compile.loss=$loss" "$change" output.dir="$TEST_DIR/run" --fresh)" = "$first" ] || echo "$loss, $change: other weights"
    done
done
exits 0 fit "$job" compile.loss=Dice output.dir="$TEST_DIR/x"
"$DTRAIN" evaluate "$job" compile.loss=Dice output.dir="$TEST_DIR/x" --json >"$TEST_DIR/evaluated" || echo "exit $?"
[ "$(value val_loss "$TEST_DIR/x/history.jsonl")" = "$(value loss "$TEST_DIR/evaluated")" ] || echo 'evaluate: another loss'
for change in fit.gradient_accumulation_steps=2 compile.precision=mixed_float16 reproducible.shards=4; do
    exits 0 fit "$job" compile.loss=Dice "$change" output.dir="$TEST_DIR/y" --fresh
done
show fit "$job" output.dir="$TEST_DIR/z" compile.loss=Dice 'fit.class_weight={0: 2}' -q
show fit "$job" output.dir="$TEST_DIR/z" compile.loss=Dice compile.sample_weight=x compile.target=y -q
show fit "$job" output.dir="$TEST_DIR/z" 'compile.loss={Dice: {axis: [3]}}' -q
