#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slices of thousands of cores with small models: a network for digits on 2,048 replicas, a language model on 32 replicas of two chips each. The weights are
# those of the same batches on one replica, also where the last batch leaves most replicas without a row.
. tests/cli/setup.sh
. tests/cli/jobs.sh

# ends WORDS...: what ran, and in the file `hash` the weights that it ended with.
ends() {
    hash "$@" --fresh output.dir="$TEST_DIR/run" checkpoint= >"$TEST_DIR/hash"
    sed -n 's/.*"event":"start".*"device":"\([^"]*\)","replicas":\([0-9]*\),"logical_devices":\([0-9]*\).*/\1: \2 x \3/p' "$TEST_DIR/hash.out"
}
equal() {
    grep -qx '[0-9a-f]\{64\}' "$TEST_DIR/hash" || echo "no hash"
    [ -f "$TEST_DIR/first" ] || cp "$TEST_DIR/hash" "$TEST_DIR/first"
    cmp "$TEST_DIR/first" "$TEST_DIR/hash" && echo "the same weights"
}

# on SLICE BLOCK REPLICAS
on() {
    echo "strategy={type: tpu, cluster_resolver: {tpu: sim:$1}, device_assignment: {computation_shape: $2, num_replicas: $3}}"
}

digits() {
    ends configs/quickstart.yaml 'dataset={format: synthetic, examples: 2060, element: {image: {shape: [28, 28]}, label: {num_classes: 10}},
        shuffle: true, global_batch_size: 2048}' model.layers.2.Dense.units=16 fit.epochs=1 "$@"
    equal
}
rm -f "$TEST_DIR/first"
echo "== digits"
digits "$(on v3-2048 '[1, 1, 1, 1]' 1)"
digits "$(on v3-2048 '[1, 1, 1, 1]' 2048)"
rm "$TEST_DIR/first"

# Letters that follow each other by a rule, with 10 kinds of them.
awk 'BEGIN { for (i = 0; i < 1400; i++) { x = (7 * x + i) % 101; printf "%c", 97 + x % 10 } }' >"$TEST_DIR/letters"
text() {
    ends configs/char-gpt.yaml "$@" "dataset.train=$TEST_DIR/letters" 'dataset.element.tokens.shape=[8]' 'model.layers.0.Input.shape=[8]' \
        'model.layers.1.TokenAndPositionEmbedding={name: embed, vocabulary_size: 10, sequence_length: 8, embedding_dim: 16}' \
        'model.layers.2.Repeat.for={i: [0, 1]}' model.layers.2.Repeat.layers.0.TransformerDecoder.intermediate_dim=32 \
        model.layers.2.Repeat.layers.0.TransformerDecoder.num_heads=2 fit.steps=3 fit.callbacks= fit.validation_steps=1
    equal
}
echo "== text"
text "$(on v4-8 '[1, 1, 1, 1]' 1)" partition=
text "$(on v4-128 '[1, 1, 2, 1]' 32)"
