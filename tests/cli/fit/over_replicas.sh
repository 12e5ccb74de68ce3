#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Workers that keep a part of the optimizer's state each: checkpoints, weights and slots have the bytes of one process, for every optimizer and any number of
# workers; a run stops on 4 workers and resumes on 3, 1 and 2.
# check-fast: fabric pass strategy train
. tests/cli/setup.sh
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
strategy: {type: multi_worker_mirrored, timeout: 30}
reproducible: {shards: 6}
partition: {over_replicas: optimizer}
dataset: {format: synthetic, examples: 61, element: {image: {shape: [6, 6, 1]}, label: {num_classes: 3}}, validation_split: 0.2, global_batch_size: 16}
model: {type: sequential, layers: [Input: {name: image, shape: [6, 6, 1]}, Flatten, Dense: {units: 16, activation: relu, kernel_constraint: MaxNorm}, Dense: {units: 3}]}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 2}
END
# fit WHERE WORDS...: silent, unless it fails.
fit() {
    to=$1
    shift
    timeout -k 3 100 "$DTRAIN" fit "$job" --threads 1 --quiet "output.dir=$TEST_DIR/$to" "$@" >"$TEST_DIR/out" 2>&1 || { echo "exit $?: $*" && cat "$TEST_DIR/out"; }
}
# same WHAT A B: the newest checkpoints of two runs.
same() {
    for file in model optimizer; do
        cmp "$TEST_DIR/$2/ckpt/step-00000006/$file.safetensors" "$TEST_DIR/$3/ckpt/step-00000006/$file.safetensors" || echo "$1: other $file"
    done
}

echo "== the same bytes"
for optimizer in 'SGD: {momentum: 0.9}' 'Adam: {global_clipnorm: 1.0, weight_decay: 0.01}' 'Adam: {use_ema: true, amsgrad: true}' 'RMSprop: {centered: true}' Adafactor Lamb Ftrl; do
    case $optimizer in *'{'*) words="{$optimizer}" ;; *) words=$optimizer ;; esac
    fit one --fresh "compile.optimizer=$words"
    for n in 2 3; do
        [ "$n" -eq 3 ] || [ "$optimizer" != Ftrl ] || continue
        fit some --fresh "compile.optimizer=$words" --workers $n
        same "$optimizer, $n workers" one some
    done
done
fit one --fresh fit.gradient_accumulation_steps=3
fit some --fresh fit.gradient_accumulation_steps=3 --workers 3
same "accumulated gradients" one some
fit one --fresh compile.precision=mixed_float16
fit some --fresh compile.precision=mixed_float16 --workers 2
same "float16" one some

echo "== a model that is saved by a callback"
keep='fit.callbacks=[ModelCheckpoint: {filepath: "kept", save_weights_only: false}]'
fit one --fresh "$keep"
fit some --fresh "$keep" --workers 3
for file in model optimizer; do cmp "$TEST_DIR/one/kept/$file.safetensors" "$TEST_DIR/some/kept/$file.safetensors"; done

echo "== resumed"
fit one --fresh
fit some --fresh --workers 4 --steps 3
fit some --workers 3 --steps 5
fit some --steps 6
fit some --workers 2
same "4, 3, 1 and 2 workers" one some

echo "== refused"
"$DTRAIN" fit "$job" --workers 2 partition.over_replicas=weights "output.dir=$TEST_DIR/none" >"$TEST_DIR/out" 2>&1 || echo "exit $?"
has "$TEST_DIR/out" "over_replicas: optimizer divides the optimizer's state"
