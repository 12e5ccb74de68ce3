#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Layers that draw have a counter among their weights, which is no part of what was trained: weights of the same layers without them are taken,
# such as Keras' are, and the other way round. Counters begin at 0 then.
. tests/cli/setup.sh
write_tiny

# job NAME RATE: with a rate of 0 nothing is drawn, and there are no counters
job() {
    cat >"$TEST_DIR/$1.yaml" <<END
extends: tiny.yaml
output: {dir: $1}
model:
  layers:
    - Input: {name: image, shape: [8]}
    - Reshape: {target_shape: [2, 4]}
    - GroupQueryAttention: {head_dim: 2, num_query_heads: 2, num_key_value_heads: 1, dropout: $2, name: attention}
    - GaussianNoise: {stddev: $2}
    - Flatten
    - Dropout: {rate: $2}
    - Dense: {units: 3, name: logits}
END
}
job plain 0
job drawing 0.25
cd "$TEST_DIR" || exit
for name in plain drawing; do
    "$DTRAIN" fit $name.yaml -q || echo "exit $?"
    for form in npz safetensors; do "$DTRAIN" export $name.yaml -o $name.$form -q || echo "exit $?"; done
    "$DTRAIN" evaluate $name.yaml | sed -n 1p >$name.loss
done
"$DTRAIN" ckpt inspect drawing | grep -c 'seed_generator/step'

# taken MODEL WEIGHTS: evaluated alike, whoever of them draws
taken() {
    for from in "$2" "$2.npz" "$2.safetensors"; do
        "$DTRAIN" evaluate "$1.yaml" --ckpt "$from" >out || echo "exit $?"
        sed -n 1p out | cmp - "$2.loss"
        "$DTRAIN" predict "$1.yaml" --ckpt "$from" -o y.npy -q || echo "exit $?"
        "$DTRAIN" export "$1.yaml" --ckpt "$from" -o w.npz -q || echo "exit $?"
        show fit "$1.yaml" model.init_from="$from" output.dir=again --fresh -q
    done
}
taken drawing plain
taken plain drawing

# the rest is asked for as ever
exits 65 evaluate plain.yaml --ckpt drawing model.layers.6.Dense.name=kind
[ "$(grep -c 'error:' err)" = 4 ] || cat err
