#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The time steps of recurrent layers are loops in StableHLO, forwards and backwards: the text of
# 1,000 steps of an LSTM, and of 150 of others, has as many lines as that of 10, and at most a
# hundredth more bytes (longer numbers).
. tests/cli/setup.sh
text() { # STEPS LAYERS
    cat >"$TEST_DIR/job.yaml" <<END
version: 1
dataset:
  format: synthetic
  examples: 16
  element: {series: {shape: [$1, 4]}, label: {num_classes: 3}}
  global_batch_size: 8
model:
  type: sequential
  layers: [Input: {name: series, shape: [$1, 4]}, $2, Dense: {name: out, units: 3}]
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
    "$DTRAIN" lower "$TEST_DIR/job.yaml" --stage stablehlo-gradient >"$TEST_DIR/$1.text"
}
compare() { # STEPS LAYERS
    text 10 "$2"
    text "$1" "$2"
    few=$(wc -l <"$TEST_DIR/10.text") many=$(wc -l <"$TEST_DIR/$1.text")
    [ "$few" -gt 100 ] && [ "$few" -eq "$many" ] || echo "$2: $few lines of 10 steps, $many of $1"
    few=$(wc -c <"$TEST_DIR/10.text") many=$(wc -c <"$TEST_DIR/$1.text")
    [ $((many * 100)) -lt $((few * 101)) ] || echo "$2: $few bytes of 10 steps, $many of $1"
}
compare 1000 "LSTM: {units: 6}"
for layer in LSTM GRU SimpleRNN; do
    compare 150 "$layer: {units: 6}"
    compare 150 "Masking: {}, $layer: {units: 6}"
    compare 150 "Bidirectional: {layer: {$layer: {units: 6}}}"
done
compare 150 'LSTM: {units: 6, return_sequences: true, go_backwards: true}, GRU: {units: 5, reset_after: false}'
compare 150 'GRU: {units: 6, dropout: 0.1, recurrent_dropout: 0.2}'
compare 150 'Masking: {}, Bidirectional: {layer: {GRU: {units: 6, return_sequences: true}}}, Bidirectional: {layer: {LSTM: {units: 6}}}'
compare 150 'LSTM: {units: 6, return_sequences: true}, LayerNormalization: {}, GlobalAveragePooling1D: {}'

# Joined by position, but not computed one after the other: no loop.
text 10 'Flatten: {}, Dense: {units: 6}'
grep -c while "$TEST_DIR/10.text" || true
