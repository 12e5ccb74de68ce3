#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a compiler for GPUs makes of training steps, without a GPU: how many kernels there are, which is
# what small models wait for, and no loop where one is not worth its launches. CUDA_PJRT_PLUGIN names the
# plug-in. Bounds are 1.1 times what jax-cuda13-pjrt 0.11.2 gives, where no other reason is named.
[ -f "${CUDA_PJRT_PLUGIN:-}" ] || { echo "no CUDA plug-in: CUDA_PJRT_PLUGIN names none"; exit 77; }
cd "$TEST_DIR" || exit 1
loss='loss: {SparseCategoricalCrossentropy: {from_logits: true}}'
job() {
    { printf 'version: 1\nname: %s\nseed: 7\n' "$1"; cat; printf 'fit: {epochs: 1}\n'; } >"$1.yaml"
}
pictures() { # BATCH SHAPE
    printf 'dataset:\n  format: synthetic\n  examples: 1024\n  global_batch_size: %s\n' "$1"
    printf '  element: {image: {shape: %s}, label: {num_classes: 10}}\n' "$2"
}
{ pictures 64 '[784]'; cat <<EOF; } | job dense
model:
  layers:
    - Input: {name: image, shape: [784]}
    - Dense: {units: 128, activation: relu}
    - Dense: {units: 10}
compile: {optimizer: Adam, $loss}
EOF
{ pictures 128 '[28, 28, 1]'; cat <<EOF; } | job cnn
model:
  layers:
    - Input: {name: image, shape: [28, 28, 1]}
    - Conv2D: {filters: 32, kernel_size: 3, activation: relu}
    - Conv2D: {filters: 64, kernel_size: 3, activation: relu}
    - MaxPooling2D
    - Dropout: {rate: 0.25}
    - Flatten
    - Dense: {units: 128, activation: relu}
    - Dense: {units: 10}
compile: {optimizer: Adam, $loss}
EOF
yes 'To be or not to be, that is the question: whether it is nobler' | head -n 2000 >play.txt
gpt() { # NAME LENGTH WIDTH BLOCKS HEADS BATCH
    job "$1" <<EOF
dataset:
  format: text
  train: play.txt
  tokenizer: {type: char}
  element: {tokens: {shape: [$2], dtype: int32}}
  global_batch_size: $6
  last_batch: drop_remainder
model:
  layers:
    - Input: {name: tokens, shape: [$2], dtype: int32}
    - TokenAndPositionEmbedding:
        {name: embed, vocabulary_size: 65, sequence_length: $2, embedding_dim: $3}
    - Repeat:
        for: {i: $4}
        layers:
          - TransformerDecoder:
              name: "decoder_{i}"
              intermediate_dim: $(($3 * 4))
              num_heads: $5
              activation: gelu
              normalize_first: true
    - LayerNormalization: {name: final_norm}
    - Tied: {name: logits, to: embed/token_embedding}
compile: {optimizer: {AdamW: {learning_rate: 0.001}}, precision: mixed_bfloat16, $loss}
EOF
}
gpt gpt 64 128 12 4 12
# NAME KERNELS TURNS: not more of either.
bound() {
    "$DTRAIN" plan "$1.yaml" --check-with-cuda "$CUDA_PJRT_PLUGIN" --target h100 --json \
        >"$1.json" ||
        { echo "$1: exit $?"; return; }
    kernels=$(sed -n 's/.*"kernels": \([0-9]*\).*/\1/p' "$1.json")
    turns=$(sed -n 's/.*"loop_turns": \([0-9]*\).*/\1/p' "$1.json")
    [ "${kernels:-0}" -gt 0 ] && [ "$kernels" -le "$2" ] && [ "${turns:-99999}" -le "$3" ] ||
        echo "$1: $kernels kernels, $turns turns; at most $2 and $3"
    echo "$1: $kernels kernels, $turns turns" >&2
}
gpt large 1024 768 12 12 8
bound dense 20 0
bound cnn 54 0
bound gpt 1012 0
bound large 1047 0 # 1.2 times what a step of JAX's has
