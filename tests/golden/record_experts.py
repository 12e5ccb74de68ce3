# SPDX-License-Identifier: Apache-2.0
"""Records expert_layers.json and expert_fit.json: mixtures of experts, as KerasHub's Mixtral has them.

    python -m venv v && v/bin/pip install keras==3.15.1 keras-hub==0.32.0 tensorflow-cpu==2.21.0
    v/bin/python tests/golden/record_experts.py tests/golden

Layers are recorded in float64: y, and the gradients of sum(y * cotangent). KerasHub's MixtralSparseMoeBlock drops no step. Mixtures with a capacity,
without a gate, or whose probabilities are not normalized, are computed here, step by step as the definition says; the same code has to agree with
KerasHub where both apply. Numbers are drawn again until no step is undecided between two experts, so that other precisions choose the same ones.

A training is Keras' fit in float32 of a model with such a block, whose loss of balance is added by KerasHub.
"""
import json
import os
import sys
import zlib

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="", KERAS_BACKEND="tensorflow")
import keras
import keras_hub
import numpy as np
import tensorflow as tf
from keras_hub.src.models.mixtral.mixtral_decoder import MixtralSparseMoeBlock, MixtralTransformerDecoder

SHAPE = (5, 6)
ROUTER, GATE, UP, DOWN = ("sparse_feedforward_gate_dense/kernel", "experts/expert_feedforward_gate_dense",
                          "experts/expert_feedforward_intermediate_dense", "experts/expert_feedforward_output_dense")
LAYERS = {
    "top-2": {"num_experts": 4, "intermediate_dim": 5},
    "top-1": {"num_experts": 3, "intermediate_dim": 4, "top_k": 1},
    "top-3": {"num_experts": 8, "intermediate_dim": 3, "top_k": 3},
    "all": {"num_experts": 3, "intermediate_dim": 2, "top_k": 3},
    "not-normalized": {"num_experts": 4, "intermediate_dim": 5, "norm_topk_prob": False},
    "no-gate": {"num_experts": 4, "intermediate_dim": 5, "gated": False, "activation": "relu"},
    "capacity": {"num_experts": 4, "intermediate_dim": 5, "capacity_factor": 1.0},
    "capacity-below": {"num_experts": 4, "intermediate_dim": 3, "capacity_factor": 0.5},
    "capacity-above": {"num_experts": 4, "intermediate_dim": 3, "capacity_factor": 2.0},
    "capacity-top-1": {"num_experts": 2, "intermediate_dim": 3, "top_k": 1, "capacity_factor": 1.2, "norm_topk_prob": False, "gated": False},
}
DECODER = {"intermediate_dim": 5, "num_query_heads": 3, "num_key_value_heads": 1, "num_experts": 4, "top_k": 2}


def number(x):
    return float(np.format_float_scientific(np.float32(x), unique=True))


def tensor(a):
    a = np.asarray(a)
    kind = "float32" if a.dtype.kind == "f" else "int32"
    return {"shape": list(a.shape), "dtype": kind, "data": [number(x) if a.dtype.kind == "f" else int(x) for x in a.ravel()]}


def mixture(config, x, w):
    """y of one step after another; slots are taken in the order of steps."""
    k, n, factor = config.get("top_k", 2), config["num_experts"], config.get("capacity_factor")
    f = getattr(tf.nn, config.get("activation", "silu"))
    p = tf.nn.softmax(tf.einsum("btd,de->bte", x, w[ROUTER]))
    rows = []
    for b in range(x.shape[0]):
        left = [max(int(x.shape[1] * k / n * factor), 1) if factor else x.shape[1]] * n
        for t in range(x.shape[1]):
            chosen = np.argsort(-p[b, t].numpy(), kind="stable")[:k]
            total = sum(p[b, t, e] for e in chosen) if config.get("norm_topk_prob", True) else 1
            y = tf.zeros(x.shape[2], x.dtype)
            for e in chosen:
                if left[e] == 0:
                    continue
                left[e] -= 1
                up = tf.linalg.matvec(w[UP][e], x[b, t], transpose_a=True)
                h = f(tf.linalg.matvec(w[GATE][e], x[b, t], transpose_a=True)) * up if GATE in w else f(up)
                y += p[b, t, e] / total * tf.linalg.matvec(w[DOWN][e], h, transpose_a=True)
            rows.append(y)
    return tf.reshape(tf.stack(rows), x.shape)


def weights_of(config, draw, features):
    n, f = config["num_experts"], config["intermediate_dim"]
    shapes = {ROUTER: (features, n), GATE: (n, features, f), UP: (n, features, f), DOWN: (n, f, features)}
    if not config.get("gated", True):
        del shapes[GATE]
    return {path: np.round(draw.normal(0, 0.6, shape), 2) for path, shape in shapes.items()}


def is_decided(x, w, k):
    p = np.sort(tf.nn.softmax(x @ w[ROUTER]).numpy())[..., ::-1]
    return k == p.shape[-1] or np.min(p[..., k - 1] - p[..., k]) > 0.03


def block_of(config, w, features):
    block = MixtralSparseMoeBlock(hidden_dim=features, intermediate_dim=config["intermediate_dim"], num_experts=config["num_experts"],
                                  top_k=config.get("top_k", 2))
    block.build((None, *SHAPE[:1], features))
    block.set_weights([w[path] for path in (ROUTER, GATE, UP, DOWN)])
    return block


def record(slug, config):
    keras.config.set_floatx("float64")
    draw = np.random.default_rng(zlib.crc32(slug.encode()))
    while True:
        w = weights_of(config, draw, SHAPE[1])
        x = np.round(draw.normal(size=(2, *SHAPE)), 2)
        if is_decided(x, w, config.get("top_k", 2)):
            break
    x, w = tf.constant(x), {path: tf.Variable(v) for path, v in w.items()}
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = mixture(config, x, w)
        cotangent = np.round(draw.normal(size=y.shape), 2)
        loss = tf.reduce_sum(y * cotangent)
    dx, *dw = tape.gradient(loss, [x, *w.values()])
    if not {"norm_topk_prob", "gated", "capacity_factor"} & set(config):
        np.testing.assert_allclose(block_of(config, w, SHAPE[1])(x)[0], y, rtol=1e-5, atol=1e-6)  # it computes the gate in float32
    return {
        "in": {"class": "MixtureOfExperts", "config": config, "x": tensor(x), "training": False,
               "weights": [{"path": path, "trainable": True, "value": tensor(v)} for path, v in w.items()]},
        "out": {"y": tensor(y), "cotangent": tensor(cotangent), "dx": tensor(dx),
                "dweights": [{"path": path, "value": tensor(tf.convert_to_tensor(g))} for path, g in zip(w, dw)]},
    }


def path_in_block(v):
    """Of a weight of KerasHub's decoder, here."""
    path = v.path.split("/", 1)[1]
    return path.replace("mixtral_sparse_moe_block", "sparse_moe_block")


def record_decoder():
    keras.config.set_floatx("float64")
    draw = np.random.default_rng(7)
    config = dict(DECODER)
    while True:
        keras.utils.clear_session()
        layer = MixtralTransformerDecoder(**config, sliding_window=64, name="layer")
        layer.build((None, *SHAPE))
        for v in layer.weights:
            v.assign(np.round(draw.normal(0, 0.6, v.shape), 2) + (1 if "norm" in v.path else 0))
        x = tf.constant(np.round(draw.normal(size=(2, *SHAPE)), 2))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x)
            cotangent = np.round(draw.normal(size=y.shape), 2)
            loss = tf.reduce_sum(y * cotangent)
        trained = layer.trainable_variables
        dx, *dw = tape.gradient(loss, [x, *[v.value for v in trained]])
        router = MixtralTransformerDecoder(**config, sliding_window=64, output_router_logits=True, name="layer")
        router.build((None, *SHAPE))
        router.set_weights(layer.get_weights())
        p = np.sort(tf.nn.softmax(router(x)[1]).numpy())[..., ::-1]
        if np.min(p[..., 1] - p[..., 2]) > 0.05:
            break
    return {
        "in": {"class": "LlamaTransformerDecoder", "config": config, "x": tensor(x), "training": False,
               "weights": [{"path": path_in_block(v), "trainable": True, "value": tensor(v)} for v in trained]},
        "out": {"y": tensor(y), "cotangent": tensor(cotangent), "dx": tensor(dx),
                "dweights": [{"path": path_in_block(v), "value": tensor(tf.convert_to_tensor(g))} for v, g in zip(trained, dw)]},
    }


class Experts(keras.layers.Layer):
    """KerasHub's block without its second output."""

    def __init__(self, features, config, coefficient):
        super().__init__()
        self.block = MixtralSparseMoeBlock(hidden_dim=features, router_aux_loss_coef=coefficient, **config)

    def call(self, x, training=False):
        return self.block(x, training=training)[0]


def record_fit(coefficient, batch, epochs=3, rows=12):
    keras.config.set_floatx("float32")
    keras.utils.clear_session()
    keras.utils.set_random_seed(3)
    config = {"num_experts": 4, "intermediate_dim": 5, "top_k": 2}
    draw = np.random.default_rng(11)
    x = np.round(draw.normal(size=(rows, *SHAPE)), 2).astype(np.float32)
    y = np.round(np.tanh(x[..., :3]) + 0.1 * draw.normal(size=(rows, SHAPE[0], 3)), 2).astype(np.float32)
    inner = Experts(SHAPE[1], config, coefficient)
    last = keras.layers.Dense(3)
    inputs = keras.Input(SHAPE, name="x")
    model = keras.Model(inputs, last(inner(inputs)))
    names = dict(zip((id(v) for v in model.weights), ["moe/" + path for path in (ROUTER, GATE, UP, DOWN)] + ["y/kernel", "y/bias"]))
    for v in model.weights:
        v.assign(np.round(draw.normal(0, 0.4, v.shape), 2))
    before = {names[id(v)]: tensor(v) for v in model.weights}
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse", metrics=["mae"], run_eagerly=True)
    history = model.fit(x, y, batch_size=batch, epochs=epochs, shuffle=False, verbose=0).history
    layers = [{"Input": {"name": "x", "shape": list(SHAPE)}},
              {"MixtureOfExperts": {"name": "moe", "router_aux_loss_coef": coefficient, **config}},
              {"Dense": {"name": "y", "units": 3}}]
    return {
        "in": {"data": {"x": tensor(x), "y": tensor(y)}, "batch": batch, "validation_split": 0.0, "model": {"type": "sequential", "layers": layers},
               "compile": {"optimizer": {"SGD": {"learning_rate": 0.1}}, "loss": {"MeanSquaredError": {"reduction": "sum_over_batch_size"}},
                           "metrics": ["mae"]}, "fit": {"epochs": epochs}, "weights": before},
        "out": {"history": {k: [number(v) for v in values] for k, values in history.items()},
                "weights": {names[id(v)]: tensor(v) for v in model.weights}},
    }


def write(path, head, cases):
    with open(path, "w") as f:
        f.write(json.dumps(head)[:-1] + ', "cases": [\n' + ",\n".join(json.dumps(c) for c in cases) + "\n]}\n")


def main(folder):
    versions = {"keras": keras.__version__, "keras_hub": keras_hub.__version__}
    cases = [{"id": f"layers/x{i + 1:02d}-{slug}", "op": "layer", **record(slug, config)} for i, (slug, config) in enumerate(LAYERS.items())]
    cases.append({"id": f"layers/x{len(cases) + 1:02d}-decoder", "op": "layer", **record_decoder()})
    write(os.path.join(folder, "expert_layers.json"),
          {"format": 1, "area": "layers", **versions, "backend": f"tensorflow {tf.__version__}, float64", "about": "mixtures of experts, a block of a Mixtral"},
          cases)
    fits = [{"id": f"fit/experts-{name}", "op": "fit", **record_fit(coefficient, batch)}
            for name, coefficient, batch in (("balanced", 0.5, 12), ("balanced-batches", 0.5, 4), ("unbalanced", 0.0, 12))]
    write(os.path.join(folder, "expert_fit.json"), {"format": 1, "area": "fit", "program": "tests/train/fit_golden_test.c", **versions,
                                                    "about": "trainings of mixtures of experts with their loss of balance"}, fits)


main(sys.argv[1])
