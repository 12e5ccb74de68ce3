#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# auto_shard_policy: auto is the order of one process; the others depend on the workers, resume to the same bits, replay, and say what they do.
# check-fast: data strategy train
. tests/cli/setup.sh
for i in 0 1 2; do
    { echo x,y; for k in 1 2 3 4 5 6 7; do [ $k -le $((7 - i)) ] && echo "0.$i$k,$((k * (i + 1)))"; done; } >"$TEST_DIR/p-$i.csv"
done
cat >"$TEST_DIR/j.yaml" <<END
version: 1
strategy: {type: multi_worker_mirrored, workers: 3}
dataset: {format: csv, train: 'p-*.csv', element: {x: {columns: [x]}, y: {column: y}}, global_batch_size: 6, shuffle: true}
model: {type: sequential, layers: [Input: {name: x, shape: [1]}, Dropout: {rate: 0.1}, Dense: {units: 1}]}
compile: {optimizer: Adam, loss: MeanSquaredError}
fit: {epochs: 4}
checkpoint: {max_to_keep: 20, save_freq: 1}
END
# hash_of NAME WORDS...: trains in a directory of that name, prints the weights' hash.
hash_of() {
    name=$1
    shift
    "$DTRAIN" fit "$TEST_DIR/j.yaml" "output.dir=$TEST_DIR/$name" "$@" --json >"$TEST_DIR/$name.json" 2>"$TEST_DIR/err" || [ $? -eq 75 ] || cat "$TEST_DIR/err"
    weights "$TEST_DIR/$name.json"
}
one=$(hash_of one strategy.workers=1)
[ "$(hash_of auto)" = "$one" ] || echo "auto: other bits than those of one process"
for policy in file data off hint; do
    all=$(hash_of $policy dataset.auto_shard_policy=$policy)
    [ -n "$all" ] || echo "$policy: no hash"
    case $policy in data) ;; *) [ "$all" != "$one" ] || echo "$policy: the bits of one process" ;; esac
    sed -n "1s/.*\"steps_per_epoch\":\([0-9]*\).*\"sharding\":\"\([^\"]*\)\".*/$policy: \1 steps an epoch, \2/p" "$TEST_DIR/$policy.json"
    for steps in 2 5; do
        hash_of "$policy-$steps" "dataset.auto_shard_policy=$policy" --steps $steps >"$TEST_DIR/ignored"
        [ "$(hash_of "$policy-$steps" "dataset.auto_shard_policy=$policy")" = "$all" ] || echo "$policy: cut at step $steps, it ends otherwise"
    done
    exits 0 ckpt verify "$TEST_DIR/j.yaml" "output.dir=$TEST_DIR/$policy" "dataset.auto_shard_policy=$policy" --replay 4
done
# Workers in processes of their own are those that one process plays.
for policy in auto file data off hint; do
    for n in 2 3; do
        of() { hash_of "$policy-processes" "dataset.auto_shard_policy=$policy" 'reproducible={shards: 3}' --fresh "$@"; }
        played=$(of "strategy.workers=$n")
        [ -n "$played" ] && [ "$(of strategy.workers=null --workers $n)" = "$played" ] || echo "$policy: $n processes have other bits than $n workers in one"
    done
done
cd "$TEST_DIR" || exit 1
show fit j.yaml output.dir=file dataset.auto_shard_policy=file strategy.workers=2 fit.epochs=5
show fit j.yaml dataset.auto_shard_policy=file strategy.workers=4 --dry-run
show fit j.yaml dataset.auto_shard_policy=off dataset.global_batch_size=2 --dry-run
show data shards j.yaml dataset.auto_shard_policy=file dataset.shuffle=false --workers 3
show data shards j.yaml dataset.auto_shard_policy=data dataset.shuffle=false --workers 3

# steps_per_epoch: the data goes on where the epoch before ended
all=$(hash_of spe fit.steps_per_epoch=2 fit.epochs=6)
[ "$all" = "$one" ] || echo "12 steps of 6 epochs are not those of 4"
hash_of spe-cut fit.steps_per_epoch=2 fit.epochs=6 --steps 7 >ignored
[ "$(hash_of spe-cut fit.steps_per_epoch=2 fit.epochs=6)" = "$all" ] || echo "steps_per_epoch: cut at step 7, it ends otherwise"
wc -l <spe/history.jsonl
echo '== one layer in 16 bits, in a float32 model: the layers behind it read float32'
cat >"$TEST_DIR/one.yaml" <<'END'
version: 1
strategy: {type: default}
dataset: {format: synthetic, examples: 64, element: {x: {shape: [4]}, y: {num_classes: 3}}, global_batch_size: 8}
model: {layers: [Input: {name: x, shape: [4]}, Dense: {units: 8, dtype: mixed_bfloat16}, LayerNormalization, Dense: {units: 3}]}
compile: {optimizer: sgd, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
for dtype in mixed_bfloat16 mixed_float16; do exits 0 fit "$TEST_DIR/one.yaml" -q model.layers.1.Dense.dtype=$dtype output.dir="$TEST_DIR/$dtype"; done
