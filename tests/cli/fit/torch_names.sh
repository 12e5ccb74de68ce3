#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# init_from with names: torch: weights that PyTorch trained give PyTorch's predictions, and go back by export --names torch.
. tests/cli/setup.sh
python=$(scripts/python-tools numpy safetensors torch) || exit 77
cd "$TEST_DIR" || exit 1
models=$OLDPWD/tests/cli/fit/torch_models.py
"$python" "$models" make . || exit 1
head() {
    printf 'version: 1\nname: %s\nseed: 1\nstrategy: {type: default}\noutput: {dir: %s}\nfit: {epochs: 1}\n' "$1" "$1"
    echo "compile: {optimizer: {SGD: {learning_rate: 1.0e-30}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}"
    echo "dataset: {format: npy, train: {x: $1.x.npy, label: $1.y.npy}, global_batch_size: 16}"
}
{
    head pictures
    cat <<'END'
model:
  type: functional
  init_from: {path: pictures.safetensors, names: torch, freeze: ['bn1$', flat_bn]}
  layers:
    - Input: {name: x, shape: [5, 6, 3]}
    - Conv2D: {name: stem, filters: 6, kernel_size: 3, padding: same, inputs: x}
    - Conv2D: {name: layer1.0.conv1, filters: 6, kernel_size: 3, padding: same, use_bias: false, inputs: stem}
    - BatchNormalization: {name: layer1.0.bn1, epsilon: 1.0e-5, inputs: layer1.0.conv1}
    - ReLU: {name: r1, inputs: layer1.0.bn1}
    - DepthwiseConv2D: {name: layer1.0.conv2, kernel_size: 3, padding: same, inputs: r1}
    - GroupNormalization: {name: layer1.0.bn2, groups: 2, epsilon: 1.0e-5, inputs: layer1.0.conv2}
    - Add: {name: sum, inputs: [stem, layer1.0.bn2]}
    - ReLU: {name: r2, inputs: sum}
    - Conv2DTranspose: {name: up, filters: 4, kernel_size: 2, strides: 2, inputs: r2}
    - PReLU: {name: act, shared_axes: [1, 2], inputs: up}
    - Flatten: {name: flat, inputs: act}
    - BatchNormalization: {name: flat_bn, epsilon: 1.0e-5, inputs: flat}
    - PReLU: {name: flat_act, inputs: flat_bn}
    - Dropout: {name: drop, rate: 0.5, inputs: flat_act}
    - Dense: {name: fc, units: 7, inputs: drop}
END
} >pictures.yaml
{
    head words
    cat <<'END'
model:
  type: functional
  init_from: {path: words.safetensors, names: torch, map: {'^encoder\.(.*)': 'enc/\1'}}
  layers:
    - Input: {name: x, shape: [9], dtype: int32}
    - Embedding: {name: enc.embed, input_dim: 20, output_dim: 8, inputs: x}
    - LSTM: {name: enc.lstm, units: 6, return_sequences: true, inputs: enc.embed}
    - GRU: {name: enc.gru, units: 8, return_sequences: true, inputs: enc.lstm}
    - MultiHeadAttention: {name: enc.attn, num_heads: 2, key_dim: 4, inputs: enc.gru}
    - Add: {name: sum, inputs: [enc.gru, enc.attn]}
    - LayerNormalization: {name: enc.norm, epsilon: 1.0e-5, inputs: sum}
    - Conv1D: {name: enc.conv, filters: 5, kernel_size: 3, activation: relu, inputs: enc.norm}
    - Bidirectional: {name: enc.both, layer: {LSTM: {units: 4, return_sequences: true}}, inputs: enc.conv}
    - GlobalAveragePooling1D: {name: mean, inputs: enc.both}
    - Dense: {name: head, units: 3, inputs: mean}
END
} >words.yaml
for name in pictures words; do
    exits 0 fit $name.yaml -q
    exits 0 predict $name.yaml --input $name.x.npy -o $name.ours.npy -q
    exits 0 export $name.yaml -o $name.back.safetensors --names torch -q
    "$python" "$models" check . $name
done
# 16 bits give what the same values give in 32
for dtype in float16 bfloat16; do
    for file in $dtype $dtype.wide; do
        exits 0 fit pictures.yaml -q output.dir=narrow --fresh "model.init_from.path=pictures.$file.safetensors"
        exits 0 predict pictures.yaml --input pictures.x.npy -o "$file.npy" -q output.dir=narrow
    done
    cmp $dtype.npy $dtype.wide.npy && ! cmp -s $dtype.npy pictures.ours.npy || echo "$dtype differs"
done
# all that does not fit, at once
brief() {
    show "$@" | grep -vE '^ +([0-9]+ )?\|'
}
brief fit words.yaml 'model.init_from={path: words.safetensors, names: torch}' --fresh -q
brief fit words.yaml model.layers.10.Dense.units=4 model.layers.9.GlobalAveragePooling1D.name=m model.layers.10.Dense.inputs=m model.layers.1.Embedding.name=e model.layers.2.LSTM.inputs=e --fresh -q
# another head: what is skipped is drawn
exits 0 fit words.yaml output.dir=other -q model.layers.10.Dense.units=4 'model.init_from.skip=[^head]'
# what was changed by map is read from the file again
mv words.safetensors gone
brief export words.yaml -o w.safetensors --names torch
brief validate pictures.yaml 'model.init_from.map={"a(": b, "(a)\\1": c}' 'model.init_from.skip=["a{3}"]' 'model.init_from.freeze=[nothing]'
# values of a flattened image that are grouped, or joined with others, have no known order in PyTorch
brief fit pictures.yaml --fresh -q 'model.layers.12={GroupNormalization: {name: flat_bn, groups: 2, inputs: flat}}'
brief fit pictures.yaml --fresh -q 'model.layers.14={Concatenate: {name: drop, inputs: [flat_act, flat_act]}}'
