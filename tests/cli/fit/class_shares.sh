#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Classes whose shares differ between training and the part that is evaluated, beyond chance, are a warning of fit and of evaluate.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
awk 'BEGIN { print "x,k"; for (i = 0; i < 100; i++) print i % 7 "," (i < 40 ? "a" : i < 75 ? "b" : "c") }' >sorted.csv
awk 'BEGIN { print "x,k"; for (i = 0; i < 100; i++) { j = i * 37 % 100; print i % 7 "," (j < 40 ? "a" : j < 75 ? "b" : "c") } }' >mixed.csv
cat >job.yaml <<'END'
version: 1
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset: {format: csv, train: sorted.csv, validation_split: 0.3, element: {x: {columns: [x]}, k: {column: k, vocabulary: [a, b, c]}}, global_batch_size: 10}
model: {layers: [Input: {name: x, shape: [1]}, Dense: {units: 3}]}
compile: {optimizer: sgd, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {epochs: 1}
output: {dir: run}
END
doubts() {
    echo "$*:"
    "$DTRAIN" "$@" -q 2>&1 >out | sed 's/^dtrain: warning:/   /'
}
doubts fit job.yaml
doubts evaluate job.yaml
doubts fit job.yaml -n --fresh dataset.validation_split=0.25
doubts fit job.yaml -n --fresh dataset.train=mixed.csv
doubts fit job.yaml -n --fresh 'dataset.map={k: [one_hot: 3]}' 'compile.loss={CategoricalCrossentropy: {from_logits: true}}'
doubts evaluate job.yaml --split train
"$DTRAIN" fit job.yaml -n --fresh --json 2>err | grep -c '"warning"'
echo "== two classes of one unit; numbers that are no classes"
awk -F, -v OFS=, 'NR > 1 { $2 = $2 == "c" } 1' sorted.csv >two.csv
doubts fit job.yaml -n --fresh dataset.train=two.csv 'dataset.element.k={column: k, vocabulary: null}' 'model.layers=[{Input: {name: x, shape: [1]}}, {Dense: {units: 1, activation: sigmoid}}]' \
    compile.loss=binary_crossentropy
doubts fit job.yaml -n --fresh dataset.train=two.csv 'dataset.element.k={column: k, vocabulary: null}' 'model.layers=[{Input: {name: x, shape: [1]}}, {Dense: {units: 1}}]' compile.loss=mse
echo "== chance: many rare classes, a validation part of few, splits at random"
awk 'BEGIN { srand(3); print "x,k"; for (i = 0; i < 400; i++) print i % 7 "," int(rand() * 100) }' >rare.csv
for split in 0.05 0.1 0.3 0.5; do
    doubts fit job.yaml -n --fresh dataset.train=rare.csv "dataset.validation_split=$split" 'dataset.element.k={column: k, dtype: int32, vocabulary: null}' \
        'model.layers=[{Input: {name: x, shape: [1]}}, {Dense: {units: 100}}]'
done
warned=0
for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    awk -v seed=$seed 'BEGIN { srand(seed); print "x,k"; for (i = 0; i < 200; i++) print i % 7 "," (rand() < 0.8 ? "a" : rand() < 0.7 ? "b" : "c") }' >drawn.csv
    "$DTRAIN" fit job.yaml -n --fresh -q dataset.train=drawn.csv dataset.validation_split=0.2 2>&1 | grep -q 'classes of' && warned=$((warned + 1))
done
echo "$warned of 20 random splits"
echo "== a class in a hundred becomes one in ten"
awk 'BEGIN { print "x,k"; for (i = 0; i < 2000; i++) print i % 7 "," (i < 1500 ? (i % 100 ? "a" : "b") : (i % 10 ? "a" : "b")) }' >drift.csv
doubts fit job.yaml -n --fresh dataset.train=drift.csv dataset.validation_split=0.25
echo "== test data"
doubts evaluate job.yaml dataset.validation_split=null dataset.train=mixed.csv dataset.validation=mixed.csv dataset.test=sorted.csv --split test
(head -n 1 sorted.csv; tail -n 30 sorted.csv) >last.csv
doubts evaluate job.yaml dataset.validation_split=null dataset.train=mixed.csv dataset.test=last.csv --split test
echo "== folds and trials: each warning once"
doubts fit job.yaml --fresh dataset.train=drift.csv dataset.validation_split=null 'dataset.validation_folds={folds: 2, shuffle: false}' output.dir=folds
doubts sweep job.yaml compile.optimizer.SGD.learning_rate=0.1,0.2 dataset.train=drift.csv dataset.validation_split=0.25 output.dir=trials
