#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The time steps of recurrent layers are loops in StableHLO, forwards and backwards: a further step
# is a few lines, which take it out of its sequence and put it into the sequence's gradient.
. tests/cli/setup.sh
lines() { # LAYER STEPS
    cat >"$TEST_DIR/$1.yaml" <<END
version: 1
dataset:
  format: synthetic
  examples: 64
  element: {series: {shape: [$2, 8]}, label: {num_classes: 3}}
  global_batch_size: 32
model:
  type: sequential
  layers: [Input: {name: series, shape: [$2, 8]}, $1: {units: 16}, Dense: {units: 3}]
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
    "$DTRAIN" lower "$TEST_DIR/$1.yaml" --stage stablehlo-gradient | wc -l
}
for layer in LSTM GRU SimpleRNN; do
    few=$(lines $layer 40) more=$(lines $layer 100)
    [ "$few" -gt 100 ] || echo "$layer: $few lines"
    [ $(((more - few) / 60)) -lt 16 ] || echo "$layer: $few lines of 40 steps, $more of 100"
done
