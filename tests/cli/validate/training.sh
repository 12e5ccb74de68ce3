#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What training would refuse at its start is refused here: class weights and init_from.
. tests/cli/setup.sh
write_tiny
# both CODE ARGUMENTS: the same exit code and the same errors
both() {
    code=$1
    shift
    exits "$code" fit "$tiny" "$@" -q
    mv "$TEST_DIR/err" "$TEST_DIR/fit"
    exits "$code" validate "$tiny" "$@" -q
    cmp "$TEST_DIR/fit" "$TEST_DIR/err"
    # without the line of the override and its carets, whose lengths are the folder's name's
    hide <"$TEST_DIR/err" | grep -vE '^ +(1 )?\|'
}
kinds='{image: {shape: [8], dtype: float32}, kind: {shape: [3], dtype: float32}, side: {shape: [3], dtype: float32}}'
layers='[Input: {name: image, shape: [8]}, Dense: {units: 3, name: kind, inputs: image}, Dense: {units: 3, name: side, inputs: image}]'

echo "weights of classes"
both 78 'fit.class_weight={5: 2}'
both 78 'fit.class_weight={1: 2}' "dataset.element=$kinds" "model={type: functional, layers: $layers, outputs: [kind, side]}" \
    'compile.loss={kind: mse, side: mse}' compile.metrics=null
both 78 'fit.class_weight={1: 2}' 'dataset.element={image: {shape: [8], dtype: float32}, label: {shape: [8, 3], dtype: float32}}' \
    'model.layers=[Input: {name: image, shape: [8]}, Reshape: {target_shape: [8, 1]}, Dense: {units: 3}]' compile.loss=mse compile.metrics=null
exits 0 validate "$tiny" 'fit.class_weight={2: 2}'
exits 78 plan "$tiny" 'fit.class_weight={5: 2}'

echo "weights to begin with"
both 66 model.init_from="$TEST_DIR/none.npz"
"$DTRAIN" fit "$tiny" output.dir="$TEST_DIR/base" -q || echo "exit $?"
"$DTRAIN" export "$tiny" --ckpt "$TEST_DIR/base" -o "$TEST_DIR/w.npz" -q || echo "exit $?"
for from in base w.npz; do
    exits 0 validate "$tiny" model.init_from="$TEST_DIR/$from"
    both 65 model.init_from="$TEST_DIR/$from" model.layers.2.Dense.units=4
    exits 0 validate "$tiny" "model.init_from={path: $TEST_DIR/$from, skip_mismatch: true}" model.layers.2.Dense.units=4
    exits 0 validate --no-data "$tiny" model.init_from="$TEST_DIR/$from" model.layers.2.Dense.units=4
done
echo "relative to where dtrain runs"
exits 66 validate "$tiny" model.init_from=w.npz
exits 0 validate "$tiny" -C "$TEST_DIR" model.init_from=w.npz
echo "a run that goes on has weights of its own"
exits 0 validate "$tiny" model.init_from="$TEST_DIR/none.npz" output.dir="$TEST_DIR/base"
exits 66 validate "$tiny" model.init_from="$TEST_DIR/none.npz" output.dir="$TEST_DIR/base" checkpoint.resume=never
