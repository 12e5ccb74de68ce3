#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Callbacks: what they do is printed and is in the events, monitors and paths that do not go with the job are refused at their places, a run
# that was stopped stays stopped.
. tests/cli/setup.sh
write_tiny
sed -i "s|^fit: .*|fit: {epochs: 9, callbacks: [CSVLogger: {filename: log.csv}, EarlyStopping: {patience: 1, mode: max, restore_best_weights: true}]}|" "$tiny"
"$DTRAIN" fit "$tiny" >"$TEST_DIR/out" || echo "exit $?"
kept=$(sed -n 's/^epoch 1\/.* val_loss \([0-9.]*\) .*/\1/p' "$TEST_DIR/out")
grep -E '^epoch [0-9]+:' "$TEST_DIR/out" | sed "s/val_loss $kept$/val_loss KEPT/" # that of epoch 1
head -n 1 "$TEST_DIR/run/log.csv" | tr -d '\r'
cut -d, -f1 "$TEST_DIR/run/log.csv"
"$DTRAIN" fit "$tiny" --json | sed -n '/"event":"end"/s/,"weights.*//p'
"$DTRAIN" fit "$tiny" --fresh --json | sed -n "/\"event\":\"callback\"/s/val_loss $kept/val_loss KEPT/; /\"event\":\"callback\"/p"
set='fit.callbacks'
show validate "$tiny" "$set=[EarlyStopping: {monitor: val_acuracy}, ReduceLROnPlateau: {monitor: los}]"
show validate "$tiny" "$set=[EarlyStopping]" dataset.validation_split=
show validate "$tiny" "$set=[ReduceLROnPlateau]" 'compile.optimizer={SGD: {learning_rate: {CosineDecay: {initial_learning_rate: 0.1, decay_steps: 9}}}}'
show validate "$tiny" "$set=[CSVLogger: {filename: ../log.csv}, CSVLogger: {filename: history.jsonl}]"
show validate "$tiny" "$set=[BackupAndRestore: {backup_dir: b}, ReduceLROnPlateau: {factor: 1}]"
show validate "$tiny" "$set=[ModelCheckpoint: {filepath: \"{epoch:02d}-{val_los:.2f}\"}, ModelCheckpoint: {filepath: best.keras}, ModelCheckpoint: {filepath: \"{batch}\"}]"
# A log that cannot be written ends the run.
rm -rf "$TEST_DIR/run/log.csv"
mkdir "$TEST_DIR/run/log.csv"
show fit "$tiny" --fresh -q
# The job of docs/callbacks.md.
rm -rf "$TEST_DIR/run"
{
    sed '/^fit:/d; /^output:/d' "$tiny"
    # shellcheck disable=SC2016 # the fences of a page
    sed -n '/^```yaml/,/^```/{/^```/d; p}' docs/callbacks.md
} >"$TEST_DIR/docs.yaml"
"$DTRAIN" fit "$TEST_DIR/docs.yaml" "output.dir=$TEST_DIR/docs" fit.epochs=2 >"$TEST_DIR/out" || echo "exit $?"
(cd "$TEST_DIR/docs" && find . -name '*.json*' -o -name '*.csv' -o -name 'train' | sort)
# What a run that was killed left beside a log that is not there yet is no part of it.
rm -rf "$TEST_DIR/run"
exits 0 fit "$tiny" -q fit.callbacks=
exits 0 fit "$tiny" -q fit.callbacks= --fresh
generation=$(sed -n 's/.*"generation": *\([0-9]*\).*/\1/p' "$TEST_DIR/run/record.jsonl" | tail -n 1)
echo left >"$TEST_DIR/run/log.csv.$((generation + 1))"
exits 0 fit "$tiny" -q "$set=[CSVLogger: {filename: log.csv}]" --fresh
cut -d, -f1 "$TEST_DIR/run/log.csv" | tr '\n' ' '
(cd "$TEST_DIR/run" && ls -d log*)
# Paths begin in output.dir, so {run_dir} in front changes nothing. What the run itself writes is refused in any form.
printf '\n'
rm -rf "$TEST_DIR/run"
exits 0 fit "$tiny" -q fit.epochs=1 "$set=[CSVLogger: {filename: '{run_dir}/logs/{name}.csv'}, ModelCheckpoint: {filepath: '{run_dir}/{name}-{epoch:02d}-{epoch}'}]"
(cd "$TEST_DIR/run" && for file in logs/* tiny* run; do [ -e "$file" ] && echo "$file"; done)
show validate "$tiny" "$set=[CSVLogger: {filename: '{run_dir}/history.jsonl'}, CSVLogger: {filename: .//ckpt/x}, ModelCheckpoint: {filepath: '{run_dir}'}]"
