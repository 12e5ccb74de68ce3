#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: job train report
# Every number that evaluate explains is scikit-learn's for the same outputs: three, two (sigmoid, softmax of two, logits) and 40 classes, and values;
# the same with workers, replicas and other batches.
. tests/cli/setup.sh
. tests/cli/jobs.sh
if sanitized; then echo "the numbers are those of the plain build; other cases run this code under sanitizers" && exit 77; fi
python=$(scripts/python-tools numpy sklearn) || exit 77
here=$PWD
cd "$TEST_DIR" || exit 1
awk 'BEGIN { srand(3); print "a,b,two,three,many,value"
    for (i = 0; i < 300; i++) { a = rand(); b = rand()
        print a "," b "," (a + rand() > 1) "," int(3 * (0.7 * a + 0.3 * rand())) "," int(40 * (0.8 * b + 0.2 * rand())) "," 3 * a - b + rand() / 4 } }' >all.csv
job() { # name target dtype last-layer loss
    cat >"$1.yaml" <<END
version: 1
seed: 3
dataset: {format: csv, train: all.csv, element: {x: {columns: [a, b]}, y: {column: $2, dtype: $3}}, validation_split: 0.5, global_batch_size: 16}
model: {layers: [Input: {name: x, shape: [2]}, Dense: {units: 16, activation: relu}, Dense: {name: out, $4}]}
compile: {optimizer: Adam, loss: $5}
fit: {epochs: 6}
END
    tail -n 150 all.csv | awk -F, -v c="$(sed -n '1s/,/\n/gp' all.csv | grep -nx "$2" | cut -d: -f1)" '{ print $c }' >"$1.txt"
}
job three three int32 'units: 3, activation: softmax' sparse_categorical_crossentropy
job many many int32 'units: 40, activation: softmax' sparse_categorical_crossentropy
job sigmoid two int32 'units: 1, activation: sigmoid' binary_crossentropy
job pair two int32 'units: 2, activation: softmax' sparse_categorical_crossentropy
job value value float32 'units: 1' mse
for name in three many sigmoid pair value; do
    "$DTRAIN" fit $name.yaml -q || exit 1
    "$DTRAIN" predict $name.yaml -o $name.npz -q || exit 1
    for score in f1 balanced_accuracy mcc; do
        "$DTRAIN" evaluate $name.yaml --json --threshold-for $score >$name.$score.jsonl || exit 1
        echo "$name $score: $("$python" "$here/tests/cli/evaluate/scikit_learn.py" $name.$score.jsonl $name.npz $name.txt)"
    done
    for other in 'strategy={type: mirrored, replicas: 4}' 'strategy={type: multi_worker_mirrored}' dataset.global_batch_size=7; do
        workers=$(case $other in *multi*) echo '--workers 3' ;; esac)
        # shellcheck disable=SC2086 # two words
        "$DTRAIN" evaluate $name.yaml --json "$other" $workers --ckpt runs/$name --threshold-for mcc 2>err | sed -n '/"explained"/p' >other.jsonl
        sed -n '/"explained"/p' $name.mcc.jsonl | cmp - other.jsonl || cat err
    done
done
