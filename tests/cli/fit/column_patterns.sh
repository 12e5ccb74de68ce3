#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Columns by patterns keep the order of the file that trained the weights: in another part, in the
# same part of another order, in rows to predict; and a run with them is not resumed in another order.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
awk 'BEGIN { print "a,b,c,y"; for (i = 0; i < 40; i++) print i % 2 "," i % 5 "," i % 7 "," i % 2 - 2 * (i % 5) + 3 * (i % 7) }' >sorted.csv
awk -F, '{ print $4 "," $3 "," NR "," $1 "," $2 }' sorted.csv | sed '1s/,1,/,id,/' >turned.csv
cp sorted.csv train.csv
cat >job.yaml <<'END'
version: 1
name: patterns
dataset:
  format: csv
  train: train.csv
  test: turned.csv
  element: {x: {columns: ["[a-c]"]}, y: {columns: [y]}}
  global_batch_size: 10
model: {layers: [Input: {name: x, shape: [3]}, Dense: {units: 1}]}
compile: {optimizer: {Adam: {learning_rate: 0.1}}, loss: mse}
fit: {epochs: 2}
END
"$DTRAIN" fit job.yaml -q
loss() { "$DTRAIN" evaluate job.yaml --json "$@" | sed 's/.*"loss": *\([0-9.]*\).*/\1/' | head -1; }
loss --split train >loss-1
loss --split test >loss-2
cp turned.csv train.csv
loss --split train >loss-3
loss --input turned.csv >loss-4
for i in 2 3 4; do cmp loss-1 "loss-$i"; done
for i in sorted turned; do "$DTRAIN" predict job.yaml --input $i.csv >$i.txt; done
cmp sorted.txt turned.txt
# A file of weights has no columns: those of the training data are taken.
cp run*/patterns/ckpt/step-*8/model.safetensors weights.safetensors
cp sorted.csv train.csv
loss --ckpt weights.safetensors --input turned.csv >loss-5
cmp loss-1 loss-5
"$DTRAIN" predict job.yaml --ckpt weights.safetensors --input turned.csv | cmp sorted.txt
cp turned.csv train.csv
show fit job.yaml -q fit.epochs=3
cp sorted.csv train.csv
show fit job.yaml -q fit.epochs=3
