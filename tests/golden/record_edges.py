# SPDX-License-Identifier: Apache-2.0
"""Records edges.json: what TensorFlow and Keras do at edges that programs meet by accident.

    python -m venv v && v/bin/pip install tensorflow==2.21.0 keras==3.15.1
    v/bin/python tests/golden/record_edges.py > tests/golden/edges.json

Means of integers, truth values and zeros in reduce; losses at their kinks, of targets with one
dimension, and of labels that are floats; zip of batches of different sizes; boundaries that are not
sorted. Strategies of different sizes cannot be used in one process: each has a process of its own.
"""
import json
import os
import subprocess
import sys

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="")
import keras
import numpy as np
import tensorflow as tf

REDUCTIONS = ["none", "sum_over_batch_size", "sum", "mean", "mean_with_sample_weight"]


def number(x):
    x = np.float32(x)
    return float(np.format_float_scientific(x, unique=True)) if np.isfinite(x) else str(x)


def cell(a, x):
    if a.dtype == np.float64:
        return float(x)
    return number(x) if a.dtype.kind == "f" else bool(x) if a.dtype.kind == "b" else int(x)


def tensor(a):
    a = np.asarray(a)
    return {"shape": list(a.shape), "dtype": str(a.dtype), "data": [cell(a, x) for x in a.ravel()]}


def case(op, slug, inputs, run):
    """What run returns, or its error."""
    try:
        return {"id": slug, "op": op, "in": inputs, "out": run()}
    except Exception as e:
        return {"id": slug, "op": op, "in": inputs, "error": {"type": type(e).__name__.replace("ValidationError", "ValueError"), "message": str(e)[:400]}}


# ---- reduce ----

def reduces(n):
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 4)
    s = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(n)])
    strategy = {"type": "MirroredStrategy", "num_replicas": n}
    values = {
        "int8": [np.array([1, 2 + i], np.int8) for i in range(n)],
        "uint8": [np.array([3, 2 + i], np.uint8) for i in range(n)],
        "int32": [np.array([1, 2 + i], np.int32) for i in range(n)],
        "int64": [np.array([1, -2 - i], np.int64) for i in range(n)],
        "int32-scalar": [np.array(3 + i, np.int32) for i in range(n)],
        "bool": [np.array([True, i == 0]) for i in range(n)],
    }
    for name, parts in values.items():
        for op in "SUM", "MEAN":
            for axis in [None] if parts[0].ndim == 0 else [None, 0]:
                def run():
                    v = s.experimental_distribute_values_from_function(lambda c: tf.constant(parts[c.replica_id_in_sync_group]))
                    return {"result": tensor(s.reduce(op, v, axis=axis).numpy())}
                yield case("reduce", f"reduce-{n}-{name}-{op}-{axis}".lower(), {"strategy": strategy, "reduce_op": op, "axis": axis,
                           "value_is": "per_replica", "value": [tensor(p) for p in parts]}, run)
    shared = {"zeros": np.zeros(3, np.float32), "zero": np.float32(0), "int-zeros": np.zeros(2, np.int32), "ints": np.array([1, 2], np.int32),
              "bool": np.array([True, False]), "false": np.array([False, False])}
    for name, value in shared.items():
        for op in "SUM", "MEAN":
            for axis in [None] if value.ndim == 0 else [None, 0]:
                yield case("reduce", f"reduce-{n}-tensor-{name}-{op}-{axis}".lower(), {"strategy": strategy, "reduce_op": op, "axis": axis,
                           "value_is": "tensor", "value": tensor(value)},
                           lambda: {"result": tensor(s.reduce(op, tf.constant(value), axis=axis).numpy())})
    for text in "np.zeros(3)", "np.zeros((2, 2))", "0.5", "2":
        for op in "SUM", "MEAN":
            yield case("reduce_python_value", f"reduce-{n}-python-{text}-{op}".lower(), {"strategy": strategy, "expression": f"reduce('{op}', {text}, axis=None)"},
                       lambda: {"result": tensor(np.asarray(s.reduce(op, eval(text), axis=None)))})


# ---- losses ----

def losses():
    kink = np.array([[1, -1, 1], [-1, 1, -1]], np.float32)
    at = np.array([[1, -1, 0.5], [-1, 2, 1]], np.float32)
    y, p = np.array([1, 0, 2, 0.5], np.float32), np.array([0.75, 0.25, 2, 0.125], np.float32)
    share, w = np.array([1, 0, 1, 1], np.float32), np.array([1, 2, 0.5, 0], np.float32)
    logits = np.array([[2, 1, -1], [0, 0.5, 1], [1, 1, 1]], np.float32)
    sparse = "SparseCategoricalCrossentropy"
    rows = [
        ("kink", "Hinge", {}, kink, at, None), ("kink", "SquaredHinge", {}, kink, at, None), ("kink-all", "Hinge", {}, kink, kink, None),
        ("kink-zero-one", "Hinge", {}, (kink > 0).astype(np.float32), kink, None),
        ("kink", "CategoricalHinge", {}, np.eye(3, dtype=np.float32), np.array([[1, 0, 0], [0.5, 0.5, 0.5], [2, 0, 3]], np.float32), None),
        ("kink", "Huber", {"delta": 0.5}, kink, kink + np.float32(0.5), None), ("kink", "MeanAbsoluteError", {}, kink, at, None),
        ("kink", "MeanAbsolutePercentageError", {}, kink, at, None), ("kink", "LogCosh", {}, kink, at, None),
    ]
    rows += [(f"rank-1{'-weighted' if u is not None else ''}", name, {}, share if "Binary" in name or "Hinge" in name else y,
              np.clip(p, 0.1, 0.9) if "Binary" in name else p, u)
             for name in ("MeanSquaredError", "MeanAbsoluteError", "MeanAbsolutePercentageError", "MeanSquaredLogarithmicError", "Huber", "LogCosh",
                          "BinaryCrossentropy", "BinaryFocalCrossentropy", "Hinge", "SquaredHinge", "Poisson", "KLDivergence", "CosineSimilarity")
             for u in (None, w)]
    rows += [
        ("rank-1-against-column", "MeanSquaredError", {}, y, p[:, None], None), ("column-against-rank-1", "MeanSquaredError", {}, y[:, None], p, None),
        ("rank-1-against-column-weighted", "MeanSquaredError", {}, y, p[:, None], w), ("rank-1-logits", "BinaryCrossentropy", {"from_logits": True}, share, p, None),
        ("float-labels", sparse, {"from_logits": True}, np.array([0, 2, 1], np.float32), logits, None),
        ("float-labels-column", sparse, {"from_logits": True}, np.array([[0], [2], [1]], np.float32), logits, None),
        ("float64-labels", sparse, {"from_logits": True}, np.array([0, 2, 1], np.float64), logits, np.array([1, 2, 3], np.float32)),
        ("float-labels-ignored", sparse, {"from_logits": True, "ignore_class": 2}, np.array([0, 2, 1], np.float32), logits, None),
        ("float-labels-probabilities", sparse, {}, np.array([0, 2, 1], np.float32), np.exp(logits) / np.exp(logits).sum(-1, keepdims=True), None),
        ("float-labels-outside", sparse, {"from_logits": True}, np.array([0, 3, 1], np.float32), logits, None),
    ]
    for slug, name, arguments, t, q, u in rows:
        yield case("loss", f"{name}-{slug}".lower(), {"class": name, "arguments": arguments, "y_true": tensor(t), "y_pred": tensor(q),
                   "sample_weight": tensor(u) if u is not None else None}, lambda: values_of(name, arguments, t, q, u))


def values_of(name, arguments, t, q, u):
    make, out = getattr(keras.losses, name), {}
    for r in REDUCTIONS:
        loss = make(reduction=None if r == "none" else r, **arguments)
        out[r] = tensor(loss(t, q).numpy())
        if u is not None:
            out[r + "_weighted"] = tensor(loss(t, q, sample_weight=u).numpy())
    x = tf.constant(q)
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = make(**arguments)(t, x)
    out["default"] = tensor(loss.numpy())
    out["gradient_of_default"] = tensor(tape.gradient(loss, x).numpy())
    return out


# ---- schedules ----

def schedules():
    for boundaries in [5, 2], [2, 5], [3, 3], [4, 1, 3], [1, 4, 2]:
        values = [1.0, 0.5, 0.25, 0.125][:len(boundaries) + 1]
        arguments = {"boundaries": boundaries, "values": values}
        steps = list(range(8))
        yield case("lr_schedule", "piecewise-" + "-".join(map(str, boundaries)), {"class": "PiecewiseConstantDecay", "arguments": arguments, "steps": steps},
                   lambda: {"learning_rate": [number(keras.optimizers.schedules.PiecewiseConstantDecay(**arguments)(k)) for k in steps]})


# ---- zip ----

def spec(s):
    if isinstance(s, dict):
        return {k: spec(x) for k, x in s.items()}
    if isinstance(s, (tuple, list)):
        return [spec(x) for x in s]
    return {"shape": s.shape.as_list(), "dtype": s.dtype.name}


def spec_of(s, n):
    if isinstance(s, (tuple, list)):
        return [spec_of(x, n) for x in s]
    return {"per_replica": [spec(x) for x in s._value_specs]} if n > 1 else spec(s)


def plain(s, x, r):
    if isinstance(x, (tuple, list)):
        return [plain(s, y, r) for y in x]
    return s.experimental_local_results(x)[r].numpy().tolist()


def zips(n):
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 4)
    s = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(n)])
    strategy = {"type": "MirroredStrategy", "num_replicas": n}
    D = tf.data.Dataset
    for a, b, drop in (2, 3, 0), (4, 2, 0), (4, 4, 0), (3, 3, 0), (4, 2, 1), (2, 4, 1), (5, 4, 1), (4, 4, 1):
        full = ", drop_remainder=True" if drop else ""
        pipeline = [f"zip(range(12).batch({a}{full}), range(12).batch({b}{full}))"]

        def run():
            d = s.experimental_distribute_dataset(D.zip((D.range(12).batch(a, bool(drop)), D.range(12).batch(b, bool(drop)))))
            return {"element_spec": spec_of(d.element_spec, n), "steps": [[plain(s, x, r) for r in range(n)] for x in d]}
        yield case("distribute_pipeline", f"zip-{n}-batches-{a}-{b}{'-full' if drop else ''}", {"strategy": strategy, "pipeline": pipeline}, run)


PARTS = {"reduce": reduces, "losses": losses, "schedules": schedules, "zip": zips}
RUNS = [("reduce", 1), ("reduce", 2), ("reduce", 3), ("losses",), ("schedules",), ("zip", 1), ("zip", 2)]

if __name__ == "__main__":
    if len(sys.argv) > 1:
        for c in PARTS[sys.argv[1]](*map(int, sys.argv[2:])):
            print(json.dumps(c))
        sys.exit()
    lines = []
    for part in RUNS:
        done = subprocess.run([sys.executable, __file__, *map(str, part)], stdout=subprocess.PIPE, text=True, check=True)
        lines += [line for line in done.stdout.splitlines() if line.startswith("{")]
    for i, line in enumerate(lines):
        c = json.loads(line)
        c["id"] = f"edges/{i + 1:03d}-{c['id']}"
        lines[i] = json.dumps(c)
    about = "Edges that programs meet by accident; see record_edges.py."
    head = {"format": 1, "area": "edges", "part": "examples", "tensorflow": tf.__version__, "keras": keras.__version__, "about": about}
    print(json.dumps(head)[:-1] + ', "cases": [\n' + ",\n".join(lines) + "\n]}")
