#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: data job
# A model for each fold. The model here is the identity, so what it predicts for the validation part of a fold are the numbers of its
# rows: each row is in one fold, folds and classes in them are as large as scikit-learn's, and mean and std are those of the runs' histories.
python=$(scripts/python-tools numpy sklearn) || exit 77
. tests/cli/setup.sh
here=$PWD
cd "$TEST_DIR" || exit 1
awk 'BEGIN { srand(5); print "id,kind"; for (i = 0; i < 103; i++) print i "," substr("aaaaaaabbbc", 1 + int(11 * rand()), 1) }' >rows.csv
cat >job.yaml <<'END'
version: 1
seed: 3
dataset: {format: csv, train: rows.csv, element: {id: {columns: [id]}, kind: {column: kind, vocabulary: [a, b, c]}}, validation_folds: 4, global_batch_size: 16}
model: {layers: [Input: {name: id, shape: [1]}, Dense: {name: out, units: 1, use_bias: false, kernel_initializer: ones}]}
compile: {optimizer: {SGD: {learning_rate: 1.0e-30}}, loss: mse, target: kind, metrics: [mae]}
fit: {epochs: 2}
END
# Another number, so that the largest folds differ by one; with and without a draw and strata.
exits 0 fit job.yaml -q output.dir=runs/4
# folds JOB FOLDS WORD: trains and predicts with each fold.
folds() {
    run=runs/$(echo "$2$3" | tr -dc a-z0-9)
    [ "$2" = 4 ] || exits 0 fit "$1" -q "dataset.validation_folds=$2" "output.dir=$run"
    for fold in 1 2 3 4 5 6 7; do
        [ -d "$run/fold-$fold" ] || continue
        "$DTRAIN" predict "$1" -q "dataset.validation_folds=$2" dataset.fold=$fold "output.dir=$run/fold-$fold" -o "$run/$fold.csv" || exit 1
    done
    "$python" "$here/tests/cli/fit/folds.py" "$run" "$2$3"
}
for given in 4 '{folds: 5, shuffle: false}' '{folds: 7, stratify: kind}' '{folds: 3, shuffle: false, stratify: kind}'; do
    folds job.yaml "$given" ''
done
# A plain number is stratified by a target of classes; a mapping is not, nor is a target whose values mostly differ.
sed 's/units: 1,/units: 3,/; s/mse/SparseCategoricalCrossentropy/; s/mae/accuracy/' job.yaml >classes.yaml
folds classes.yaml 3 ', a classifier'
folds classes.yaml '{folds: 3}' ''
awk -F, 'NR > 1 { $1 /= 200 } { print $1 "," $2 }' rows.csv >shares.csv
sed 's/rows.csv/shares.csv/; s/folds: 4/folds: 2/; s/mse, target: kind/BinaryCrossentropy, target: id/' job.yaml >shares.yaml
exits 0 fit shares.yaml -q output.dir=runs/shares

# What is printed, and what --expect and the result files see: means.
"$DTRAIN" fit job.yaml output.dir=runs/4 --metrics m.json --expect 'val_mae > 1' --expect 'val_mae < 1000' | mask | sed 's|  *| |g'
"$python" -c 'import json; m = json.load(open("m.json")); f = json.load(open("runs/4/folds.json"))["metrics"]; print(m == {k: f[k]["mean"] for k in f})'
exits 80 fit job.yaml output.dir=runs/4 --expect 'val_mae < 1' -q
"$DTRAIN" fit job.yaml output.dir=runs/4 --json | sed 's/[0-9.e+-]*[0-9],*/N/g; s/N\(N\)*/N/g' | cut -c 1-60

# Killed and resumed, the files are those of a run that was left alone; -n writes nothing, --fresh trains again.
sed 's/epochs: 2/epochs: 300/; s/folds: 4/folds: 3/' job.yaml >long.yaml
exits 0 fit long.yaml -n -q output.dir=runs/none
[ -e runs/none ] && echo "a dry run wrote"
exits 0 fit long.yaml -q output.dir=runs/calm
for fold in 1 2; do
    "$DTRAIN" fit long.yaml -q output.dir=runs/killed >out 2>&1 &
    pid=$!
    wait_for '"epoch": 40' runs/killed/fold-$fold/history.jsonl 2>err
    kill -9 $pid
    wait $pid 2>err
done
exits 0 fit long.yaml -q output.dir=runs/killed
cmp runs/calm/folds.json runs/killed/folds.json
for fold in 1 2 3; do cmp runs/calm/fold-$fold/history.jsonl runs/killed/fold-$fold/history.jsonl; done
[ "$(grep -c '"event": "start"' runs/killed/fold-3/record.jsonl)" = 1 ] || echo "fold 3 started more than once"
exits 0 fit long.yaml -q output.dir=runs/killed --fresh
[ "$(grep -c '"event": "start"' runs/killed/fold-3/record.jsonl)" = 2 ] || echo "--fresh trained nothing"
cmp runs/calm/folds.json runs/killed/folds.json

# A signal lets the fold save and stop.
"$DTRAIN" fit long.yaml output.dir=runs/stopped >out 2>err &
pid=$!
wait_for '"epoch": 40' runs/stopped/fold-2/history.jsonl 2>out
kill -TERM $pid
ended $pid
echo "exit $?"
sed 's|^[12] of|N of|' err
exits 75 fit long.yaml -q output.dir=runs/timed fit.epochs=100000 --time 1s
exits 0 fit long.yaml -q output.dir=runs/stopped
cmp runs/calm/folds.json runs/stopped/folds.json

# Other verbs want one fold.
show evaluate job.yaml output.dir=runs/4
exits 0 evaluate job.yaml dataset.fold=3 output.dir=runs/4/fold-3 -q
exits 64 fit job.yaml --steps 3
exits 64 fit job.yaml --resume runs/4/fold-1
exits 78 fit job.yaml dataset.fold=5
exits 78 fit job.yaml dataset.validation_split=0.2
exits 78 sweep job.yaml seed=1,2
exits 79 fit job.yaml -q output.dir=runs/wild compile.optimizer.SGD.learning_rate=1e30
