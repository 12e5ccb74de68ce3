#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Values of environment variables that paths use are in no file of a run, after errors, too. The run resumes with another value.
# shellcheck disable=SC2016 # variables for dtrain, not for the shell
. tests/cli/setup.sh
. tests/cli/jobs.sh
write_tiny
secret=hunter2-s3cret
export SECRET="$secret" DATA_SECRET="$TEST_DIR/$secret" SHORT=q
cd "$TEST_DIR" || exit 1
mkdir "$secret"
awk 'BEGIN { OFS = ","; print "a,b,y"; for (i = 0; i < 40; i++) print i / 40, i % 3, i % 2 }' >"$secret/t.csv"
printf '0\n1\n' >"$secret/words.txt"
cat >job.yaml <<'END'
version: 1
let: {place: "${DATA_SECRET}"}
dataset:
  format: csv
  train: "{place}/t.csv"
  validation: ["${DATA_SECRET}/t.csv"]
  element: {x: {columns: [a, b]}, y: {column: y, dtype: int32}}
  global_batch_size: 8
model:
  type: sequential
  layers:
    - Input: {name: x, shape: [2]}
    - Dense: {units: 2, name: logits}
compile:
  optimizer: {SGD: {learning_rate: 0.1}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
fit: {epochs: 2, callbacks: [CSVLogger: {filename: log.csv}, ModelCheckpoint: {filepath: best, save_best_only: true}]}
output: {dir: "runs/${SECRET}/${SHORT}/{name}", tensorboard: true, report: html}
END
# leaks DIRECTORY: files in it that hold the value, packed ones too.
leaks() {
    find "$1" -type f | while read -r file; do
        if { cat "$file"; gzip -dc "$file" 2>/dev/null; } | grep -qa "$secret"; then echo "$file holds it" | sed "s/$secret/SECRET/g"; fi
    done
}
run=runs/$secret/q/job
exits 0 fit job.yaml
leaks "$run"
has "$run/record.jsonl" '${SECRET}/${SHORT}/job/ckpt'
has "$run/report.html" 'runs/${SECRET}/${SHORT}/job'
has "$run/ckpt/step-00000010/state.json" '${DATA_SECRET}/t.csv'
grep -q 'ckpt/step-00000010' "$run/record.jsonl" || echo 'no checkpoint in the record'
# an error, a warning, weights from somewhere, a fallback to an older checkpoint, report again
exits 0 fit job.yaml --fresh 'model.init_from=runs/${SECRET}/q/job'
leaks "$run"
exits 0 fit job.yaml --fresh
echo damaged >"$run/ckpt/step-00000010/model.safetensors"
exits 0 fit job.yaml fit.epochs=3
echo 'a,b,y' >"$secret/bad.csv" && echo '1,x,0' >>"$secret/bad.csv"
exits 65 fit job.yaml fit.epochs=4 'dataset.validation=${DATA_SECRET}/bad.csv'
exits 0 report "$run"
leaks "$run"
"$DTRAIN" config show job.yaml --origin | grep -q "$secret" && echo 'config show says it'
"$DTRAIN" config diff job.yaml "$run"
# elsewhere, with another value
mv "$secret" moved && mv "runs/$secret" runs/moved
SECRET=moved DATA_SECRET="$TEST_DIR/moved" "$DTRAIN" fit job.yaml fit.epochs=4 >out 2>err || { echo "exit $?"; cat err; }
grep -o 'resumed *runs/moved/q/job/ckpt/step-[0-9]*' out
# not in other texts
show fit job.yaml 'name=${SECRET}'
show fit job.yaml 'fit.epochs=${UNSET:-3}'
show fit job.yaml 'model.layers.1.Dense.name="{run_dir}"'
