# SPDX-License-Identifier: Apache-2.0
"""Records joined_layers.json: attention over several inputs, adaptive pooling, encodings of numbers, layers on each step, equations, in models that a job describes.

    python -m venv v && v/bin/pip install keras==3.15.1 tensorflow-cpu==2.21.0
    v/bin/python tests/golden/record_layers.py > tests/golden/joined_layers.json

A model is built from the job's words: {Class: {arguments, inputs}}; one input x, y is the last layer. Keras computes in float64, pooling in
float32: y, the gradients of sum(y * cotangent), for values of weights that no initialiser gives.
"""
import json
import os
import zlib

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="")
import keras
import numpy as np
import tensorflow as tf

L = keras.layers

# Of x (B, 7, 4): a query of 3 steps and keys of 4 steps.
SPLIT = [{"Cropping1D": {"name": "q", "inputs": "x", "cropping": [0, 4]}}, {"Cropping1D": {"name": "k", "inputs": "x", "cropping": [3, 0]}}]
# Values with another number of features, and a mask (B, 3, 4) with a fair share of zeros.
VALUE = [{"Dense": {"name": "v", "inputs": "k", "units": 3}}]
ALLOWED = [{"Dense": {"name": "m", "inputs": "q", "units": 4, "activation": "relu"}}]
KEYS = [{"Masking": {"name": "km", "inputs": "k"}}]
MASKED = [{"Masking": {"name": "qm", "inputs": "q"}}, *KEYS]
HEADS = {"num_heads": 2, "key_dim": 3}

MODELS = {
    "mha-two-inputs": SPLIT + [{"MultiHeadAttention": {"inputs": ["q", "k"], **HEADS}}],
    "mha-cross-causal": SPLIT + [{"MultiHeadAttention": {"inputs": ["q", "k"], "use_causal_mask": True, **HEADS}}],
    "mha-value-and-key": SPLIT + VALUE + [{"MultiHeadAttention": {"inputs": ["q", "v", "k"], "value_dim": 2, "output_shape": [5], **HEADS}}],
    "mha-key-of-others": SPLIT + VALUE + [{"MultiHeadAttention": {"inputs": ["q", "k", "v"], "use_gate": True, "use_bias": False, **HEADS}}],
    "mha-window": SPLIT + [{"MultiHeadAttention": {"inputs": ["q", "k"], "sliding_window": 2, **HEADS}}],
    "mha-window-apart": SPLIT + [{"MultiHeadAttention": {"inputs": ["k", "q"], "sliding_window": 1, "use_causal_mask": True, **HEADS}}],
    "mha-mask": SPLIT + ALLOWED + [{"MultiHeadAttention": {"inputs": ["q", "k", "m"], "use_attention_mask": True, **HEADS}}],
    "mha-mask-and-key": SPLIT + VALUE + ALLOWED + [{"MultiHeadAttention": {
        "inputs": ["q", "v", "k", "m"], "use_attention_mask": True, "use_causal_mask": True, **HEADS}}],
    "mha-self-mask": [{"Dense": {"name": "m", "inputs": "x", "units": 7, "activation": "relu"}},
                      {"MultiHeadAttention": {"inputs": ["x", "m"], "use_attention_mask": True, **HEADS}}],
    "mha-padded": SPLIT + MASKED + [{"MultiHeadAttention": {"inputs": ["qm", "km"], **HEADS}}],
    "mha-padded-keys": SPLIT + KEYS + [{"MultiHeadAttention": {"inputs": ["q", "km"], **HEADS}}],
    "mha-padded-mask": SPLIT + MASKED + ALLOWED + [{"MultiHeadAttention": {"inputs": ["qm", "km", "m"], "use_attention_mask": True, **HEADS}}],
    "attention": SPLIT + [{"Attention": {"inputs": ["q", "k"]}}],
    "attention-scale": SPLIT + VALUE + [{"Attention": {"inputs": ["q", "v", "k"], "use_scale": True, "dropout": 0.5}}],
    "attention-concat": SPLIT + VALUE + [{"Attention": {"inputs": ["q", "v", "k"], "score_mode": "concat"}}],
    "attention-concat-scale": SPLIT + [{"Attention": {"inputs": ["q", "k"], "score_mode": "concat", "use_scale": True}}],
    "attention-causal": SPLIT + [{"Attention": {"inputs": ["q", "k"], "use_causal_mask": True}}],
    "attention-padded": SPLIT + MASKED + [{"Attention": {"inputs": ["qm", "km"], "use_scale": True}}],
    "attention-padded-causal": SPLIT + KEYS + [{"Attention": {"inputs": ["q", "km"], "use_causal_mask": True}}],
    "additive": SPLIT + [{"AdditiveAttention": {"inputs": ["q", "k"]}}],
    "additive-no-scale": SPLIT + VALUE + [{"AdditiveAttention": {"inputs": ["q", "v", "k"], "use_scale": False, "use_causal_mask": True}}],
    "additive-padded": SPLIT + MASKED + [{"AdditiveAttention": {"inputs": ["qm", "km"]}}],
}

# Windows of one size and of two, that overlap and that do not; more places than elements. (For a single place TensorFlow gives no gradient.)
SIZES = {"1d": ((7, 2), [3, 7, 2, 9]), "2d": ((5, 6, 2), [[2, 3], 4, [5, 2], [7, 4]]), "3d": ((3, 4, 5, 2), [2, [2, 3, 4], [1, 4, 2]])}
ADAPTIVE = {f"adaptive-{kind}-{rank}-{i}".lower(): ([{f"Adaptive{kind}Pooling{rank.upper()}": {"inputs": "x", "output_size": size}}], shape)
            for kind in ("Average", "Max") for rank, (shape, sizes) in SIZES.items() for i, size in enumerate(sizes)}

# Whole numbers, of which some are there several times; numbers at, below and above boundaries. The layer behind has gradients.
BINS = [-0.7, 0.0, 0.25, 0.25, 1.5]
DENSE = [{"Dense": {"inputs": "e", "units": 2}}]
ENCODED = {f"encode-{kind}-{mode}-{'x'.join(map(str, shape)) or 'one'}".lower().replace("_", "-"):
           ([{kind: {"name": "e", "inputs": "x", "output_mode": mode, **given}}] + DENSE, shape)
           for kind, given in (("CategoryEncoding", {"num_tokens": 6}), ("Discretization", {"bin_boundaries": BINS}))
           for mode in ("one_hot", "multi_hot", "count")
           for shape in ((1,), (4,)) + (((3, 2), (3, 1), ()) if mode == "one_hot" else ())}
INTS = {f"encode-bins-{n}": ([{"Discretization": {"name": "e", "inputs": "x", "bin_boundaries": BINS[:n]}},
                              {"Embedding": {"name": "t", "inputs": "e", "input_dim": 6, "output_dim": 2}}], (4,)) for n in (1, 5)}

# Layers on each step, also one of images; products by equations, with letters that stay, that are summed, and that both sides have. (With two
# dimensions in the dots at the end, Keras on TensorFlow differs from NumPy.)
EACH = [("dense", {"Dense": {"units": 3, "activation": "tanh", "name": "own"}}, (3, 4)), ("conv", {"Conv2D": {"filters": 3, "kernel_size": 2}}, (3, 4, 5, 2)),
        ("pool", {"MaxPooling1D": {"pool_size": 2}}, (2, 4, 3)), ("flat", {"Flatten": {}}, (2, 3, 2)), ("norm", {"LayerNormalization": {}}, (3, 4)),
        ("lstm", {"LSTM": {"units": 2}}, (2, 3, 4))]
TIMES = {f"time-{slug}": ([{"TimeDistributed": {"inputs": "x", "layer": layer}}], shape) for slug, layer, shape in EACH}
TIMES["time-padded"] = ([{"Masking": {"name": "m", "inputs": "x"}}, {"TimeDistributed": {"name": "t", "inputs": "m", "layer": {"Dense": {"units": 3}}}},
                         {"GRU": {"inputs": "t", "units": 2}}], (7, 4))
EQUATIONS = [("abc,cd->abd", [None, 3], "d", (4, 5)), ("...x,xy->...y", 3, "y", (2, 3, 4)), ("ab...,bc->ac...", 3, "c", (4, 5)), ("ab,bc->ac", 2, None, (4,)),
             ("abcd,cde->abe", [5, 6], "be", (5, 2, 3)), ("abc,bcd->abd", [3, 2], "bd", (3, 4)), ("abc,bd->acd", [4, 2], None, (3, 4)),
             ("abc,cde->abed", [3, 2, 4], "e", (3, 5)), ("abcd,d->acd", [2, 4], "c", (3, 2, 4))]
EINSUMS = {f"einsum-{i}": ([{"EinsumDense": {"inputs": "x", "equation": e, "output_shape": out, "activation": "tanh", **({"bias_axes": b} if b else {})}}], shape)
           for i, (e, out, b, shape) in enumerate(EQUATIONS)}
SCALES = [({"mean": [1.0, -2.0, 0.5], "variance": [2.0, 0.25, 0.0]}, (2, 3)), ({"mean": 0.5, "variance": 4.0, "axis": []}, (3,)), ({}, (2, 3)), ({"axis": [1, 2]}, (2, 3)),
          ({"axis": 1, "mean": [1.0, 2.0], "variance": [0.5, 3.0], "invert": True}, (2, 3))]
NORMS = {f"normalization-{i}": ([{"Normalization": {"inputs": "x", **given}}], shape) for i, (given, shape) in enumerate(SCALES)}


# Outputs besides the first one: states of sequences, which others begin with, and shares of attention. Numbers count them, as in Keras' files.
FURTHER = {"LSTM": ["state_h", "state_c"], "GRU": ["state_h"], "SimpleRNN": ["state_h"], "MultiHeadAttention": ["attention_scores"],
           **{f"ConvLSTM{n}D": ["state_h", "state_c"] for n in (1, 2, 3)},
           "Bidirectional": ["forward_state_h", "forward_state_c", "backward_state_h", "backward_state_c"],
           "GroupQueryAttention": ["attention_scores"], "Attention": ["attention_scores"], "AdditiveAttention": ["attention_scores"]}
ENCODER, DECODER = {"name": "e", "inputs": "k", "units": 3, "return_state": True}, {"units": 3, "return_sequences": True}
BOTH = {"LSTM": {"units": 2, "return_sequences": True, "return_state": True}}
SCORES = [{"Rescaling": {"inputs": "a/attention_scores", "scale": 2.0}}]  # Keras computes a wrong shape of scores for a layer with weights
OUTPUTS = {
    "states-lstm": SPLIT + [{"LSTM": ENCODER}, {"LSTM": {"inputs": ["q", "e/state_h", "e/state_c"], **DECODER}}],
    "states-numbered": SPLIT + [{"LSTM": {**ENCODER, "return_sequences": True}}, {"LSTM": {"inputs": ["q", "e/1", "e/2"], "units": 3, "go_backwards": True}}],
    "states-gru": SPLIT + KEYS + [{"GRU": {**ENCODER, "inputs": "km", "go_backwards": True}},
                                  {"GRU": {"inputs": ["q", "e/state_h"], "reset_after": False, **DECODER}}],
    "states-rnn": SPLIT + MASKED + [{"SimpleRNN": {**ENCODER, "inputs": "km"}}, {"SimpleRNN": {"inputs": ["qm", "e/state_h"], **DECODER}}],
    "states-of-cell": [{"Masking": {"name": "m", "inputs": "x"}}, {"LSTM": {**ENCODER, "inputs": "m"}}, {"Concatenate": {"inputs": ["e/state_c", "e", "e/state_h"]}}],
    "states-both": SPLIT + [{"Bidirectional": {"name": "e", "inputs": "k", "layer": BOTH}}, {"Bidirectional": {
        "inputs": ["q"] + [f"e/{s}" for s in FURTHER["Bidirectional"]], "layer": {"LSTM": {"units": 2, "return_sequences": True}}}}],
    "states-both-gru": SPLIT + [{"Bidirectional": {"name": "e", "inputs": "k", "layer": {"GRU": {"units": 2, "return_state": True}}}},
                                {"Bidirectional": {"inputs": ["q", "e/2", "e/1"], "layer": {"GRU": {"units": 2}}, "merge_mode": "sum"}}],
    "scores-mha": SPLIT + MASKED + [{"MultiHeadAttention": {"name": "a", "inputs": ["qm", "km"], "return_attention_scores": True, **HEADS}}] + SCORES,
    "scores-mha-causal": [{"MultiHeadAttention": {"name": "a", "inputs": "x", "return_attention_scores": True, "use_causal_mask": True, **HEADS}}] + SCORES,
    "scores-attention": SPLIT + KEYS + [{"Attention": {"name": "a", "inputs": ["q", "km"], "return_attention_scores": True}}] + SCORES,
    "scores-additive": SPLIT + [{"AdditiveAttention": {"name": "a", "inputs": ["q", "k"], "return_attention_scores": True}}] + SCORES,
    "scores-groups": [{"GroupQueryAttention": {"name": "a", "inputs": "x", "head_dim": 3, "num_query_heads": 4, "num_key_value_heads": 2,
                                               "return_attention_scores": True}}] + SCORES,
}
# A step of training, which changes u and the kernel before it computes; the first of the weights is all zeros.
SPECTRAL = {f"spectral-{slug}{'-trained' * training}": ([{"SpectralNormalization": {"name": "s", "inputs": "x", "layer": layer, **given}}], shape, training)
            for slug, layer, shape, given in (
                ("dense", {"Dense": {"units": 3, "activation": "tanh", "name": "own"}}, (2, 4), {}),
                ("zeros", {"Dense": {"units": 3, "use_bias": False, "name": "zeros"}}, (4,), {}),
                ("conv", {"Conv2D": {"filters": 3, "kernel_size": 2}}, (4, 5, 2), {"power_iterations": 3}))
            for training in ((False, True) if slug == "dense" else (True,))}
# Steps that are images. States of one part of the sequence begin the other.
HALVES = [{"Cropping3D": {"name": "k", "inputs": "x", "cropping": [[0, 1], 0, 0]}}, {"Cropping3D": {"name": "q", "inputs": "x", "cropping": [[2, 0], 0, 0]}}]
CONV = {"filters": 3, "kernel_size": 2, "padding": "same", "return_state": True}
IMAGES = {
    "conv-lstm-1d": ([{"ConvLSTM1D": {"inputs": "x", "filters": 3, "kernel_size": 3, "return_sequences": True}}], (3, 7, 2), False),
    "conv-lstm-1d-strides": ([{"ConvLSTM1D": {"inputs": "x", "filters": 2, "kernel_size": 2, "strides": 2, "padding": "same", "use_bias": False}}], (3, 7, 2), False),
    "conv-lstm-2d": ([{"ConvLSTM2D": {"inputs": "x", "filters": 3, "kernel_size": [3, 2], "padding": "same"}}], (3, 4, 5, 2), False),
    "conv-lstm-2d-dilated": ([{"ConvLSTM2D": {"inputs": "x", "filters": 2, "kernel_size": 2, "dilation_rate": [1, 2], "go_backwards": True,
                                              "activation": "relu", "recurrent_activation": "hard_sigmoid"}}], (2, 4, 5, 2), False),
    "conv-lstm-2d-states": (HALVES + [{"ConvLSTM2D": {"name": "e", "inputs": "k", **CONV}},
                                      {"ConvLSTM2D": {"inputs": ["q", "e/state_h", "e/state_c"], **CONV, "return_sequences": True}}], (3, 4, 3, 2), False),
    "conv-lstm-3d": ([{"ConvLSTM3D": {"inputs": "x", "filters": 2, "kernel_size": 2}}], (2, 3, 2, 3, 2), False),
}
# Heads without biases, whose output has one, as in diffusion U-Nets: Keras has no argument for it.
BIASES = {"mha-output-bias": (SPLIT + [{"MultiHeadAttention": {"inputs": ["q", "k"], "use_bias": False, "use_output_bias": True, **HEADS}}],)}


class OutputBias(L.MultiHeadAttention):
    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        output = self._output_dense
        output._tracker.unlock()
        output.bias = output.add_weight(name="bias", shape=output.kernel.shape[-1:], initializer="zeros")
        output._tracker.lock()


def call(kind, arguments, values):
    arguments = {k: v for k, v in arguments.items() if k != "inputs"}
    if "layer" in arguments:
        (inner, own), = arguments["layer"].items()
        arguments["layer"] = getattr(L, inner)(**own)
    if kind == "Normalization" and arguments.get("axis") == []:
        arguments["axis"] = None
    causal, mask = arguments.pop("use_causal_mask", False), None
    if arguments.pop("use_attention_mask", False):
        mask = values.pop()
    scores = arguments.pop("return_attention_scores", False)
    biased = arguments.pop("use_output_bias", False)
    layer = OutputBias(name="multi_head_attention", **arguments) if biased else getattr(L, kind)(**arguments)
    if kind in ("MultiHeadAttention", "GroupQueryAttention"):
        values = values * 2 if len(values) == 1 else values
        return layer(*values, attention_mask=mask, use_causal_mask=causal, return_attention_scores=scores)
    if "LSTM" in kind or kind in ("GRU", "SimpleRNN", "Bidirectional"):
        return layer(values[0], initial_state=values[1:] or None)
    given = {**({"use_causal_mask": True} if causal else {}), **({"return_attention_scores": True} if scores else {})}
    return layer(values if len(values) > 1 else values[0], **given)


def build(layers, shape):
    made = {"x": keras.Input(shape, name="x")}
    for item in layers:
        (kind, arguments), = item.items()
        inputs = arguments["inputs"]
        y = call(kind, arguments, [made[name] for name in ([inputs] if isinstance(inputs, str) else inputs)])
        name = arguments.get("name")
        y, *further = y if isinstance(y, (list, tuple)) else [y]
        made[name] = y
        for i, value in enumerate(further):
            made[f"{name}/{i + 1}"] = made[f"{name}/{FURTHER[kind][i]}"] = value
    return keras.Model(made["x"], y)


def number(x):
    return float(np.format_float_scientific(np.float32(x), unique=True))


def tensor(a):
    a = np.asarray(a)
    return {"shape": list(a.shape), "dtype": "float32", "data": [number(x) for x in a.ravel()]}


def path_of(model, v):
    name = next(l.name for l in model.layers if any(v is w for w in l.weights))
    return v.path[v.path.index(name + "/"):]


def weights_of(model, draw):
    drawn = [v for v in model.weights if v.dtype == "float64"]
    for v in drawn:
        value = np.round(draw.normal(0, 0.6, v.shape), 2)
        value = value * (not v.path.endswith("zeros/kernel"))
        v.assign(abs(value) if v.path.endswith("/variance") else value)
    for layer in model.layers:
        if isinstance(layer, L.Normalization):
            layer.finalize_state()  # as after loading weights
    return drawn


def record(slug, layers, shape=(7, 4), training=False):
    keras.utils.clear_session()
    floats = "float32" if slug.startswith("adaptive") else "float64"  # TensorFlow's pooling has faults, or is missing, in float64
    keras.config.set_floatx(floats)
    draw = np.random.default_rng(zlib.crc32(slug.encode()))
    model = build(layers, shape)
    weights = weights_of(model, draw)
    x = np.round(draw.normal(size=(2, *shape)), 4 if slug.startswith("adaptive") else 2)  # no two are equal in a window
    if any("Masking" in item for item in layers):
        x[0, 2], x[0, 5:], x[1, 4] = 0, 0, 0
    if "categoryencoding" in slug:
        x = draw.integers(0, 6, x.shape)
    elif slug.startswith("encode"):
        x.flat[0] = 0.25
    x = tf.constant(x.astype(floats))
    before = [{"path": path_of(model, v), "trainable": v.trainable, "value": tensor(v)} for v in weights]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = model(x, training=training)
        cotangent = np.round(draw.normal(size=y.shape), 2).astype(floats)
        loss = tf.reduce_sum(y * cotangent)
    trained = model.trainable_variables
    given = [{"Input": {"name": "x", "shape": list(shape)}}, *layers]
    return {
        "in": {"layers": {"type": "functional", "layers": given}, "x": tensor(x), "training": training, "weights": before},
        "out": {"y": tensor(y), "cotangent": tensor(cotangent), **({"dx": tensor(dx)} if (dx := tape.gradient(loss, x)) is not None else {}),
                "dweights": [{"path": path_of(model, v), "value": tensor(tf.convert_to_tensor(g))} for v in trained
                             if (g := tape.gradient(loss, v.value)) is not None],
                **({"non_trainable_after": [{"path": path_of(model, v), "value": tensor(v)} for v in weights]} if training else {})},
    }


def main():
    models = {**{slug: (layers,) for slug, layers in MODELS.items()}, **ADAPTIVE, **ENCODED, **INTS, **TIMES, **EINSUMS, **NORMS,
              **{slug: (layers,) for slug, layers in OUTPUTS.items()}, **SPECTRAL, **IMAGES, **BIASES}
    lines = [json.dumps({"id": f"layers/j{i + 1:02d}-{slug}", "op": "layer", **record(slug, *model)}) for i, (slug, model) in enumerate(models.items())]
    about = "Attention over several inputs, adaptive pooling, encodings of numbers; see record_layers.py."
    head = {"format": 1, "area": "layers", "keras": keras.__version__, "backend": f"tensorflow {tf.__version__}, float64", "about": about}
    print(json.dumps(head)[:-1] + ', "cases": [\n' + ",\n".join(lines) + "\n]}")


main()
