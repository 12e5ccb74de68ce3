#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Workers that keep a part of the optimizer's state each, or of the weights, too: checkpoints, weights and slots have the bytes of one process, for every
# optimizer and any number of workers; a run stops on 4 workers and resumes on 3, 1 and 2.
# check-fast: net pass strategy train
. tests/cli/setup.sh
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
strategy: {type: multi_worker_mirrored, timeout: 30}
reproducible: {shards: 6}
partition: {over_replicas: optimizer}
dataset: {format: synthetic, examples: 61, element: {image: {shape: [6, 6, 1]}, label: {num_classes: 3}}, validation_split: 0.2, global_batch_size: 16}
model: {type: sequential, layers: [Input: {name: image, shape: [6, 6, 1]}, Flatten, Dense: {units: 500, activation: relu, kernel_constraint: MaxNorm}, Dense: {units: 70, kernel_regularizer: {L2: {l2: 0.01}}}, Dense: {units: 3}]}
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

# numbers FILE: metrics of evaluate, or lines of predict.
numbers() { grep -o '"loss":[^}]*\|^[0-9].*' "$1"; }

echo "== the same bytes"
weights=partition.over_replicas=weights
for optimizer in 'SGD: {momentum: 0.9}' 'Adam: {global_clipnorm: 1.0, weight_decay: 0.01}' 'Adam: {use_ema: true, amsgrad: true}' 'RMSprop: {centered: true}' Adafactor Lamb Ftrl Muon; do
    case $optimizer in *'{'*) words="{$optimizer}" ;; *) words=$optimizer ;; esac
    fit one --fresh "compile.optimizer=$words"
    for n in 2 3; do
        [ "$n" -eq 3 ] || [ "$optimizer" != Ftrl ] || continue
        fit some --fresh "compile.optimizer=$words" --workers $n
        same "$optimizer, $n workers" one some
    done
    fit some --fresh "compile.optimizer=$words" --workers 3 $weights
    same "$optimizer, weights" one some
done
fit one --fresh fit.gradient_accumulation_steps=3
fit some --fresh fit.gradient_accumulation_steps=3 --workers 3
same "accumulated gradients" one some
fit some --fresh fit.gradient_accumulation_steps=3 --workers 3 $weights
same "accumulated gradients, weights" one some
fit one --fresh compile.precision=mixed_float16
fit some --fresh compile.precision=mixed_float16 --workers 2
same "float16" one some
fit some --fresh compile.precision=mixed_float16 --workers 2 $weights
same "float16, weights" one some
picture='Input: {name: image, shape: [6, 6, 1]}'
for layers in "[$picture, Conv2D: {filters: 64, kernel_size: 3, padding: same}, BatchNormalization: {synchronized: true}, Conv2D: {filters: 32, kernel_size: 3}, Flatten, Dense: {units: 3}]" \
    "[$picture, Reshape: {target_shape: [6, 6]}, LSTM: {units: 64, return_sequences: true}, TransformerEncoder: {intermediate_dim: 300, num_heads: 2}, Flatten, Dense: {units: 3}]"; do
    fit one --fresh "model.layers=$layers"
    for n in 2 3; do
        fit some --fresh "model.layers=$layers" --workers $n $weights
        same "$n workers, weights of $layers" one some
    done
done

echo "== less memory"
for over in none optimizer weights; do
    "$DTRAIN" fit "$job" --threads 1 --fresh --workers 4 partition.over_replicas=$over --json "output.dir=$TEST_DIR/some" | sed -n "s/.*\"state_bytes\":\([0-9]*\),.*/\1 $over/p"
done | sort -n | sed 's/[0-9]* //'

echo "== a model that is saved by a callback"
keep='fit.callbacks=[ModelCheckpoint: {filepath: "kept", save_weights_only: false}]'
fit one --fresh "$keep"
fit some --fresh "$keep" --workers 3
for file in model optimizer; do cmp "$TEST_DIR/one/kept/$file.safetensors" "$TEST_DIR/some/kept/$file.safetensors"; done

fit some --fresh "$keep" --workers 3 $weights
for file in model optimizer; do cmp "$TEST_DIR/one/kept/$file.safetensors" "$TEST_DIR/some/kept/$file.safetensors"; done
keep='fit.callbacks=[EarlyStopping: {monitor: loss, patience: 0, min_delta: 9, restore_best_weights: true}, ModelCheckpoint: {filepath: "kept.safetensors", save_weights_only: true}]'
fit one --fresh fit.epochs=3 "$keep"
fit some --fresh fit.epochs=3 "$keep" --workers 3 $weights strategy.verify_replicas=true
cmp "$TEST_DIR/one/kept.safetensors" "$TEST_DIR/some/kept.safetensors"
(cd "$TEST_DIR/one/ckpt" && for file in */model.safetensors; do cmp "$file" "../../some/ckpt/$file"; done)

echo "== resumed"
for over in optimizer weights; do
    fit one --fresh
    fit some --fresh --workers 4 --steps 3 partition.over_replicas=$over
    fit some --workers 3 --steps 5 partition.over_replicas=$over
    fit some --steps 6
    fit some --workers 2 partition.over_replicas=$over
    same "$over: 4, 3, 1 and 2 workers" one some
done

echo "== evaluated and predicted"
for verb in 'evaluate --json' predict; do
    # shellcheck disable=SC2086 # words
    "$DTRAIN" $verb "$job" "output.dir=$TEST_DIR/one" --quiet >"$TEST_DIR/one.numbers" 2>&1 || cat "$TEST_DIR/one.numbers"
    # shellcheck disable=SC2086 # words
    "$DTRAIN" $verb "$job" "output.dir=$TEST_DIR/one" --quiet --workers 3 $weights >"$TEST_DIR/some.numbers" 2>&1 || cat "$TEST_DIR/some.numbers"
    numbers "$TEST_DIR/one.numbers" >"$TEST_DIR/one.json"
    [ -s "$TEST_DIR/one.json" ] || echo "$verb: no numbers"
    numbers "$TEST_DIR/some.numbers" | cmp - "$TEST_DIR/one.json"
done
