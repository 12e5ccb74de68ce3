# SPDX-License-Identifier: Apache-2.0
"""Records tests/cli/validate/keras_outputs.rows: models, each with losses, and what Keras says and computes.

A row: the model as a job writes it, the loss, whether Keras warns, the least and the greatest value
of the output over random weights and inputs. Layers and losses have the same names in both, so the
job's text builds the Keras model. Needs keras with TensorFlow, whose back end gives the warnings.

    python tests/golden/record_outputs.py > tests/cli/validate/keras_outputs.rows
"""
import os
import warnings

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
import keras
import numpy as np
import yaml

X = "Input: {name: x, shape: [4]}"
STEPS = "Input: {name: x, shape: [4]}, Reshape: {target_shape: [4, 1]}"
IMAGE = "Input: {name: x, shape: [4]}, Reshape: {target_shape: [2, 2, 1]}"
IDS = "Input: {name: x, shape: [4], dtype: int32}"
TWO = ("Input: {name: x, shape: [4]}, Dense: {name: a, units: 3, inputs: x%s}, "
       "Dense: {name: b, units: 3, inputs: x%s}, ")
HEADS = "MultiHeadAttention: {num_heads: 2, key_dim: 2}"
PLAIN, SQUASHED = TWO % ("", ""), TWO % (", activation: sigmoid", ", activation: sigmoid")

MODELS = [
    *(f"{X}, Dense: {{units: 3, activation: {a}}}" for a in
      ("linear", "softmax", "sigmoid", "tanh", "relu", "elu", "gelu", "softplus", "log_softmax", "exponential")),
    f"{X}, Dense: {{units: 3}}, Softmax",
    f"{X}, Dense: {{units: 3}}, Activation: {{activation: sigmoid}}",
    f"{X}, Dense: {{units: 3, activation: softmax}}, Activation: {{activation: linear}}",
    f"{X}, Dense: {{units: 3, activation: sigmoid}}, Activation: {{activation: relu}}",
    f"{X}, Dense: {{units: 3, activation: sigmoid}}, LeakyReLU",
    f"{X}, Dense: {{units: 3}}, LeakyReLU",
    f"{X}, Dense: {{units: 3}}, ReLU",
    f"{X}, Dense: {{units: 3}}, ReLU: {{max_value: 1}}",
    f"{X}, Dense: {{units: 3}}, PReLU",
    f"{X}, Dense: {{units: 3}}, ELU",
    f"{X}, Dense: {{units: 3}}, BatchNormalization",
    f"{X}, Dense: {{units: 3}}, BatchNormalization: {{center: false, scale: false}}",
    f"{X}, Dense: {{units: 3, activation: softmax}}, BatchNormalization",
    f"{X}, Dense: {{units: 3}}, LayerNormalization",
    f"{X}, Dense: {{units: 3}}, UnitNormalization",
    f"{X}, Dense: {{units: 3, activation: sigmoid}}, UnitNormalization",
    f"{X}, Dense: {{units: 3, activation: sigmoid}}, Dropout: {{rate: 0.5}}",
    f"{X}, Dense: {{units: 3}}, Rescaling: {{scale: 2}}",
    f"{X}, Dense: {{units: 3, activation: tanh}}, Rescaling: {{scale: 0.5, offset: 0.5}}",
    f"{X}, Dense: {{units: 3, activation: sigmoid}}, Rescaling: {{scale: 2, offset: -1}}",
    f"{X}, Dense: {{units: 3, activation: sigmoid}}, Rescaling: {{scale: 20, offset: -10}}",
    f"{IDS}, Embedding: {{input_dim: 9, output_dim: 3}}",
    f"{IDS}, Embedding: {{input_dim: 9, output_dim: 3}}, GlobalAveragePooling1D",
    f"{STEPS}, LSTM: {{units: 3}}",
    f"{STEPS}, GRU: {{units: 3, activation: linear}}",
    f"{STEPS}, SimpleRNN: {{units: 3, activation: softmax}}",
    f"{STEPS}, Bidirectional: {{layer: {{LSTM: {{units: 2}}}}}}",
    f"{STEPS}, Bidirectional: {{layer: {{GRU: {{units: 2}}}}, merge_mode: sum}}",
    f"{STEPS}, Bidirectional: {{layer: {{SimpleRNN: {{units: 2, activation: sigmoid}}}}, merge_mode: mul}}",
    f"{STEPS}, Bidirectional: {{layer: {{SimpleRNN: {{units: 2, activation: linear}}}}, merge_mode: ave}}",
    f"{IMAGE}, Conv2D: {{filters: 3, kernel_size: 1}}, MaxPooling2D",
    f"{IMAGE}, Conv2D: {{filters: 3, kernel_size: 1, activation: softmax}}, AveragePooling2D: {{pool_size: 2}}",
    f"{IMAGE}, Conv2D: {{filters: 3, kernel_size: 1, activation: softmax}}, GlobalMaxPooling2D",
    f"{IMAGE}, Conv2D: {{filters: 3, kernel_size: 1, activation: sigmoid}}, UpSampling2D, Cropping2D: {{cropping: 1}}",
    f"{IMAGE}, Conv2D: {{filters: 3, kernel_size: 1, activation: sigmoid}}, ZeroPadding2D",
    *(f"{PLAIN}{l}: {{inputs: [a, b]}}" for l in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Concatenate")),
    *(f"{SQUASHED}{l}: {{inputs: [a, b]}}" for l in ("Multiply", "Average", "Maximum")),
    f"{PLAIN}Dot: {{axes: 1, inputs: [a, b]}}",
    f"{PLAIN}Dot: {{axes: 1, normalize: true, inputs: [a, b]}}",
    f"{SQUASHED}Dot: {{axes: 1, normalize: true, inputs: [a, b]}}",
    f"{X}, Dense: {{units: 1, activation: softmax}}",
    f"{X}, Dense: {{units: 1}}, Softmax",
    "Input: {name: x, shape: [4, 3]}, " + HEADS,
]
LOSSES = ["SparseCategoricalCrossentropy", "CategoricalCrossentropy", "BinaryCrossentropy"]


def build(text):
    """The Keras model of the job's text; a layer without `inputs` takes the one before."""
    made, last = {}, None
    for item in yaml.safe_load("[" + text + "]"):
        kind, args = next(iter(item.items())) if isinstance(item, dict) else (item, {})
        args = dict(args)
        if kind == "Input":
            inputs = last = made[args["name"]] = keras.Input(**args)
            continue
        wanted = args.pop("inputs", None)
        if kind == "Bidirectional":
            (inner, inner_args), = args["layer"].items()
            args["layer"] = getattr(keras.layers, inner)(**inner_args)
        layer = getattr(keras.layers, kind)(**args)
        if wanted is None:
            last = layer(last, last) if kind == "MultiHeadAttention" else layer(last)
        elif isinstance(wanted, list):
            last = layer([made[w] for w in wanted])
        else:
            last = layer(made[wanted])
        made[layer.name] = last
    return keras.Model(inputs, last)


def limits(model, rng):
    """Of the output, over weights as training may make them."""
    low, high = np.inf, -np.inf
    shape = (256, *model.input_shape[1:])
    is_int = model.inputs[0].dtype == "int32"
    for _ in range(4):
        for v in model.weights:
            value = rng.normal(0, 1.5, v.shape)
            v.assign(np.abs(value) if "variance" in v.path else value)
        x = rng.integers(0, 9, shape) if is_int else rng.normal(0, 2, shape).astype("float32")
        y = np.asarray(model(x))
        low, high = min(low, y.min()), max(high, y.max())
    return low, high


def says(text, loss, logits):
    """Whether Keras warns when it trains a step of that model."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = build(text)
        model.compile(loss=getattr(keras.losses, loss)(from_logits=logits), optimizer="sgd")
        shape = (8, *model.output_shape[1:])
        y = np.zeros(shape[:-1] if loss.startswith("Sparse") else shape, "float32")
        model.train_on_batch(np.zeros((8, *model.input_shape[1:]), "int32"), y)
    return any("from_logits" in str(w.message) or "size 1" in str(w.message) for w in caught)


print("# Recorded by tests/golden/record_outputs.py with Keras " + keras.__version__ + " on TensorFlow.")
for text in MODELS:
    keras.utils.set_random_seed(0)
    low, high = limits(build(text), np.random.default_rng(0))
    for loss in LOSSES:
        for logits in (True, False):
            print(text, loss, str(logits).lower(), "warns" if says(text, loss, logits) else "silent",
                  f"{low:.4g}", f"{high:.4g}", sep="\t")
