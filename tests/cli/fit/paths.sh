#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Paths that are not on this machine are refused before anything is written, with what to do; ~/ is the home directory, also in records.
# shellcheck disable=SC2016,SC2088 # no shell is to expand them
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
cat >job.yaml <<'END'
version: 1
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset: {format: synthetic, examples: 32, element: {x: {shape: [4]}, label: {num_classes: 3}}, global_batch_size: 16}
model: {layers: [Input: {name: x, shape: [4]}, Dense: {units: 3}]}
compile: {optimizer: sgd, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
cp job.yaml before
run() {
    printf '== %s\n' "$*"
    "$DTRAIN" "$@" 2>&1
    echo "exit $?"
}
for dir in s3://bucket/run gs://b hdfs://host:8020/x https://host/x dbfs:/mnt/x me@host:run file:///run 'C:\run' C:/run \
    '$HOME/run' 'runs/$NAME/x' '"%TEMP%/x"' '$(date)' '"`date`"' '~nobody/run'; do
    run fit job.yaml -q "output.dir=$dir"
done
run validate job.yaml output.dir=s3://bucket/run
run fit job.yaml -q let.where=s3://bucket 'output.dir="{where}/run"'
run fit job.yaml -q output.dir=run model.init_from=hf://model
run fit job.yaml -q output.dir=run checkpoint.resume=s3://bucket/run
run fit job.yaml -q output.dir=run 'fit.callbacks=[CSVLogger: {filename: "s3://b/log.csv"}]'
run fit job.yaml -q output.dir=run dataset.format=csv 'dataset.train=[a.csv, "s3://b/x.csv"]'
run fit job.yaml -q -C s3://bucket output.dir=run
run fit s3://bucket/job.yaml
run ckpt ls s3://bucket/run
run data inspect '~/x.csv'
run data synth digits -o s3://bucket
ls
# one error for one path
run fit job.yaml -n 'backend={type: pjrt, plugin: "s3://b/plugin.so"}'
run validate job.yaml 'backend={type: pjrt, plugin: "$HOME/plugin.so"}'
DTRAIN_LOG_FILE=s3://b/log run fit job.yaml -q
# Every option of every verb whose value is a file or a folder, before anything else is looked at.
"$DTRAIN" help | awk -F '  +' '/^(Train|Check|Inspect|Other) / || /^           [a-z]/ { for (i = 2; i <= NF; i++) print $i }' >verbs
while read -r verb; do
    # shellcheck disable=SC2086 # words of a verb
    set -- $verb
    "$DTRAIN" help "$@" | sed -n 's/^.*\(--[a-z-]*\) [A-Z|]*\(PATH\|FILE\|DIR\).*/\1/p' >options
    while read -r option; do
        echo "$verb $option" >>tried
        "$DTRAIN" "$@" "$option" s3://b/x >out 2>&1 </dev/null && status=0 || status=$?
        if [ "$status" != 78 ] || ! grep -q 's3://b/x: not a path on this machine.*DT129' out; then echo "$verb $option: $status" && cat out; fi
    done <options
done <verbs
for option in 'fit --log-file' 'fit --directory' 'fit --resume' 'evaluate --ckpt' 'predict --input' 'devices --plugin' 'ckpt convert --output' \
    'plan --check-with-cuda'; do
    grep -qxe "$option" tried || echo "not tried: $option"
done
rm verbs options tried out
# Names that only look strange.
run fit job.yaml -q 'output.dir="a$b/50%/c:d"'
[ -d 'a$b/50%/c:d/ckpt' ] || echo "no run in a\$b"
mkdir home
HOME=$PWD/home run fit job.yaml -q 'output.dir=~/run'
[ -d home/run/ckpt ] || echo "no run at home"
HOME=$PWD/home "$DTRAIN" config show job.yaml 'output.dir=~/run' | grep dir
grep -l "$PWD/home" home/run/*.jsonl
exit 0
