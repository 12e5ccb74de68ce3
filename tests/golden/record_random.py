# SPDX-License-Identifier: Apache-2.0
"""Draws small trainings, one from each seed, and records what Keras makes of them.

    python -m venv v && v/bin/pip install keras==3.15.1 'jax[cpu]'
    v/bin/python tests/golden/record_random.py 1 300 > build/random.json        # from seed 1 to 300, some seconds each
    build/tests/train/fit_golden_test build/random.json                         # each that comes out differently here

Layers, their arguments, how they are joined, losses, metrics, weights of samples, optimizers and schedules are drawn from the tables below
and in draw_layers.py: a new layer or key is one row. `random.json` holds a few of them, for the tests. On JAX, since Keras on TensorFlow is at
odds with its own formulas in places (docs/coming-from-keras.md). What Keras refuses, or what ends in numbers that are none, is left out and said
on standard error.

Two computations of one formula differ in the last bits, and a training may blow that up without being wrong. So nothing is drawn that divides
a difference of almost 0 by itself: optimizers have a large epsilon, where they have one, and none goes by the sign or the size of noise alone
(Lion, Adafactor, Lamb).
"""
import json
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np
from draw_layers import BY_RANK, Draw, flat
from record_fit import ROWS, STEPS, record

JOINS = ["Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate"]


class Model:
    """Layers one behind the other, now and then joined with one before."""

    def __init__(self, d):
        self.d, self.layers, self.at, self.shape, self.before = d, [], None, None, []

    def put(self, kind, args, shape, inputs=None):
        name = f"{kind.lower()}_{len(self.layers)}"
        self.layers.append({kind: {"name": name, "inputs": inputs or self.at, **args}})
        self.at, self.shape = name, shape
        self.before.append((name, shape))

    def begin(self, name, shape, **args):
        self.layers.append({"Input": {"name": name, "shape": shape, **args}})
        self.at, self.shape = name, shape

    def go_on(self):
        kind = self.d.one(list(BY_RANK[len(self.shape)]))
        drawn = BY_RANK[len(self.shape)][kind](self.d, self.shape)
        if drawn:
            self.put(kind, *drawn)

    def join(self):
        like = [name for name, shape in self.before[:-1] if shape == self.shape]
        if like and self.d.chance(0.6):
            kind = self.d.one(JOINS)
            self.put(kind, {}, self.shape[:-1] + [self.shape[-1] * 2] if kind == "Concatenate" else self.shape, [self.d.one(like), self.at])


def begun(d):
    """An input with what every one of its kind begins with."""
    model = Model(d)
    kind = d.one(["row", "words", "series", "picture"])
    if kind == "words":
        model.begin(d.one(["words", "late", "gaps"]), [STEPS], dtype="int32")
        width = d.whole(2, 4)
        model.put("Embedding", {"input_dim": 7, "output_dim": width, "mask_zero": d.chance(0.6), **d.of_weights("embeddings")}, [STEPS, width])
        return model
    model.begin(*(("x", [4]) if kind == "row" else ("series", [STEPS, 3])))
    if kind == "series" and d.chance(0.4):
        model.put("Masking", {}, model.shape)
    if kind == "picture":
        model.put("Reshape", {"target_shape": [STEPS, 3, 1]}, [STEPS, 3, 1])
    return model


# ---- what is learned: target, units, activation, losses, metrics ----

CLASSES = [{"SparseCategoricalCrossentropy": {"from_logits": True}}, {"SparseCategoricalCrossentropy": {"from_logits": True, "ignore_class": 1}}]
SHARES = ["CategoricalCrossentropy", {"CategoricalCrossentropy": {"label_smoothing": 0.1}}, "KLDivergence", {"Dice": {"axis": [-1]}},
          {"Tversky": {"alpha": 0.3, "beta": 0.7, "axis": [-1]}}, {"CategoricalFocalCrossentropy": {"gamma": 1.5, "alpha": [0.2, 0.3, 0.5]}},
          "Poisson", "CategoricalHinge"]
DECISIONS = ["BinaryCrossentropy", {"BinaryCrossentropy": {"label_smoothing": 0.2}}, {"BinaryFocalCrossentropy": {"apply_class_balancing": True}},
             "Hinge", "SquaredHinge"]
SIZES = ["MeanSquaredError", "MeanAbsoluteError", {"Huber": {"delta": 0.4}}, "LogCosh", "CosineSimilarity", "MeanAbsolutePercentageError"]
TASKS = [
    ("kind", 3, None, CLASSES, ["accuracy", {"SparseTopKCategoricalAccuracy": {"k": 2}}]),
    ("hot", 3, "softmax", SHARES, ["accuracy", {"TopKCategoricalAccuracy": {"k": 2}}, "AUC", "F1Score", {"Precision": {"top_k": 1}},
                                   "categorical_crossentropy"]),
    ("yes", 1, "sigmoid", DECISIONS, ["accuracy", "AUC", "Precision", "Recall", "BinaryIoU", "mse"]),
    ("size", 2, None, SIZES, ["mse", "mae", "RootMeanSquaredError", "CosineSimilarity", "R2Score", "PearsonCorrelation", "LogCoshError"]),
]
DECAY = {"initial_learning_rate": 0.1, "decay_steps": 3}
RATES = [{"ExponentialDecay": {**DECAY, "decay_rate": 0.7}}, {"ExponentialDecay": {**DECAY, "decay_rate": 0.5, "staircase": True}},
         {"InverseTimeDecay": {**DECAY, "decay_rate": 0.6}}, {"PolynomialDecay": {**DECAY, "power": 2.0, "cycle": True}},
         {"CosineDecay": {**DECAY, "alpha": 0.1}}, {"CosineDecay": {**DECAY, "warmup_target": 0.2, "warmup_steps": 2}},
         {"CosineDecayRestarts": {"initial_learning_rate": 0.1, "first_decay_steps": 2}},
         {"PiecewiseConstantDecay": {"boundaries": [2, 4], "values": [0.1, 0.05, 0.02]}}]
ADAM = {"beta_1": [0.7], "beta_2": [0.9], "epsilon": [0.01]}
OPTIMIZERS = {
    "SGD": {"momentum": [0.5, 0.9], "nesterov": [True]}, "Adam": {**ADAM, "amsgrad": [True]}, "AdamW": {**ADAM, "weight_decay": [0.1]},
    "Adamax": ADAM, "Nadam": ADAM, "RMSprop": {"rho": [0.6], "momentum": [0.5], "centered": [True]}, "Adagrad": {"initial_accumulator_value": [0.5]},
    "Adadelta": {"rho": [0.8]}, "Ftrl": {"l1_regularization_strength": [0.01], "l2_regularization_strength": [0.02], "beta": [0.5]},
}
ALL_OPTIMIZERS = {"weight_decay": [0.05], "clipvalue": [0.2], "clipnorm": [0.3], "global_clipnorm": [0.5], "use_ema": [True],
                  "loss_scale_factor": [4.0]}
CLIPS = ("clipvalue", "clipnorm", "global_clipnorm")


def optimizer(d):
    kind = d.one(list(OPTIMIZERS))
    more = d.some(0.12, **ALL_OPTIMIZERS)
    for key in [k for k in CLIPS if k in more][1:]:
        del more[key]
    steady = {} if kind in ("SGD", "Ftrl") else {"epsilon": 0.01}
    return {kind: {"learning_rate": d.one(RATES) if d.chance(0.4) else d.real(0.02, 0.2), **steady, **more, **d.some(0.4, **OPTIMIZERS[kind])}}


def as_keras(loss):
    """Divided by the number of examples, which is our default only where nothing has weights."""
    kind, args = next(iter(loss.items())) if isinstance(loss, dict) else (loss, {})
    return {kind: {**args, "reduction": "sum_over_batch_size"}}


def compiled(d, heads):
    losses, metrics = {}, {}
    for name, task in heads.items():
        losses[name], metrics[name] = as_keras(d.one(task[3])), [m for m in task[4] if d.chance(0.4)]
    many = len(heads) > 1
    single = next(iter(heads))
    out = {"optimizer": optimizer(d), "loss": losses if many else losses[single], "metrics": metrics if many else metrics[single]}
    if not many:
        out["target"] = single
    if many and d.chance(0.5):
        out["loss_weights"] = {name: d.real(0.3, 2) for name in heads}
    if d.chance(0.25):
        out["sample_weight"] = "w"
        if d.chance(0.6):
            out["weighted_metrics"] = out.pop("metrics")
    return out


def case(seed):
    d = Draw(seed)
    model = begun(d)
    for _ in range(d.whole(1, 5)):
        model.go_on()
        model.join()
    if len(model.shape) > 1:
        model.put("Flatten", *flat(d, model.shape))
    trunk, heads = model.at, {}
    for i in d.random.permutation(len(TASKS))[: 2 if d.chance(0.3) else 1]:
        task = TASKS[i]
        heads[task[0]] = task
        model.layers.append({"Dense": {"name": task[0], "inputs": trunk, "units": task[1], **({"activation": task[2]} if task[2] else {})}})
    words = compiled(d, heads)
    # A loss in the history is a mean over what counts, in Keras one over batches.
    batch = ROWS if "ignore_class" in str(words) else d.one([ROWS, 6, 4, 3] + ([5] if len(heads) == 1 else []))
    drawn = {"type": "functional", "layers": model.layers, **({"outputs": list(heads)} if len(heads) > 1 else {})}
    return {"id": f"random/{seed}", "draw": seed, "batch": batch, "model": drawn, "compile": words}


def finite(out):
    return all(not isinstance(x, str) for values in out["history"].values() for x in values)


def recorded(seed):
    try:
        done = record(case(seed))
    except (ValueError, TypeError, NotImplementedError) as refused:
        print(f"random/{seed}: Keras refuses: {str(refused).splitlines()[0]}", file=sys.stderr)
        return None
    if not finite(done["out"]):
        print(f"random/{seed}: ends in numbers that are none", file=sys.stderr)
        return None
    return done


def main():
    first, last = map(int, sys.argv[1:3])
    lines = [json.dumps(done) for done in map(recorded, range(first, last + 1)) if done]
    head = {"format": 1, "area": "fit", "program": "tests/train/fit_golden_test.c", "keras": keras.__version__,
            "about": f"trainings drawn from the seeds {first} to {last} by record_random.py, on Keras' {keras.backend.backend()} back end"}
    print(json.dumps(head)[:-1] + ', "cases": [\n' + ",\n".join(lines) + "\n]}")


if __name__ == "__main__":
    main()
