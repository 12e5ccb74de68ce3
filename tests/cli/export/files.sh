#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files for other programs: which are written, which are refused. onnx.sh reads them with these programs.
. tests/cli/setup.sh
write_tiny
exits 66 export "$tiny" -o "$TEST_DIR/t.onnx"
"$DTRAIN" fit "$tiny" -q || echo "exit $?"
for file in t.onnx t.safetensors t.npz; do
    show export "$tiny" -o "$TEST_DIR/$file" | sed 's/sha [0-9a-f]*/sha H/'
done
show export "$tiny" --to npz -o "$TEST_DIR/t" -q
cmp "$TEST_DIR/t" "$TEST_DIR/t.npz"
# the same bytes every time
"$DTRAIN" export "$tiny" -o "$TEST_DIR/u.onnx" --ckpt "$TEST_DIR/run/ckpt/step-00000012" -q
cmp "$TEST_DIR/t.onnx" "$TEST_DIR/u.onnx"
exits 64 export "$tiny"
exits 64 export "$tiny" -o "$TEST_DIR/t.pb"
exits 64 export "$tiny" --to pickle -o "$TEST_DIR/t.onnx"
exits 66 export "$tiny" --ckpt "$TEST_DIR/none" -o "$TEST_DIR/v.onnx"
exits 65 export "$tiny" 'model.layers.1.Dense.units=5' -o "$TEST_DIR/v.onnx"
exits 73 export "$tiny" -o "$TEST_DIR/none/v.npz"
[ ! -e "$TEST_DIR/v.onnx" ] || echo "something was written"
# A step that a graph cannot have can be left out.
printf 't,y\nhello there,0\ngood bye,1\n' >"$TEST_DIR/t.csv"
cat >"$TEST_DIR/text.yaml" <<'END'
version: 1
name: text
dataset:
  format: csv
  train: t.csv
  element: {t: {column: t, dtype: string}, y: {column: y, dtype: int32}}
  map: {t: [text_vectorization: {output_sequence_length: 4}]}
  global_batch_size: 2
model: {layers: [Input: {name: t, shape: [4], dtype: int32}, Embedding: {input_dim: 50, output_dim: 4}, GlobalAveragePooling1D, Dense: {units: 2}]}
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}

END
text() { verb=$1; shift; show "$verb" "$TEST_DIR/text.yaml" "output.dir=$TEST_DIR/run-text" "$@"; }
text fit -q
text export -o "$TEST_DIR/text.onnx"
text export -o "$TEST_DIR/text.onnx" --without-map -q
