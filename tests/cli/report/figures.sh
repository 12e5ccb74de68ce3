#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the summary says: the best value by the metric's own direction, none where nobody knows one; each epoch once, however often it was cut;
# and nothing of a training that was given up for this one.
. tests/cli/setup.sh
. tests/cli/jobs.sh
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

# tiles RUN: the names of the summary's tiles, and what stands below them without its numbers.
tiles() {
    "$DTRAIN" report "$1" -q -o page.html
    sed 's/<wbr>//g' page.html | sed -n 's|^.*<dt>\([^<]*\)</dt><dd><data[^>]*>[^<]*</data></dd>|\1: |p' |
        sed 's/<[^>]*>//g; s/[0-9][0-9.,]*/N/g; /^time/d; /^parameters/d'
}
"$DTRAIN" fit job.yaml -q
tiles run

# All 10 steps of the epoch take the time of the epoch's last line, though the run was cut in the middle.
"$DTRAIN" fit job.yaml -q output.dir=cut --steps 5
"$DTRAIN" fit job.yaml -q output.dir=cut --steps 10
"$DTRAIN" report cut -q -o page.html
[ "$(grep -c '"event": "epoch"' cut/record.jsonl)" -eq 2 ] || echo "not cut"
near "$(sed -n 's|.*time in training steps</th><td><data value="\([^"]*\)".*|\1|p' page.html)" "$(value wall_s cut/record.jsonl)" 1e-12 || echo "other times"

# Where an epoch's checkpoint is lost it is trained again, and those before it count as before.
"$DTRAIN" fit job.yaml -q output.dir=lost checkpoint.save_freq=20
rm -r lost/ckpt/step-00000030
"$DTRAIN" fit job.yaml -q output.dir=lost checkpoint.save_freq=20
"$DTRAIN" report lost -q -o page.html
times=$(sed -n \
    's/.*"event": "epoch", "epoch": \([123]\),.*"wall_s": \([^,]*\),.*/\1 \2/p' lost/record.jsonl |
    awk '{ x[$1] = $2 } END { printf "%.12g", x[1] + x[2] + x[3] }')
near "$(sed -n 's|.*time in training steps</th><td><data value="\([^"]*\)".*|\1|p' page.html)" "$times" 1e-9 || echo "other times: not $times"

# Begun anew, it has neither the epochs nor the weights of the run before, which are there still.
"$DTRAIN" fit job.yaml -q --fresh --inject nan@step=3 2>err && echo "no error"
tiles run
grep -c "$("$DTRAIN" ckpt ls run --json | sed -n '$s/.*"weights_sha256": *"\([0-9a-f]\{12\}\).*/\1/p')" page.html
