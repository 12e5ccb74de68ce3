#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Outputs that do not give what their loss expects are warnings, in every form that a model may have; pairs that fit give no warning.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
cat >job.yaml <<'END'
version: 1
dataset: {format: synthetic, examples: 32, element: {x: {shape: [4]}, y: {num_classes: 3}}, global_batch_size: 8}
model: {layers: [Input: {name: x, shape: [4]}, Dense: {units: 3, name: o}]}
compile: {optimizer: sgd, loss: mse}
fit: {epochs: 1}
output: {dir: run}
END
input='Input: {name: x, shape: [4]}'
sparse='SparseCategoricalCrossentropy: {from_logits: true}' binary='BinaryCrossentropy: {from_logits: true}'

# pair LOSS LAYERS...: the warnings of a sequential model.
pair() {
    loss=$1
    shift
    echo "$loss | $*"
    "$DTRAIN" validate --no-data -q job.yaml "model.layers=[$input, $*]" "compile.loss=$loss" 2>&1 | sed 's/^dtrain: warning: job.yaml:/   /'
}

echo "== logits are expected"
for a in softmax sigmoid hard_sigmoid sparsemax relu tanh softplus log_sigmoid; do pair "{$sparse}" "Dense: {units: 3, activation: $a}"; done
pair "{$sparse}" "Dense: {units: 3}, Softmax"
pair "{$sparse}" "Dense: {units: 3}, Activation: {activation: sigmoid}"
pair "{$sparse}" "Dense: {units: 3}, ReLU, Dropout: {rate: 0.5}, Reshape: {target_shape: [3]}"
pair "{CategoricalCrossentropy: {from_logits: true}}" "Dense: {units: 3, activation: softmax}"
pair "{$sparse}" "Dense: {units: 3, activation: softmax}, GaussianNoise: {stddev: 0.1}"
pair "{CategoricalFocalCrossentropy: {from_logits: true}}" "Dense: {units: 3, activation: softmax}"
pair "{BinaryFocalCrossentropy: {from_logits: true}}" "Dense: {units: 3, activation: sigmoid}"
for a in sigmoid relu elu tanh; do pair "{$binary}" "Dense: {units: 1, activation: $a}"; done
pair "{$binary}" "Reshape: {target_shape: [4, 1]}, LSTM: {units: 1}"
echo "== probabilities are expected"
for a in linear relu tanh log_softmax; do pair sparse_categorical_crossentropy "Dense: {units: 3, activation: $a}"; done
for l in categorical_crossentropy binary_crossentropy binary_focal_crossentropy kl_divergence dice tversky poisson \
    categorical_generalized_cross_entropy; do pair $l "Dense: {units: 3}"; done
pair binary_crossentropy "Reshape: {target_shape: [2, 2, 1]}, Conv2D: {filters: 1, kernel_size: 1}, GlobalAveragePooling2D"
pair binary_crossentropy "Dense: {units: 1}, ReLU: {max_value: 2}"
echo "== one value"
for l in binary_crossentropy mse; do pair $l "Dense: {units: 1, activation: softmax}"; done
pair binary_crossentropy "Dense: {units: 1}, Softmax"
pair mse "Dense: {units: 1}, Activation: {activation: log_softmax}, Dense: {units: 1}"
pair mse "Reshape: {target_shape: [2, 2]}, Softmax: {axis: 1}, Dense: {units: 1, activation: sparsemax}"
for l in categorical_crossentropy sparse_categorical_crossentropy; do pair $l "Dense: {units: 1, activation: sigmoid}"; done
echo "== twice"
pair sparse_categorical_crossentropy "Dense: {units: 3, activation: softmax}, Softmax"
echo "== right: nothing"
pair "{$sparse}" "Dense: {units: 3}"
for a in leaky_relu log_softmax gelu; do pair "{$sparse}" "Dense: {units: 3, activation: $a}"; done
pair sparse_categorical_crossentropy "Dense: {units: 3, activation: softmax}"
pair sparse_categorical_crossentropy "Dense: {units: 3, activation: sigmoid}"
pair categorical_crossentropy "Dense: {units: 3, activation: exponential}"
pair binary_crossentropy "Dense: {units: 1, activation: sigmoid}"
pair binary_crossentropy "Dense: {units: 1, activation: hard_sigmoid}"
pair binary_crossentropy "Dense: {units: 1}, ReLU: {max_value: 1}"
pair binary_crossentropy "Dense: {units: 2, activation: softmax}, Dense: {units: 1, kernel_constraint: non_neg}"
pair binary_crossentropy "Dense: {units: 2, activation: softmax}, Dense: {units: 1, trainable: false}"
pair "{$binary}" "Dense: {units: 1, activation: tanh}, Rescaling: {scale: 30}"
pair "{$sparse}" "Reshape: {target_shape: [2, 2, 1]}, Conv2D: {filters: 3, kernel_size: 1, activation: relu}, GlobalAveragePooling2D"
for a in relu softplus exponential sigmoid; do pair poisson "Dense: {units: 3, activation: $a}"; done
for l in hinge mse mae huber msle cosine_similarity; do pair $l "Dense: {units: 3, activation: tanh}"; pair $l "Dense: {units: 3}"; done
pair mse "Reshape: {target_shape: [2, 2]}, Dense: {units: 1}, Softmax: {axis: 1}"

echo "== several outputs, each with its own loss"
cat >many.yaml <<'END'
extends: job.yaml
model:
  type: functional
  outputs: [a, b, c, d]
  layers:
    - Input: {name: x, shape: [4]}
    - Dense: {name: h, units: 4, activation: relu, inputs: x}
    - Dense: {name: a, units: 3, activation: softmax, inputs: h}
    - Dense: {name: b, units: 1, inputs: h}
    - Dense: {name: s, units: 1, activation: sigmoid, inputs: h}
    - Dense: {name: t, units: 1, activation: sigmoid, inputs: x}
    - Average: {name: c, inputs: [s, t]}
    - Concatenate: {name: d, inputs: [s, a]}
compile: {optimizer: sgd, loss: {a: {SparseCategoricalCrossentropy: {from_logits: true}}, b: binary_crossentropy, c: {BinaryCrossentropy: {from_logits: true}}, d: binary_crossentropy}}
dataset: {element: {a: {num_classes: 3}, b: {num_classes: 2}, c: {num_classes: 2}, d: {shape: [4]}}}
END
"$DTRAIN" validate --no-data -q many.yaml 2>&1
echo "== a model of Keras"
cat >model.json <<'END'
{"module": "keras", "class_name": "Sequential", "config": {"name": "s", "layers": [
{"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [null, 4], "dtype": "float32", "name": "x"}, "registered_name": null},
{"module": "keras.layers", "class_name": "Dense", "config": {"name": "o", "units": 3, "activation": "softmax", "use_bias": true}, "registered_name": null}]}, "registered_name": null}
END
sed 's/^model: .*/model: {keras_config: model.json}/' job.yaml >keras.yaml
"$DTRAIN" validate --no-data -q keras.yaml "compile.loss={$sparse}" 2>&1
echo "== forms"
for form in json github; do "$DTRAIN" validate --no-data --format $form job.yaml "compile.loss=binary_crossentropy"; done
"$DTRAIN" fit job.yaml -q --json compile.loss=sparse_categorical_crossentropy 2>err | grep '"warning"'
cat err
"$DTRAIN" evaluate job.yaml -q --split train compile.loss=sparse_categorical_crossentropy 2>&1
echo '== layers with weights that scale behind the last Dense'
for name in LayerNormalization GroupNormalization RMSNormalization; do
    layer=$name
    [ $name = GroupNormalization ] && layer='{GroupNormalization: {groups: 1}}'
    "$DTRAIN" validate --no-data job.yaml compile.loss=sparse_categorical_crossentropy \
        "model.layers=[{Input: {name: x, shape: [4]}}, {Dense: {units: 3}}, $layer]" 2>&1 | grep -o "output '.*"
done
echo '== frozen, constrained, and state beside weights'
for layer in '{BatchNormalization: {trainable: false}}' '{BatchNormalization: {gamma_constraint: non_neg}}' BatchNormalization \
    '{BatchNormalization: {center: false, scale: false}}' '{Dense: {units: 3, trainable: false}}'; do
    "$DTRAIN" validate --no-data -q job.yaml compile.loss=sparse_categorical_crossentropy \
        "model.layers=[{Input: {name: x, shape: [4]}}, {Dense: {units: 3, activation: softmax}}, $layer]" 2>&1 |
        sed 's/.*\(output .*\)/\1/' | grep . || echo "$layer: silent"
done
