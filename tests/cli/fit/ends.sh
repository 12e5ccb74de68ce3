#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A training ends in the same way in one piece, in several, or when its command is repeated; and the weights that are saved are the ones that are judged.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit

# job NAME OPTIMIZER FIT...: 6 steps an epoch.
job() {
    cat >"$1.yaml" <<END
version: 1
name: $1
seed: 11
strategy: {type: mirrored, replicas: 1}
dataset:
  format: synthetic
  examples: 66
  element: {x: {shape: [6]}, y: {num_classes: 4}}
  validation_split: 0.1
  shuffle: true
  global_batch_size: 10
model: {layers: [Input: {name: x, shape: [6]}, Dense: {units: 5, activation: relu}, Dense: {units: 4}]}
compile:
  optimizer: {Adam: {learning_rate: 0.05, $2}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
fit: {$3}
output: {dir: $1}
END
}
means='use_ema: true, ema_momentum: 0.5'

# ends WORDS...: the weights that fit ends with.
ends() {
    "$DTRAIN" fit "$@" --json >out 2>err || { echo "dtrain fit $*: exit $?"; cat err; }
    weights out
}
same() {
    [ "$1" = "$2" ] || echo "$3: $2, not $1"
}

# The best weights stay where the same command is given again, though the optimizer's means take the place of weights at every end.
job best "$means" 'epochs: 4, callbacks: [EarlyStopping: {monitor: val_accuracy, patience: 20, restore_best_weights: true}]'
whole=$(ends best.yaml)
same "$whole" "$(ends best.yaml)" "given again"
for steps in 23 24 25; do
    ends best.yaml output.dir="cut$steps" --steps $steps >last
    [ $steps -eq 23 ] || same "$whole" "$(cat last)" "--steps $steps"
    "$DTRAIN" ckpt ls cut$steps | sed -n '$s/.*finished.*/finished/p'
    same "$whole" "$(ends best.yaml output.dir="cut$steps")" "--steps $steps and then all"
done

# --expect looks at what evaluate sees.
loss=$("$DTRAIN" evaluate best.yaml --json | sed -n 's/.*"loss": *\([^,}]*\).*/\1/p')
"$DTRAIN" fit best.yaml output.dir=judged -q --expect "val_loss>=$loss" --expect "val_loss<=$loss" || echo "judged: exit $?"
"$DTRAIN" fit best.yaml output.dir=judged -q --expect "val_loss>=$loss" --expect "val_loss<=$loss" || echo "judged again: exit $?"

# Epochs without validation are that for callbacks, wherever a run is cut; what is done again is the same.
job rare 'use_ema: false' 'epochs: 6, validation_freq: 2, callbacks: [EarlyStopping: {monitor: val_loss, mode: max, patience: 2}, CSVLogger: {filename: log.csv}, ModelCheckpoint: {filepath: best, save_best_only: true}]'
ends rare.yaml >whole
cp rare/history.jsonl history
cp rare/log.csv log
rm -r rare
for steps in 6 9 18 30 36; do ends rare.yaml --steps $steps >pieces; done
"$DTRAIN" fit rare.yaml output.dir=late -q --steps 6 --expect 'val_loss>0' || echo "late: exit $?"
cmp whole pieces
cmp history rare/history.jsonl
cmp log rare/log.csv
rm -r rare/ckpt/step-00000036
"$DTRAIN" ckpt verify --replay 6 rare.yaml -q || echo "replay: exit $?"
"$DTRAIN" fit rare.yaml output.dir=short fit.epochs=3 -q
tail -n 1 short/history.jsonl | sed 's/: [-0-9.e]*//g; s/"[0-9a-f]\{8\}"}/}/'
tail -n 1 short/log.csv | tr -d '\r' | sed 's/0\.[0-9]*\|1\.[0-9]*/N/g'

# From an older checkpoint the last line is that checkpoint's.
first=$(sed -n 's/.*"step": 24,.*"val_loss": \([^,]*\),.*/\1/p' history)
"$DTRAIN" fit rare.yaml output.dir=older -q
"$DTRAIN" fit rare.yaml output.dir=older -q --resume older/ckpt/step-00000024 --steps 24 --expect "val_loss>=$first" --expect "val_loss<=$first" || echo "older: exit $?"

# ModelCheckpoint saves what the model had at its place in the list.
saved='ModelCheckpoint: {filepath: "mc{epoch}.safetensors", save_weights_only: true}'
job plain "$means" "epochs: 2, callbacks: [$saved]"
job front "$means" "epochs: 2, callbacks: [$saved, SwapEMAWeights: {swap_on_epoch: true}]"
job behind "$means" "epochs: 2, callbacks: [SwapEMAWeights: {swap_on_epoch: true}, $saved]"
for name in plain front behind; do "$DTRAIN" fit $name.yaml -q; done
cmp plain/mc2.safetensors front/mc2.safetensors
cmp -s plain/mc2.safetensors behind/mc2.safetensors && echo "behind SwapEMAWeights the plain weights are saved"
same "$(ends plain.yaml)" "$(ends front.yaml)" "exchanged in between"
