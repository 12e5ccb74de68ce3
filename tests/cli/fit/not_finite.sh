#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A number in evaluated data that is not finite ends fit and evaluate with 79 and names element, example and file; predict warns of it.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
# npy FILE TYPE SHAPE BYTES
npy() {
    head=$(printf "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" "$2" "$3")
    # shellcheck disable=SC2059 # escapes
    { printf '\223NUMPY\001\000\166\000%-117s\n' "$head" && printf "$4"; } >"$1"
}
one='\0\0\200\077' nan='\0\0\300\177'
npy x.npy '<f4' '(4, 2)' "$one$one$one$one$one$one$one$one"
npy y.npy '<i4' '(4,)' '\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0'
npy bad.npy '<f4' '(4, 2)' "$one$one$one$one$one$nan$one$one"
cat >job.yaml <<'END2'
version: 1
strategy: {type: mirrored, devices: ["CPU:0"]}
dataset:
  format: npy
  train: {x: x.npy, y: y.npy}
  validation: {x: x.npy, y: y.npy}
  test: {x: bad.npy, y: y.npy}
  global_batch_size: 2
model:
  layers:
    - Input: {name: x, shape: [2]}
    - Dense: {name: logits, units: 2}
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {epochs: 1}
output: {dir: run}
END2
show fit job.yaml -q
show evaluate job.yaml --split test
show fit job.yaml -q dataset.validation.x=bad.npy output.dir=other
"$DTRAIN" predict job.yaml --split test 2>err | sed 's/-*[0-9]\.[0-9]*/N/g'
cat err
"$DTRAIN" predict job.yaml --split validation 2>&1 | sed 's/-*[0-9]\.[0-9]*/N/g'
# of a split, the number in the file
show fit job.yaml -q dataset.validation= dataset.test= dataset.validation_split=0.5 dataset.train.x=bad.npy output.dir=split
# a callback that watches it does not hide it
show fit job.yaml -q dataset.validation.x=bad.npy output.dir=auc 'compile.loss=BinaryCrossentropy' 'compile.metrics=[AUC]' model.layers.1.Dense.units=1 model.layers.1.Dense.activation=sigmoid
