#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files for other programs: what is written, what is refused. What others make of them: onnx.sh.
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
