#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Exported models are read by onnx.checker, ONNX Runtime, the package safetensors and NumPy.
. tests/cli/setup.sh
python=$(scripts/python-tools numpy onnx onnxruntime safetensors) || exit 77
write_tiny
# each layer of the golden cases, and each kind of step of `map`
"$python" tests/export/onnx/layers.py "$DTRAIN" "$TEST_DIR" tests/golden/*layers.json
raw='dataset={format: synthetic, examples: 64, global_batch_size: 8, element: {image: {shape: [6, 5, 3], dtype: uint8}, label: {num_classes: 4}}, map: {image: [MAP]}}'
net='model={layers: [Input: {name: image, shape: SHAPE}, Flatten, Dense: {units: 4, activation: softmax}]}'
digits() {
    echo "'dataset={format: synthetic, examples: 64, global_batch_size: 8, element: {image: {shape: [28, 28], dtype: uint8}, label: {num_classes: 10}}," \
        "map: {image: [rescale: {scale: 0.00392156862745098}]}}'"
}
mapped() {
    echo "$tiny" "'$(echo "$raw" | sed "s|MAP|$1|")'" "'$(echo "$net" | sed "s|SHAPE|$2|")'"
}
tokens='dataset={format: synthetic, examples: 16, global_batch_size: 8, element: {tokens: {shape: [6], dtype: int32, num_classes: 9}, label: {num_classes: 4}}}'
masked() {
    echo "$tiny '$tokens' 'model={type: functional, layers: [Input: {name: tokens, shape: [6], dtype: int32}, \
        Embedding: {name: e, input_dim: 9, output_dim: 4, mask_zero: true}, $1, Flatten, Dense: {units: 4, activation: softmax}]}'"
}
seq 400 | tr "\n" " " >"$TEST_DIR/text"
TEXT=$TEST_DIR/text
export TEXT
"$python" tests/export/onnx/jobs.py "$DTRAIN" "$TEST_DIR" "$tiny" tests/jobs/attention.yaml tests/jobs/conv.yaml tests/jobs/default.yaml \
    tests/jobs/functional.yaml tests/jobs/gpt.yaml tests/jobs/mirrored.yaml tests/jobs/outputs.yaml tests/jobs/sequence.yaml tests/jobs/spatial.yaml tests/jobs/steps.yaml \
    tests/jobs/tiny_linear.yaml tests/jobs/tiny_mlp.yaml tests/jobs/tiny_one_hot.yaml tests/jobs/tiny_shards.yaml \
    "$tiny compile.precision=mixed_bfloat16" "$tiny compile.precision=mixed_float16" 'tests/jobs/conv.yaml compile.precision=mixed_bfloat16' \
    "configs/quickstart.yaml $(digits)" configs/resnet20.yaml \
    "$(mapped 'cast: float32, rescale: {scale: 0.0078125, offset: -1}' '[6, 5, 3]')" \
    "$(mapped 'normalize: {mean: [120, 130, 125], std: [60, 61, 62]}' '[6, 5, 3]')" \
    "$(mapped 'zero_padding: 2, random_crop: [7, 6], random_flip: horizontal, random_rotation: 0.1, random_hue: 0.2' '[7, 6, 3]')" \
    "$(mapped 'center_crop: [4, 2], grayscale, rescale: {scale: 0.01}' '[4, 2, 1]')" \
    "$(mapped 'resize: [9, 4], rescale: {scale: 0.01}' '[9, 4, 3]')" \
    "$(masked 'MultiHeadAttention: {num_heads: 2, key_dim: 3, use_causal_mask: true}')" "$(masked 'TransformerDecoder: {intermediate_dim: 5, num_heads: 2}')" \
    "$(masked 'Dense: {name: d, units: 4}, Multiply: {inputs: [e, d]}, LSTM: {units: 3, return_sequences: true}')"
# weights as others read them
"$DTRAIN" fit "$tiny" -q --fresh || echo "exit $?"
"$DTRAIN" export "$tiny" -o "$TEST_DIR/w.safetensors" -q || echo "exit $?"
"$DTRAIN" export "$tiny" -o "$TEST_DIR/w.npz" -q || echo "exit $?"
"$python" - "$TEST_DIR/w.safetensors" "$TEST_DIR/w.npz" "$TEST_DIR/run/ckpt/step-00000012/model.safetensors" <<'END'
import sys
import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file
ours, packed, kept = load_file(sys.argv[1]), np.load(sys.argv[2]), load_file(sys.argv[3])
for name in sorted(kept):
    same = np.array_equal(ours[name], kept[name]) and np.array_equal(packed[name], kept[name])
    print(name, kept[name].dtype, kept[name].shape, "same" if same else "OTHER")
with safe_open(sys.argv[1], "np") as f:
    print(sorted(f.metadata()), f.metadata()["job"], f.metadata()["step"])
print(sorted(ours) == sorted(kept) == sorted(packed.files))
END
