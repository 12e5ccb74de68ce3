# SPDX-License-Identifier: Apache-2.0
"""Records compile.json: optimizers and losses that Keras has had for a short time, Muon, ScheduleFreeAdamW, CTC and Circle.

    python -m venv v && v/bin/pip install keras==3.15.1 tensorflow-cpu==2.21.0 jax
    v/bin/python tests/golden/record_compile.py > tests/golden/compile.json

Optimizers run on JAX: on TensorFlow, Keras' ScheduleFreeAdamW reads its momentum after it has changed it.
"""
import json
import os
import subprocess
import sys

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="")
import keras
import numpy as np
import tensorflow as tf

REDUCTIONS = ("none", "sum_over_batch_size", "sum", "mean", "mean_with_sample_weight")


def number(x):
    x = np.float32(x)
    return float(np.format_float_scientific(x, unique=True)) if np.isfinite(x) else str(x)


def tensor(a):
    a = np.asarray(a)
    if a.dtype.kind in "iu":
        return {"shape": list(a.shape), "dtype": a.dtype.name, "data": a.ravel().tolist()}
    return {"shape": list(a.shape), "dtype": "float32", "data": [number(x) for x in a.ravel()]}


# ---- optimizers ----

STEPS = 5
# A matrix that is wide, one that is high, a vector, and a volume.
SHAPES = [(3, 4), (5, 2), (4,), (2, 3, 2)]
OPTIMIZERS = [
    ("Muon", {}), ("Muon", {"learning_rate": 0.02, "nesterov": False, "momentum": 0.5}), ("Muon", {"exclude_layers": ["p[13]$"], "adam_lr_ratio": 0.5}),
    ("Muon", {"learning_rate": 0.1, "weight_decay": 0.1, "adam_weight_decay": 0.2, "ns_steps": 2, "rms_rate": 1.0}),
    ("Muon", {"muon_a": 2.0, "muon_b": -1.5, "muon_c": 0.5, "adam_beta_1": 0.8, "adam_beta_2": 0.9, "epsilon": 1e-3, "clipnorm": 0.5}),
    ("ScheduleFreeAdamW", {}), ("ScheduleFreeAdamW", {"learning_rate": 0.1, "warmup_steps": 3, "beta_2": 0.9}),
    ("ScheduleFreeAdamW", {"learning_rate": 0.05, "weight_decay": 0.1, "beta_1": 0.7, "beta_2": 0.9, "epsilon": 1e-3}),
]


def optimizer(name, arguments):
    draw = np.random.default_rng(len(arguments))
    made = getattr(keras.optimizers, name)(**arguments)
    values = [np.round(draw.normal(0, 0.5, s), 3).astype(np.float32) for s in SHAPES]
    variables = [keras.Variable(v, name=f"p{i}") for i, v in enumerate(values)]
    gradients = [[np.round(draw.normal(0, 0.3, s), 3).astype(np.float32) for s in SHAPES] for _ in range(STEPS)]
    after = []
    config = {k: v for k, v in made.get_config().items() if k not in ("name", "exclude_layers")}
    config["learning_rate"] = arguments.get("learning_rate", number(config["learning_rate"]))
    for step in gradients:
        made.apply([g for g in step], variables)
        after.append([tensor(keras.ops.convert_to_numpy(v)) for v in variables])
    slots = [{"path": v.path, "value": tensor(keras.ops.convert_to_numpy(v).astype("int64" if v.path.endswith("iteration") else "float32"))} for v in made.variables]
    return {"in": {"class": name, "arguments": arguments, "config": config, "steps": STEPS, "parameters": [tensor(v) for v in values],
                   "gradients_by_step": [[tensor(g) for g in step] for step in gradients]},
            "out": {"after_step": after, "optimizer_variables": slots}}


# ---- losses ----

# Labels that repeat, that fill all steps, that are few, that are none.
LABELS = [
    ([[1, 2, 3], [2, 2, 0], [3, 0, 0], [0, 0, 0]], 6, 5), ([[1, 1], [1, 2]], 3, 3), ([[4, 4, 4, 4], [1, 2, 1, 2]], 9, 6), ([[1], [0]], 1, 3),
]


def values_of(make, t, q, u):
    out = {}
    for r in REDUCTIONS:
        loss = make(reduction=None if r == "none" else r)
        out[r] = tensor(loss(t, q).numpy())
        out[r + "_weighted"] = tensor(loss(t, q, sample_weight=u).numpy())
    x = tf.constant(q)
    for suffix, weight in ("", None), ("_weighted", u):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = make()(t, x, sample_weight=weight)
        out["gradient_of_default" + suffix] = tensor(tape.gradient(loss, x).numpy())
    return out


def ctc(labels, steps, classes):
    draw = np.random.default_rng(steps)
    labels = np.array(labels, np.int32)
    scores = np.round(draw.normal(0, 2, (len(labels), steps, classes)), 3).astype(np.float32)
    weight = np.array([1, 0.5, 0, 2], np.float32)[:len(labels)]
    return {"in": {"class": "CTC", "arguments": {}, "y_true": tensor(labels), "y_pred": tensor(scores), "sample_weight": tensor(weight)},
            "out": values_of(keras.losses.CTC, labels, scores, weight)}


# Labels in pairs, in one column, of one example alone, all equal, all different; embeddings of another length than 1.
CIRCLE = [
    ([0, 1, 0, 2, 1, 2, 0, 1], 4, {}, 1), ([[5], [5], [-3], [-3], [7], [7]], 3, {"gamma": 16.0, "margin": 0.25}, 1),
    ([0, 1, 1, 0, 1], 6, {"remove_diagonal": False, "gamma": 8.0}, 1), ([1, 1, 1, 2, 3, 3], 2, {"gamma": 4.0, "margin": -0.5}, 0.5),
    ([0, 0, 1, 1, 2], 3, {"gamma": 8.0}, 1), ([3, 3, 3], 2, {}, 1), ([1, 2, 3, 4], 2, {"gamma": 2.0, "remove_diagonal": False}, 2),
]


def circle(labels, size, arguments, length):
    """In float64. On TensorFlow an example without a pair has a gradient of NaN, which is left out."""
    draw = np.random.default_rng(len(labels) + size)
    embeddings = draw.normal(0, 1, (len(labels), size))
    embeddings = np.round(length * embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True), 4)
    weight = np.round(draw.uniform(0, 2, len(labels)), 2)
    labels = np.array(labels, np.int32)
    out = values_of(lambda **more: keras.losses.Circle(dtype="float64", **arguments, **more), labels, embeddings, weight)
    return {"in": {"class": "Circle", "arguments": arguments, "y_true": tensor(labels), "y_pred": tensor(embeddings), "sample_weight": tensor(weight)},
            "out": {k: v for k, v in out.items() if "nan" not in v["data"]}}


def record(part):
    if part == "optimizers":
        return [("optimizer", f"{name}-{i}", optimizer(name, arguments)) for i, (name, arguments) in enumerate(OPTIMIZERS)]
    return ([("loss", f"ctc-{i}", ctc(*x)) for i, x in enumerate(LABELS)]
            + [("loss", f"circle-{i}", circle(*x)) for i, x in enumerate(CIRCLE)])


def run(part, backend):
    done = subprocess.run([sys.executable, __file__, part], env={**os.environ, "KERAS_BACKEND": backend}, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    cases = run("optimizers", "jax") + run("losses", "tensorflow")
    lines = [json.dumps({"id": f"compile/{i + 1:02d}-{slug}".lower(), "op": op, **c}) for i, (op, slug, c) in enumerate(cases)]
    about = "5 steps of optimizers, values and gradients of losses; see record_compile.py."
    head = {"format": 1, "area": "compile", "part": "shared", "tensorflow": tf.__version__, "keras": keras.__version__, "about": about}
    print(json.dumps(head)[:-1] + ', "cases": [\n' + ",\n".join(lines) + "\n]}")


if len(sys.argv) > 1:
    print(json.dumps(record(sys.argv[1])))
else:
    main()
