#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# model.keras_config: a model that Keras wrote is the model that a job has in its layers: the same weights. The run needs the file no more.
. tests/cli/setup.sh
mkdir "$TEST_DIR/base"
cp tests/golden/keras/flowers.json tests/golden/keras/masked.json tests/golden/keras/narrow.json "$TEST_DIR/base"

# job DIRECTORY ELEMENT: all but the model
job() {
    cat <<END
version: 1
name: keras
seed: 7
strategy: {type: mirrored, replicas: 2}
dataset:
  format: synthetic
  examples: 60
  element: {$2, label: {num_classes: 2}}
  validation_split: 0.2
  global_batch_size: 8
compile:
  optimizer: {SGD: {learning_rate: 0.05}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
fit: {epochs: 2}
output: {dir: "$TEST_DIR/$1"}
END
}
x='x: {shape: [3], dtype: float32}' tokens='tokens: {shape: [6], dtype: int32, num_classes: 9}'

{ job written "$x" && cat <<END; } >"$TEST_DIR/written.yaml"
model:
  layers:
    - Input: {name: x, shape: [3]}
    - Dense: {units: 32, activation: relu}
    - Dense: {units: 3, name: logits}
END
{ job imported "$x" && echo 'model: {keras_config: base/flowers.json}'; } >"$TEST_DIR/imported.yaml"
{ job written-words "$tokens" && cat <<END; } >"$TEST_DIR/written-words.yaml"
model:
  type: functional
  layers:
    - Input: {name: tokens, shape: [6], dtype: int32}
    - Embedding: {input_dim: 9, output_dim: 4, mask_zero: true}
    - Dropout: {rate: 0.1}
    - GRU: {units: 3, return_sequences: true}
    - GlobalAveragePooling1D
    - Dense: {units: 2}
END
{ job imported-words "$tokens" && echo 'model: {keras_config: base/masked.json}'; } >"$TEST_DIR/imported-words.yaml"
for name in written imported written-words imported-words; do
    "$DTRAIN" fit --json "$TEST_DIR/$name.yaml" >"$TEST_DIR/$name.jsonl" || echo "$name: exit $?"
    weights "$TEST_DIR/$name.jsonl" >"$TEST_DIR/$name.sha"
done
for name in '' -words; do
    [ -s "$TEST_DIR/written$name.sha" ] || echo "no hash"
    cmp "$TEST_DIR/written$name.sha" "$TEST_DIR/imported$name.sha"
done
echo "the same weights"


sed 's/"name": "float32"/"name": "mixed_bfloat16"/g' "$TEST_DIR/base/flowers.json" >"$TEST_DIR/base/few.json"
"$DTRAIN" fit --json "$TEST_DIR/imported.yaml" model.keras_config=base/few.json output.dir="$TEST_DIR/few" >"$TEST_DIR/few.jsonl"
"$DTRAIN" fit --json "$TEST_DIR/imported.yaml" compile.precision=mixed_bfloat16 output.dir="$TEST_DIR/job" >"$TEST_DIR/job.jsonl"
[ "$(weights "$TEST_DIR/few.jsonl")" = "$(weights "$TEST_DIR/job.jsonl")" ] || echo "a policy of layers is another one than the job's"
echo "
what is shown, trained and kept has the layers"
"$DTRAIN" config show "$TEST_DIR/imported.yaml" | sed -n '/^model:/,/^[^ ]/p'
"$DTRAIN" config diff "$TEST_DIR/imported.yaml" "$TEST_DIR/imported" && echo "no difference"
"$DTRAIN" config show --origin "$TEST_DIR/imported.yaml" | hide | grep 'units: 32'
show validate "$TEST_DIR/imported.yaml" model.layers.1.Dense.units=0
show validate "$TEST_DIR/imported.yaml" model.keras_config=base/narrow.json

echo "beside the base that names it"
{ job extended "$x" && echo 'model: {keras_config: flowers.json}'; } >"$TEST_DIR/base/job.yaml"
printf 'extends: base/job.yaml\nfit: {epochs: 1}\n' >"$TEST_DIR/extends.yaml"
show validate "$TEST_DIR/extends.yaml"
printf 'extends: written.yaml\nmodel: {layers: null, keras_config: base/flowers.json}\n' >"$TEST_DIR/instead.yaml"
show validate "$TEST_DIR/instead.yaml"
printf 'extends: written.yaml\nmodel: {keras_config: base/flowers.json}\n' >"$TEST_DIR/beside.yaml"
show validate "$TEST_DIR/beside.yaml"

echo "by overrides"
for way in 'model={keras_config: base/flowers.json}' 'model.layers=null model.keras_config=base/flowers.json' \
    'model.keras_config=base/flowers.json model.layers='; do
    words="$way"
    [ "${way#model=}" = "$way" ] || words=
    # shellcheck disable=SC2086 # words are two overrides
    "$DTRAIN" validate --no-data "$TEST_DIR/written.yaml" ${words:-"$way"} >"$TEST_DIR/out" 2>&1 || cat "$TEST_DIR/out"
done

echo "without the file"
rm -r "$TEST_DIR/base"
show validate "$TEST_DIR/imported.yaml"
exits 66 fit "$TEST_DIR/imported.yaml"
"$DTRAIN" evaluate "$TEST_DIR/imported.yaml" >"$TEST_DIR/out" && has "$TEST_DIR/out" 'validation  loss'
"$DTRAIN" predict "$TEST_DIR/imported.yaml" -o "$TEST_DIR/y.csv" >/dev/null && wc -l <"$TEST_DIR/y.csv"
"$DTRAIN" export "$TEST_DIR/imported.yaml" -o "$TEST_DIR/model.onnx" >"$TEST_DIR/out" && has "$TEST_DIR/out" '227 parameters'
exits 66 evaluate "$TEST_DIR/imported.yaml" output.dir="$TEST_DIR/none"
exits 66 evaluate "$TEST_DIR/imported.yaml" model.keras_config=base/mistyped.json
exits 66 predict "$TEST_DIR/written.yaml" 'model={keras_config: base/mistyped.json}' -o "$TEST_DIR/z.csv"
