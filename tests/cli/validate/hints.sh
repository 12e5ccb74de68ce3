#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Keys that people write first, and the hints that say what to write instead.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit
printf 'age,plan,stays\n1,2,0\n3,4,1\n5,6,0\n' >comma.csv
tr , ';' <comma.csv >semicolon.csv
tr , '\t' <comma.csv >tab.csv
sed 1d comma.csv >bare.csv
cat >job.yaml <<'END'
version: 1
dataset:
  format: csv
  train: comma.csv
  element: {x: {columns: [age, plan]}, stays: {column: stays, dtype: int32}}
  global_batch_size: 3
model:
  layers:
    - Input: {name: x, shape: [2]}
    - Dense: {units: 2, activation: softmax}
compile: {optimizer: SGD, loss: sparse_categorical_crossentropy}
fit: {epochs: 1}
END
hint() {
    "$DTRAIN" validate job.yaml "$@" 2>&1
}
hint dataset.train=semicolon.csv
hint dataset.train=semicolon.csv 'dataset.field_delim=;'
hint dataset.train=tab.csv
hint dataset.train=tab.csv 'dataset.field_delim="\t"'
hint dataset.train=bare.csv 'dataset.element.x.columns=[age]'
hint 'dataset.element.x.columns=[age, pla]'
# the place is that of the shape, also where an override wrote it
hint 'model.layers.0.Input.shape=[2, 1]'
hint 'model.layers.0.Input.shape=[3]'
hint model.layers.1.Dense=2
hint compile.metrics=accuracy
hint compile.loss=binary_crossentropy
# two parts of the data meet the same fault
hint dataset.train=none.csv dataset.validation_split=0.5
echo 'a text, not weights' >weights.txt
hint model.init_from=weights.txt
"$DTRAIN" fit job.yaml model.init_from=weights.txt 2>&1
# a run has words in quotes
"$DTRAIN" fit job.yaml -q 2>&1
sed 's/age, plan/plan/; s/shape: \[2\]/shape: [1]/; s/SGD/Adam/' job.yaml >other.yaml
"$DTRAIN" config diff other.yaml runs/job
# Python's words
echo "== as Python has it"
python_has() {
    "$DTRAIN" validate job.yaml "$@" 2>&1 | sed -n 's/.*error: //p; s/^ *| *\^* \(.*\)/    \1/p'
}
python_has compile.metrics=None
python_has compile.metrics=True
python_has 'compile.metrics=(accuracy)'
python_has 'model.layers.0.Input.shape=(2,)'
python_has 'model.layers.0.Input={name: x, shape: (2,)}'
python_has 'model.layers.1.Dense.units=None'
python_has 'model.layers.1.Dense.activation=None'
python_has 'model.layers.1.Dense.kernel_regularizer=None'
python_has 'dataset.global_batch_size=1_000'
python_has 'dataset.global_batch_size=a_b'
python_has 'compile.optimizer={SGD: {learning_rate: 1_0.5}}'
# A warning with a place names its file once.
sed 's/^model:/model:\n  rematerialize: {save: [out_proj]}/' job.yaml >idle.yaml
"$DTRAIN" validate --no-data idle.yaml 2>&1 | sed 's/: no layer of.*//'
