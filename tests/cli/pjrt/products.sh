#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Products of one value with several kernels are one in XLA's programs: queries, keys and values of
# attention, with equal and with grouped heads, in a loop over blocks, too; gate and up of a gated layer.
# Written one by one, these steps have 21, 21, 43 and 12 products. They train to the losses of the CPU.
. tests/cli/setup.sh
. tests/cli/jobs.sh
. tests/cli/pjrt.inc
needs_xla
job() { # NAME LAYERS
    cat >"$TEST_DIR/$1.yaml" <<END_OF_JOB
version: 1
seed: 3
dataset:
  format: synthetic
  examples: 64
  element: {tokens: {shape: [12], num_classes: 16}, label: {num_classes: 3}}
  global_batch_size: 16
  validation_split: 0.25
model:
  type: functional
  layers:
    - Input: {name: tokens, shape: [12], dtype: int32}
    - TokenAndPositionEmbedding: {name: embed, vocabulary_size: 16, sequence_length: 12, embedding_dim: 8}
$2
    - GlobalAveragePooling1D
    - Dense: {name: out, units: 3}
compile: {optimizer: {Adam: {learning_rate: 0.01}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 2}
END_OF_JOB
    trains "$1" "$TEST_DIR/$1.yaml" --quiet
    same_history "$TEST_DIR/$1-cpu" "$TEST_DIR/$1-pjrt" 1e-5
    "$DTRAIN" lower "$TEST_DIR/$1.yaml" --stage executable --backend pjrt --plugin "$DTRAIN_PJRT_PLUGIN" >"$TEST_DIR/text"
    echo "$1: $(grep -c stablehlo.dot_general "$TEST_DIR/text") products"
}
job heads '    - MultiHeadAttention: {num_heads: 2, key_dim: 4, value_dim: 3, use_causal_mask: true}'
job groups '    - GroupQueryAttention: {num_query_heads: 4, num_key_value_heads: 2, head_dim: 4}'
job blocks '    - Repeat: {for: {i: [0, 1, 2, 3, 4, 5, 6, 7, 8]}, layers: [TransformerDecoder: {name: "block_{i}", intermediate_dim: 16, num_heads: 2}]}'
job gated '    - Dense: {name: gate, units: 12, activation: silu, inputs: embed}
    - Dense: {name: up, units: 12, inputs: embed}
    - Multiply: {inputs: [gate, up]}
    - Dense: {units: 8}'
