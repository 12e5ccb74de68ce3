#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Equal blocks stand in StableHLO's text once, however many there are: four times as many add less than a hundredth, and 118 make it at most three times as long as
# one. There is a loop forwards and one backwards; the optimizer's work on stacks of weights needs none.
cd "$TEST_DIR" || exit 1
of() {
    cat >job.yaml <<END
version: 1
name: blocks
seed: 1
strategy: {type: tpu, cluster_resolver: {tpu: sim:v3-8}}
dataset: {format: synthetic, examples: 8, element: {tokens: {shape: [16], dtype: int32}, label: {shape: [16], num_classes: 64}}, global_batch_size: 8}
model:
  type: sequential
  layers:
    - Input: {name: tokens, shape: [16], dtype: int32}
    - TokenAndPositionEmbedding: {name: embed, vocabulary_size: 64, sequence_length: 16, embedding_dim: 128}
    - Repeat:
        for: {i: [$(seq -s ', ' "$1")]}
        layers:
          - TransformerDecoder: {name: "decoder_{i}", intermediate_dim: 256, num_heads: 2, normalize_first: true}
    - Tied: {name: logits, to: embed/token_embedding}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
    "$DTRAIN" lower job.yaml --stage stablehlo >text || exit 1
    wc -c <text
}
one=$(of 1) most=$(of 118)
[ "$most" -le $((one * 3)) ] || echo "$one bytes became $most"
grep -c stablehlo.while text
few=$(of 24) many=$(of 96)
[ $((many * 100)) -lt $((few * 101)) ] && echo "as long" || echo "$few bytes became $many"
