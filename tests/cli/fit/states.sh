#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Layers with several outputs: a decoder begins with an encoder's last states, and attention scores are predicted. Weights are the same for any number of
# replicas, in float32 and in mixed precision; wrong names and inputs are errors.
. tests/cli/setup.sh
. tests/cli/jobs.sh
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
dataset: {format: synthetic, examples: 40, element: {question: {shape: [5], num_classes: 9}, answer: {shape: [4, 3]}, y: {num_classes: 3}}, validation_split: 0.2, global_batch_size: 8}
model:
  type: functional
  layers:
    - Input: {name: question, shape: [5], dtype: int32}
    - Embedding: {name: words, input_dim: 9, output_dim: 4, mask_zero: true}
    - LSTM: {name: encoder, units: 6, return_sequences: true, return_state: true}
    - Input: {name: answer, shape: [4, 3]}
    - LSTM: {name: decoder, units: 6, return_sequences: true, inputs: [answer, encoder/state_h, encoder/state_c]}
    - MultiHeadAttention: {name: shares, num_heads: 2, key_dim: 3, inputs: [decoder, encoder], return_attention_scores: true}
    - GlobalAveragePooling1D: {name: mean, inputs: shares}
    - Concatenate: {name: both, inputs: [mean, encoder/state_c]}
    - Dense: {name: y, units: 3}
  outputs: [y, shares/attention_scores]
compile: {optimizer: Adam, loss: {y: {SparseCategoricalCrossentropy: {from_logits: true}}, shares/attention_scores: null}}
fit: {epochs: 2}
END
replicas_agree "$job"
exits 0 fit "$job" output.dir="$TEST_DIR/run" --fresh -q
exits 0 predict "$job" output.dir="$TEST_DIR/run" -o "$TEST_DIR/shares.jsonl" -q
head -n 1 "$TEST_DIR/shares.jsonl" | sed 's/-\{0,1\}[0-9.]\{2,\}\(e-[0-9]*\)\{0,1\}/N/g'
exits 0 fit "$job" model.rematerialize=full output.dir="$TEST_DIR/r" --fresh -q
# refused NUMBER LAYER
refused() { show fit "$job" output.dir="$TEST_DIR/z" "model.layers.$1=$2" model.outputs=y 'compile.loss={MeanSquaredError: {}}' --dry-run -q; }
refused 7 '{Concatenate: {name: both, inputs: [mean, encoder/3]}}'
refused 7 '{Concatenate: {name: both, inputs: [mean, encoder/-4294967295]}}'
refused 7 '{Concatenate: {name: both, inputs: [mean, encoder/state]}}'
refused 7 '{Concatenate: {name: both, inputs: [mean, words/state_h]}}'
refused 7 '{Concatenate: {name: both, inputs: [mean, encode/state_h]}}'
refused 4 '{LSTM: {name: decoder, units: 6, return_sequences: true, inputs: [answer, encoder/state_h]}}'
refused 4 '{LSTM: {name: decoder, units: 5, return_sequences: true, inputs: [answer, encoder/state_h, encoder/state_c]}}'
show fit "$job" output.dir="$TEST_DIR/z" 'model.outputs=[y, y/1]' 'compile.loss={MeanSquaredError: {}}' --dry-run -q
