#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Targets for which a loss is not defined are refused, whatever their dtype, in every part; metrics that are not made for them are a warning.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
printf 'a,one,signed,share,count,none,w\n1,1,-1,0,0,-1,1\n2,2,1,0.5,3,0,1\n3,1,-1,1,7,1,1\n4,2,1,0.25,250,-1,0\n5,1,-1,1,1,0,1\n6,2,1,0,2,1,1\n' >t.csv
cat >job.yaml <<'END'
version: 1
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset: {format: csv, train: t.csv, element: {x: {columns: [a]}, y: {column: one}}, global_batch_size: 4}
model: {layers: [Input: {name: x, shape: [1]}, Dense: {units: 1, activation: sigmoid}]}
compile: {optimizer: {SGD: {learning_rate: 0.001}}, loss: binary_crossentropy, target: y}
fit: {epochs: 1}
END
# of COLUMN LOSS WORDS...: the exit code and the first line of the output.
of() {
    column=$1 loss=$2
    shift 2
    "$DTRAIN" fit job.yaml -n -q "dataset.element.y.column=$column" "compile.loss=$loss" "$@" >out 2>&1 && status=0 || status=$?
    echo "$column $loss $*: $status $(grep -v 'expects' out | head -n 1)"
}
sets='dice tversky'
binary='binary_crossentropy BinaryFocalCrossentropy kl_divergence'
for l in $binary $sets; do of one "$l"; done
of one '{BinaryCrossentropy: {from_logits: true, label_smoothing: 0.1}}'
for d in int32 uint8 float64; do of one bce dataset.element.y.dtype=$d; done
for l in hinge squared_hinge; do of one $l; of signed $l; of share $l; done
of signed poisson
of count poisson
for l in $binary $sets; do of share "$l"; done
for l in mse mae huber logcosh mape msle; do of one $l; done
echo "== one-hot vectors"
of one categorical_crossentropy 'model.layers=[{Input: {name: x, shape: [1]}}, {Dense: {units: 2, activation: softmax}}]' \
    dataset.element.y.column=null 'dataset.element.y.columns=[signed, one]'
of one categorical_hinge 'model.layers=[{Input: {name: x, shape: [1]}}, {Dense: {units: 2}}]' dataset.element.y.column=null 'dataset.element.y.columns=[signed, one]'
echo "== examples that do not count may hold anything"
of none bce
sed '2d' t.csv >from-3.csv
of none bce dataset.train=from-3.csv
of none bce dataset.train=from-3.csv 'dataset.element.w={column: w}' compile.sample_weight=w
echo "== every part"
sed '2,$s/,[12],/,1,/' t.csv >fine.csv
of one bce dataset.train=fine.csv dataset.validation=t.csv
of one bce dataset.train=fine.csv dataset.test=t.csv
"$DTRAIN" validate -q job.yaml 2>&1 | head -n 1
echo "== metrics"
for m in accuracy AUC Precision Recall F1Score BinaryIoU BinaryAccuracy poisson hinge mse; do of one mse "compile.metrics=[$m]"; done
of signed mse 'compile.metrics=[poisson, mae]'
of share mse 'compile.metrics=[AUC, Precision, accuracy, poisson, hinge]'
