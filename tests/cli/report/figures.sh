#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the summary says: the best value by the metric's own direction, none where that is unknown; each epoch once, however often it was cut;
# and no epochs of a training that this one replaced.
. tests/cli/setup.sh
. tests/cli/jobs.sh
command -v python3 >/dev/null || { echo "no python3 here" && exit 77; }
cd "$TEST_DIR" || exit
cat >job.yaml <<'END'
version: 1
name: figures
seed: 3
strategy: {type: mirrored, replicas: 1}
dataset: {format: synthetic, examples: 40, element: {x: {shape: [4]}, y: {num_classes: 2}}, global_batch_size: 4}
model: {layers: [Input: {name: x, shape: [4]}, Dense: {units: 1, activation: sigmoid}]}
compile:
  optimizer: {SGD: {learning_rate: 0.05}}
  loss: BinaryCrossentropy
  metrics: [mse, {RootMeanSquaredError: {name: far}}, FalsePositives, {BinaryAccuracy: {name: hits}}]
fit: {epochs: 3}
output: {dir: run}
END

# page RUN FILTER: of the data in its page what a program for JSON finds.
page() {
    "$DTRAIN" report "$1" -q -o page.html
    sed -n 's|.*id="data">\(.*\)</script>|\1|p' page.html | python3 -c "import json, sys; run = json.load(sys.stdin)['runs'][0]; $2"
}
tiles() {
    page "$1" "
for name, f in run['figures'].items(): print(name + ':', 'best' if 'best' in f else '')
print('steps:', run['step'], 'of', run['start']['steps'])"
}
"$DTRAIN" fit job.yaml -q
tiles run

# All 10 steps of the epoch take the time of the epoch's last line, though the run was cut in the middle.
"$DTRAIN" fit job.yaml -q output.dir=cut --steps 5
"$DTRAIN" fit job.yaml -q output.dir=cut --steps 10
[ "$(grep -c '"event": "epoch"' cut/record.jsonl)" -eq 2 ] || echo "not cut"
near "$(page cut "print(run['epochs']['wall_s'])")" "$(value wall_s cut/record.jsonl)" 1e-12 || echo "other times"

# Where an epoch's checkpoint is lost it is trained again, and those before it count as before.
"$DTRAIN" fit job.yaml -q output.dir=lost checkpoint.save_freq=20
rm -r lost/ckpt/step-00000030
"$DTRAIN" fit job.yaml -q output.dir=lost checkpoint.save_freq=20
times=$(sed -n \
    's/.*"event": "epoch", "epoch": \([123]\),.*"wall_s": \([^,]*\),.*/\1 \2/p' lost/record.jsonl |
    awk '{ x[$1] = $2 } END { printf "%.12g", x[1] + x[2] + x[3] }')
near "$(page lost "print(run['epochs']['wall_s'])")" "$times" 1e-9 || echo "other times: not $times"

# Weights that were restored at the end: their epoch's values are given beside the last ones.
"$DTRAIN" fit job.yaml -q output.dir=kept 'fit.callbacks=[EarlyStopping: {monitor: far, mode: max, patience: 1, restore_best_weights: true}]'
page kept "
for name, f in run['figures'].items(): print(name, f['kept_epoch'], f['kept'] == run['by_epoch'][name]['y'][f['kept_epoch'] - 1])
print('kept' in run['figures']['far'], run['figures']['far']['kept'] != run['figures']['far']['last'])"
page run "print('kept' in run['figures']['far'])"

# A validation within an epoch counts to that epoch, not to the one before.
"$DTRAIN" fit job.yaml -q output.dir=within 'fit={steps: 30, validation_freq: 4}' dataset.validation_split=0.25 \
    dataset.global_batch_size=3 compile.optimizer.SGD.learning_rate=0.5
page within "
f, s = run['figures']['val_loss'], run['by_epoch']['val_loss']
at = s['x'][s['y'].index(f['best'])]
print('within:', at, f['epoch'], 'kept' in f)"

# Begun anew, it has neither the epochs nor the weights of the run before, which are there still.
"$DTRAIN" fit job.yaml -q --fresh --inject nan@step=3 2>err && echo "no error"
tiles run
grep -c "$("$DTRAIN" ckpt ls run --json | sed -n '$s/.*"weights_sha256": *"\([0-9a-f]\{12\}\).*/\1/p')" page.html
