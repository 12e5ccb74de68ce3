#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Recurrent layers on XLA: loops over time steps give the losses of the CPU, masked steps and both
# directions included, and the programs that come after the first, such as evaluation's, are loops,
# too, although variables have their layouts by then.
. tests/cli/setup.sh
. tests/cli/jobs.sh
. tests/cli/pjrt.inc
needs_xla
job() { # NAME LAYERS
    cat >"$TEST_DIR/$1.yaml" <<END
version: 1
seed: 3
dataset:
  format: synthetic
  examples: 40
  element: {words: {shape: [24], num_classes: 4}, label: {num_classes: 3}}
  global_batch_size: 16
  validation_split: 0.2
model:
  layers: [Input: {name: words, shape: [24], dtype: int32}, Embedding: {input_dim: 4, output_dim: 5, mask_zero: $2}, $3, Dense: {name: out, units: 3}]
compile: {optimizer: {Adam: {learning_rate: 0.01}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 2}
END
    trains "$1" "$TEST_DIR/$1.yaml" --quiet
    same_history "$TEST_DIR/$1-cpu" "$TEST_DIR/$1-pjrt" 1e-5
}
job masked true 'Bidirectional: {layer: {LSTM: {units: 5, return_sequences: true}}}, Bidirectional: {layer: {GRU: {units: 4}}}'
job plain false 'GRU: {units: 5, return_sequences: true, reset_after: false}, SimpleRNN: {units: 4, go_backwards: true}'
"$DTRAIN" lower "$TEST_DIR/plain.yaml" --stage executable --backend pjrt --plugin "$DTRAIN_PJRT_PLUGIN" >"$TEST_DIR/text"
grep -c stablehlo.while "$TEST_DIR/text"
