#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Random layers of an imported model become steps of dataset.map, after the job's own steps, and the job trains like one that names these steps. Random
# layers that do not follow an Input are refused. Layers that number words or resize images become steps, too.
. tests/cli/setup.sh
. tests/cli/jobs.sh
cp tests/golden/keras/augmented/*.json "$TEST_DIR"
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
dataset: {format: synthetic, examples: 24, element: {image: {shape: [8, 8, 3], dtype: uint8}, label: {num_classes: 3}}, global_batch_size: 8, map: {image: [cast: float32]}}
model: {keras_config: augmented.json}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 2}
END
steps='dataset.map.image=[cast: float32, rescale: {scale: 0.5, offset: 1.0}, random_flip: {mode: horizontal, seed: 3}, random_translation: {height_factor: 0.1, width_factor: [-0.2, 0.1], fill_mode: nearest, seed: 4}, random_contrast: {factor: [0, 0.2], seed: 5}]'
first=$(hash "$job" output.dir="$TEST_DIR/a" --fresh)
[ "$(hash "$job" model.keras_config=plain.json "$steps" output.dir="$TEST_DIR/b" --fresh)" = "$first" ] || echo "other weights than with the steps"
[ "$(hash "$job" model.keras_config=plain.json output.dir="$TEST_DIR/b" --fresh)" != "$first" ] || echo "the steps change nothing"
[ "$(hash "$job" strategy.replicas=3 output.dir="$TEST_DIR/c" --fresh)" = "$first" ] || echo "other weights with 3 replicas"
"$DTRAIN" config show "$job" | sed -n '/^  map:/,/^  [a-l]/p;/^model:/,/^  outputs/p'
show fit "$job" model.keras_config=late.json output.dir="$TEST_DIR/z" --dry-run -q
# Keras writes the factor 0.2 of this layer as [-0.2, 0.2]
sed 's/RandomContrast/RandomSaturation/; s/"factor": \[0, 0.2\]/"factor": [-0.2, 0.2]/' "$TEST_DIR/augmented.json" >"$TEST_DIR/pair.json"
"$DTRAIN" config show "$job" model.keras_config=pair.json | sed -n '/random_saturation/,/factor/p'

cp tests/golden/keras/augmented/prepared.csv "$TEST_DIR"
cat >"$TEST_DIR/prepared.yaml" <<END
version: 1
name: prepared
dataset:
  format: csv
  train: prepared.csv
  element:
    color: {column: color, dtype: string}
    code: {column: code, dtype: string}
    tags: {columns: [t0, t1], dtype: int64}
    image: {columns: [p0..p15], shape: [4, 4, 1]}
    y: {columns: [y0..y14]}
  global_batch_size: 5
model: {keras_config: prepared.json}
compile: {optimizer: {SGD: {learning_rate: 0}}, loss: mse, target: y}
fit: {epochs: 1}
output: {dir: $TEST_DIR/p}
END
"$DTRAIN" fit "$TEST_DIR/prepared.yaml" | grep -o 'loss .*'
"$DTRAIN" config show "$TEST_DIR/prepared.yaml" | sed -n '/^  map:/,/^  [a-l]/p;/^model:/,/Concatenate/p'
sed 's/"vocabulary": \["red", "green", "blue"\]/"vocabulary": null/' "$TEST_DIR/prepared.json" >"$TEST_DIR/adapted.json"
show validate "$TEST_DIR/prepared.yaml" model.keras_config=adapted.json
# TextVectorization leaves a text as it is for null, which is not the default of the step
cat >"$TEST_DIR/none.json" <<END
{"module": "keras", "class_name": "Sequential", "config": {"name": "s", "layers": [
  {"module": "keras.layers", "class_name": "InputLayer", "config": {"name": "color", "dtype": "string", "batch_shape": [null, 1]}},
  {"module": "keras.layers", "class_name": "TextVectorization", "config": {"name": "t", "standardize": null, "split": null, "output_mode": "count", "vocabulary": ["a b"], "vocabulary_size": 2}},
  {"module": "keras.layers", "class_name": "Dense", "config": {"name": "y", "units": 1}}]}}
END
"$DTRAIN" config show "$TEST_DIR/prepared.yaml" model.keras_config=none.json | sed -n '/text_vectorization/,/split/p'
