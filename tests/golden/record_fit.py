# SPDX-License-Identifier: Apache-2.0
"""Records fit.json: small models trained by Keras' fit, in one batch or several of equal size, with all that `compile` can say.

    python -m venv v && v/bin/pip install keras==3.15.1 tensorflow-cpu==2.21.0
    v/bin/python tests/golden/record_fit.py > tests/golden/fit.json

A case is a job without a strategy: data by element name, model, compile and fit as a job has them, weights to begin with. `out` has the history by
Keras' keys, and the weights that training ends with. Words that dtrain has besides Keras' (`target`, `sample_weight`) are taken apart here.
"""
import json
import os
import sys

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="")
import keras
import numpy as np
from keras.src.utils.naming import to_snake_case

ROWS, EPOCHS, STEPS = 12, 3, 5
NAMES = {"FBetaScore": "fbeta_score", "LogCoshError": "logcosh"}  # Keras' own, where they are not the class's


def number(x):
    x = np.float32(x)
    return float(np.format_float_scientific(x, unique=True)) if np.isfinite(x) else str(x)


def numbers(history):
    """A metric of several numbers, an array in Keras' history, is NAME_0, NAME_1, ... here."""
    out = {}
    for key, values in history.items():
        if np.ndim(values[0]) == 0:
            out[key] = [number(x) for x in values]
        else:
            out.update({f"{key}_{i}": [number(x[i]) for x in values] for i in range(len(values[0]))})
    return out


def tensor(a):
    a = np.asarray(a)
    data = [number(x) for x in a.ravel()] if a.dtype.kind == "f" else [int(x) for x in a.ravel()]
    return {"shape": list(a.shape), "dtype": str(a.dtype), "data": data}


def data():
    draw = np.random.default_rng(5)
    x = draw.normal(size=(ROWS, 4)).astype(np.float32)
    return {
        "x": x,
        "kind": draw.integers(0, 3, ROWS).astype(np.int32),
        "ignored": np.where(draw.random(ROWS) < 0.3, -1, draw.integers(0, 3, ROWS)).astype(np.int32),
        "hot": np.eye(3, dtype=np.float32)[draw.integers(0, 3, ROWS)],
        "yes": draw.integers(0, 2, (ROWS, 1)).astype(np.float32),
        "size": (x[:, :2] * 0.7 + 0.2 * draw.normal(size=(ROWS, 2))).astype(np.float32),
        "w": draw.uniform(0.2, 2, ROWS).astype(np.float32),
        "v": draw.uniform(0, 1, ROWS).astype(np.float32),
        **sequences(np.random.default_rng(6)),
    }


def sequences(draw):
    """Of STEPS steps: padded behind (words), before (late), one of them nothing but padding (gaps); what is told and counted step by step."""
    length = draw.integers(1, STEPS + 1, ROWS)
    behind = np.arange(STEPS) < length[:, None]
    words = np.where(behind, draw.integers(1, 7, (ROWS, STEPS)), 0).astype(np.int32)
    gaps = np.where(draw.random((ROWS, STEPS)) < 0.6, draw.integers(1, 7, (ROWS, STEPS)), 0).astype(np.int32)
    gaps[3] = 0
    series = (draw.normal(size=(ROWS, STEPS, 3)) * (draw.random((ROWS, STEPS, 1)) < 0.7)).astype(np.float32)
    tags = draw.integers(0, 4, (ROWS, STEPS)).astype(np.int32)
    return {
        "words": words, "late": np.ascontiguousarray(words[:, ::-1]), "gaps": gaps, "series": series, "tags": tags,
        "ignored_tags": np.where(draw.random((ROWS, STEPS)) < 0.3, -1, tags).astype(np.int32),
        "rises": draw.integers(0, 2, (ROWS, STEPS, 1)).astype(np.float32),
        "places": draw.normal(size=(ROWS, STEPS, 2)).astype(np.float32),
        "by_step": draw.uniform(0.2, 2, (ROWS, STEPS)).astype(np.float32),
    }


def layer(entry, made):
    if isinstance(entry, str):
        entry = {entry: {}}
    (name, args), = entry.items()
    args = dict(args)
    if name == "Input":
        return args["name"], keras.Input(args["shape"], name=args["name"], dtype=args.get("dtype"))
    inputs, causal = args.pop("inputs", None), args.pop("use_causal_mask", False)
    built = class_of(name, args)
    below = list(made.values())[-1] if inputs is None else [made[i] for i in inputs] if isinstance(inputs, list) else made[inputs]
    if name in ("MultiHeadAttention", "GroupQueryAttention"):
        return built.name, built(below, below, use_causal_mask=causal)
    return built.name, built(below)


def class_of(name, args):
    args = dict(args)
    for room, key in [(room, k) for k in args for room in ("regularizer", "constraint") if k.endswith("_" + room)]:
        args[key] = made_of(getattr(keras, room + "s"), args[key])
    if "layer" in args:
        (within, said), = args["layer"].items()
        args["layer"] = class_of(within, said)
    if keras.backend.backend() != "tensorflow":
        args.pop("synchronized", None)  # one device is all of them; other back ends refuse the word
    return getattr(keras.layers, name)(**args)


def made_of(room, entry):
    if isinstance(entry, str):
        return room.get(entry)
    (name, args), = entry.items()
    return getattr(room, name)(**args)


def nested(room, spec):
    """A loss or metric, a list or mapping of such; metrics by class have the class's name, not numbered over the process."""
    if spec is None:
        return spec
    if isinstance(spec, str):
        return nested(room, {spec: {}}) if spec[0].isupper() else spec
    if isinstance(spec, list):
        return [nested(room, s) for s in spec]
    if len(spec) == 1 and hasattr(room, next(iter(spec))):
        (name, args), = spec.items()
        words = {"name": NAMES.get(name, to_snake_case(name)), **({"dtype": "float32"} if "IoU" in name else {}), **args}
        return made_of(room, {name: {k: None if v == "none" else v for k, v in words.items()}})
    return {k: nested(room, v) for k, v in spec.items()}


def inputs_of(spec):
    return [entry["Input"]["name"] for entry in spec["layers"] if isinstance(entry, dict) and "Input" in entry]


def model_of(spec):
    made = {}
    for entry in spec["layers"]:
        name, value = layer(entry, made)
        made[name] = value
    outputs = spec.get("outputs", list(made)[-1])
    inputs = [made[i] for i in inputs_of(spec)]
    return keras.Model(inputs, [made[o] for o in outputs] if isinstance(outputs, list) else made[outputs]), outputs


def paths(model):
    return {w.path: w for w in model.weights}


def draw_weights(model, draw):
    """No bias is 0 then, and no two are alike."""
    for w in model.weights:
        positive = w.path.rsplit("/", 1)[1] in ("gamma", "moving_variance")
        w.assign(draw.uniform(0.5, 1.5, w.shape) if positive else draw.normal(0, 0.5, w.shape))


def record(case):
    keras.utils.clear_session()
    keras.utils.set_random_seed(3)
    d = data()
    model, outputs = model_of(case["model"])
    compile_ = dict(case["compile"])
    target, weight = compile_.pop("target", {}), compile_.pop("sample_weight", None)
    listed = outputs if isinstance(outputs, list) else [outputs]
    fed = inputs_of(case["model"])
    used = list(fed)

    def element(name):
        used.append(name)
        return d[name]

    target = target if isinstance(target, dict) else {listed[0]: target}
    y = [element(target.get(o, o)) for o in listed]
    w = None
    if isinstance(weight, dict):
        w = [element(weight[o]) if o in weight else np.ones(ROWS, np.float32) for o in listed]
    elif weight:
        w = element(weight)
    words = {k: dict(v) for k, v in compile_.pop("optimizer").items()}
    arguments = next(iter(words.values()))
    kept = arguments.pop("exclude_from_weight_decay", None)
    if isinstance(arguments["learning_rate"], dict):
        arguments["learning_rate"] = made_of(keras.optimizers.schedules, arguments["learning_rate"])
    optimizer = made_of(keras.optimizers, words)
    if kept:
        optimizer.exclude_from_weight_decay(var_names=kept)
    built = {k: nested(keras.losses if k == "loss" else keras.metrics, v) for k, v in compile_.items() if k not in ("loss_weights", "precision")}
    if "loss_weights" in compile_:
        built["loss_weights"] = compile_["loss_weights"]
    model.compile(optimizer=optimizer, **built)
    if "draw" in case:
        draw_weights(model, np.random.default_rng(case["draw"]))
    before = {k: tensor(v.numpy()) for k, v in paths(model).items()}
    fit = dict(case.get("fit", {}))
    batch = case.get("batch", ROWS)
    history = model.fit(d[fed[0]] if len(fed) == 1 else [d[i] for i in fed], y if len(y) > 1 else y[0], sample_weight=w, batch_size=batch, epochs=EPOCHS, shuffle=False, verbose=0,
                        validation_split=case.get("validation_split", 0.0), callbacks=[made_of(keras.callbacks, c) for c in fit.get("callbacks", [])],
                        class_weight=({int(k): v for k, v in fit["class_weight"].items()} if "class_weight" in fit else None))
    history = numbers(history.history)
    evaluated = {} if not case.get("evaluate") else {"evaluated": {
        k: number(v) for k, v in model.evaluate(d["x"], y if len(y) > 1 else y[0], batch_size=batch, verbose=0, return_dict=True).items()}}
    return {"id": case["id"], "op": "fit",
            "in": {"data": {n: tensor(d[n]) for n in dict.fromkeys(used)}, "batch": batch, "validation_split": case.get("validation_split", 0.0), "model": case["model"], "compile": case["compile"],
                   "fit": {"epochs": EPOCHS, **fit}, "weights": before},
            "out": {"history": history, **evaluated, "weights": {k: tensor(v.numpy()) for k, v in paths(model).items()}}}


SGD = {"SGD": {"learning_rate": 0.1}}
TWO = {"type": "functional", "outputs": ["kind", "size"], "layers": [
    {"Input": {"name": "x", "shape": [4]}}, {"Dense": {"name": "shared", "units": 5, "activation": "tanh"}},
    {"Dense": {"name": "kind", "units": 3}}, {"Dense": {"name": "size", "inputs": "shared", "units": 2}}]}


def one(units, activation=None, **more):
    return {"layers": [{"Input": {"name": "x", "shape": [4]}}, {"Dense": {"name": "hidden", "units": 5, "activation": "tanh", **more}},
                       {"Dense": {"name": "out", "units": units, **({"activation": activation} if activation else {})}}]}


LOGITS = {"SparseCategoricalCrossentropy": {"from_logits": True, "reduction": "sum_over_batch_size"}}
BY_WEIGHT = {"SparseCategoricalCrossentropy": {"from_logits": True, "reduction": "mean_with_sample_weight"}}
MSE = {"MeanSquaredError": {"reduction": "sum_over_batch_size"}}
BCE = {"BinaryCrossentropy": {"reduction": "sum_over_batch_size"}}
BOTH = {"kind": LOGITS, "size": MSE}
YES = ["AUC", {"AUC": {"curve": "PR", "num_thresholds": 50, "name": "pr"}}, "Precision", "Recall", {"Precision": {"thresholds": 0.4, "name": "p4"}},
       "TruePositives", "FalsePositives", "TrueNegatives", "FalseNegatives", {"PrecisionAtRecall": {"recall": 0.5}},
       {"RecallAtPrecision": {"precision": 0.5}}, {"SensitivityAtSpecificity": {"specificity": 0.5}},
       {"SpecificityAtSensitivity": {"sensitivity": 0.5}}, "accuracy"]
WORDS = {"Input": {"name": "words", "shape": [STEPS], "dtype": "int32"}}
TABLE = {"Embedding": {"name": "table", "input_dim": 7, "output_dim": 4, "mask_zero": True}}
SCORES = {"Dense": {"name": "out", "units": 3}}
BY_STEP = {"Dense": {"name": "out", "units": 4}}
CLASSES = {"optimizer": SGD, "loss": LOGITS, "target": "kind", "metrics": ["accuracy"]}
TAGS = {"optimizer": SGD, "loss": LOGITS, "target": "tags", "metrics": ["accuracy", "sparse_categorical_crossentropy"]}


def masked(name, *layers, given="words", **compile_):
    """A padded sequence through the layers, then CLASSES; or what is said of compile."""
    return {"id": "fit/mask-" + name, "model": {"layers": [{"Input": dict(WORDS["Input"], name=given)}, TABLE, *layers]}, "compile": {**CLASSES, **compile_}}


def two_masked(name, *layers, other="gaps", **compile_):
    """Two sequences, of which the second has a table of its own."""
    return {"id": "fit/mask-" + name, "compile": {**CLASSES, **compile_}, "model": {"type": "functional", "layers": [
        WORDS, TABLE, {"Input": {"name": other, "shape": [STEPS], "dtype": "int32"}},
        {"Embedding": {"name": "more", "input_dim": 7, "output_dim": 4, "mask_zero": other != "late", "inputs": other}}, *layers]}}


def joined(kind, **args):
    return {kind: {"name": "joined", "inputs": ["table", "more"], **args}}


RECURRENT = {"units": 3, "return_sequences": True}
MEAN = {"GlobalAveragePooling1D": {}}
HIGHEST = {"GlobalMaxPooling1D": {}}
HEADS = {"num_heads": 2, "key_dim": 3, "name": "heads"}
MASKS = [
    masked("lstm", {"LSTM": {"units": 3}}, SCORES),
    masked("gru-gaps", {"GRU": {"units": 3}}, SCORES, given="gaps"),
    masked("simple-backwards", {"SimpleRNN": {"units": 3, "go_backwards": True}}, SCORES, given="gaps"),
    masked("stacked", {"GRU": {**RECURRENT, "reset_after": False}}, {"LayerNormalization": {}}, {"Dropout": {"rate": 0.0}}, {"LSTM": {"units": 3}}, SCORES,
           given="late"),
    masked("zero-output", {"LSTM": {**RECURRENT, "zero_output_for_mask": True}}, "Flatten", SCORES, given="gaps"),
    masked("last-output", {"LSTM": RECURRENT}, "Flatten", SCORES, given="gaps"),
    masked("zero-last-output", {"GRU": {"units": 3, "zero_output_for_mask": True}}, SCORES, given="gaps"),
    masked("bidirectional", {"Bidirectional": {"layer": {"LSTM": {"units": 3}}}}, SCORES),
    masked("bidirectional-mean", {"Bidirectional": {"layer": {"GRU": RECURRENT}, "merge_mode": "sum"}}, MEAN, SCORES),
    masked("bidirectional-flat", {"Bidirectional": {"layer": {"GRU": RECURRENT}}}, "Flatten", SCORES, given="gaps"),
    masked("mean", {"Dense": {"units": 3, "activation": "relu"}}, {"Activation": {"activation": "tanh"}}, {"GlobalAveragePooling1D": {"keepdims": True}},
           "Flatten", SCORES),
    masked("dropped", {"Conv1D": {"filters": 3, "kernel_size": 2}}, MEAN, SCORES),
    masked("normalized", {"BatchNormalization": {"synchronized": True}}, {"GRU": {"units": 3}}, SCORES, given="gaps"),
    masked("attention", {"MultiHeadAttention": HEADS}, HIGHEST, SCORES, given="gaps"),
    masked("attention-mean", {"MultiHeadAttention": {**HEADS, "value_dim": 2, "use_bias": False}}, MEAN, SCORES),
    masked("attention-causal", {"MultiHeadAttention": {**HEADS, "use_causal_mask": True}}, "Flatten", SCORES, given="late"),
    masked("attention-window", {"MultiHeadAttention": {**HEADS, "sliding_window": 2}}, "Flatten", SCORES, given="gaps"),
    masked("attention-groups", {"GroupQueryAttention": {"head_dim": 3, "num_query_heads": 4, "num_key_value_heads": 2, "name": "heads"}}, HIGHEST, SCORES,
           given="gaps"),
    {"id": "fit/mask-values", "compile": CLASSES, "model": {"layers": [
        {"Input": {"name": "series", "shape": [STEPS, 3]}}, {"Masking": {}}, {"SimpleRNN": {"units": 4}}, SCORES]}},
    *[two_masked(kind.lower(), joined(kind), {"GRU": {"units": 3, "inputs": "joined"}}, SCORES)
      for kind in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate")],
    *[two_masked(kind.lower() + "-one", joined(kind), {"GRU": {"units": 3, "inputs": "joined"}}, SCORES, other="late")
      for kind in ("Add", "Multiply", "Maximum", "Concatenate")],
    two_masked("concatenate-steps", joined("Concatenate", axis=1), {"GRU": {"units": 3}}, SCORES),
    two_masked("concatenate-steps-one", joined("Concatenate", axis=1), {"GRU": {"units": 3}}, SCORES, other="late"),
    masked("tags", {"LSTM": RECURRENT}, BY_STEP, **TAGS),
    masked("tags-weights", {"GRU": RECURRENT}, BY_STEP, **TAGS, sample_weight="by_step", weighted_metrics=["accuracy"]),
    masked("tags-weights-mean", BY_STEP, **{**TAGS, "loss": BY_WEIGHT}, sample_weight="by_step"),
    masked("tags-ignored", BY_STEP, **{**TAGS, "metrics": [], "target": "ignored_tags", "loss": {"SparseCategoricalCrossentropy": {
        "from_logits": True, "ignore_class": -1, "reduction": "sum_over_batch_size"}}}),
    masked("tags-softmax", {"Dense": {"name": "out", "units": 4, "activation": "softmax"}}, given="gaps", **{
        **TAGS, "loss": {"SparseCategoricalCrossentropy": {"reduction": "sum_over_batch_size"}}}),
    masked("rises", {"Dense": {"name": "out", "units": 1, "activation": "sigmoid"}}, optimizer=SGD, loss=BCE, target="rises",
           metrics=["accuracy", "AUC", "Precision", "Recall", "TruePositives", "binary_crossentropy"]),
    masked("places", {"Dense": {"name": "out", "units": 2}}, optimizer=SGD, loss=MSE, target="places", sample_weight="by_step",
           metrics=["mae", "RootMeanSquaredError", "CosineSimilarity"], weighted_metrics=["mse", {"RootMeanSquaredError": {"name": "weighted_root"}}]),
    {"id": "fit/mask-two-outputs", "model": {"type": "functional", "outputs": ["tags", "kind"], "layers": [
        WORDS, TABLE, {"Dense": {"name": "tags", "units": 4}}, {"GlobalAveragePooling1D": {"name": "mean", "inputs": "table"}}, {"Dense": {"name": "kind", "units": 3}}]},
     "compile": {"optimizer": SGD, "loss": {"tags": LOGITS, "kind": LOGITS}, "loss_weights": {"tags": 0.5, "kind": 2.0},
                 "metrics": {"tags": ["accuracy"], "kind": ["accuracy"]}}},
]
CASES = [
    {"id": "fit/two-outputs", "model": TWO, "compile": {"optimizer": SGD, "loss": BOTH, "metrics": {"kind": ["accuracy"], "size": ["mae", "mse"]}}},
    {"id": "fit/two-outputs-batches", "batch": 4, "model": TWO, "compile": {
        "optimizer": {"Adam": {"learning_rate": 0.02}}, "loss": BOTH, "loss_weights": {"kind": 0.3, "size": 2.0},
        "metrics": {"kind": ["accuracy"], "size": ["mae"]}}},
    {"id": "fit/two-outputs-lists", "model": TWO, "compile": {
        "optimizer": SGD, "loss": [LOGITS, MSE], "loss_weights": [1.5, 0.5], "metrics": [["accuracy"], ["mae"]]}},
    {"id": "fit/two-outputs-one-loss", "model": TWO, "compile": {"optimizer": SGD, "loss": {"kind": LOGITS, "size": None}, "metrics": {"size": ["mae"]}}},
    {"id": "fit/two-outputs-weights", "model": TWO, "compile": {
        "optimizer": SGD, "loss": BOTH, "sample_weight": {"kind": "w", "size": "v"}, "loss_weights": {"kind": 1.0, "size": 0.5},
        "metrics": {"kind": ["accuracy"], "size": ["mae"]}, "weighted_metrics": {"kind": ["accuracy"], "size": ["mse"]}}},
    {"id": "fit/two-outputs-own-divisors", "model": TWO, "compile": {
        "optimizer": SGD, "loss": {"kind": BY_WEIGHT, "size": {"MeanSquaredError": {"reduction": "mean_with_sample_weight"}}},
        "sample_weight": {"kind": "w", "size": "v"}, "weighted_metrics": {"kind": ["accuracy"]}}},
    {"id": "fit/two-outputs-same-weights", "model": TWO, "compile": {
        "optimizer": SGD, "loss": BOTH, "sample_weight": "w", "weighted_metrics": {"kind": ["accuracy"], "size": ["mse"]}}},
    {"id": "fit/decisions", "model": one(1, "sigmoid"), "compile": {"optimizer": SGD, "loss": BCE, "target": "yes", "metrics": YES}},
    {"id": "fit/decisions-batches", "batch": 3, "model": one(1, "sigmoid"), "compile": {"optimizer": SGD, "loss": BCE, "target": "yes", "metrics": YES}},
    {"id": "fit/decisions-weighted", "batch": 6, "model": one(1, "sigmoid"), "compile": {
        "optimizer": SGD, "loss": BCE, "target": "yes", "sample_weight": "w", "metrics": ["accuracy"], "weighted_metrics": YES}},
    {"id": "fit/classes", "batch": 4, "model": one(3, "softmax"), "compile": {
        "optimizer": SGD, "loss": {"CategoricalCrossentropy": {"reduction": "sum_over_batch_size"}}, "target": "hot",
        "metrics": [{"F1Score": {"average": "macro"}}, {"FBetaScore": {"average": "weighted", "beta": 2.0}}, {"F1Score": {"average": "micro", "name": "micro"}},
                    "AUC", {"Precision": {"class_id": 1}}, {"Recall": {"top_k": 2}}, {"TopKCategoricalAccuracy": {"k": 2}}]}},
    {"id": "fit/each-class", "batch": 5, "model": one(3, "softmax"), "compile": {
        "optimizer": SGD, "loss": {"CategoricalCrossentropy": {"reduction": "sum_over_batch_size"}}, "target": "hot", "sample_weight": "w",
        "metrics": ["F1Score", {"FBetaScore": {"beta": 2.0, "threshold": 0.4}}, {"AUC": {"multi_label": True}}, {"OneHotMeanIoU": {"num_classes": 3}},
                    {"Precision": {"thresholds": [0.3, 0.4]}}],
        "weighted_metrics": ["F1Score", {"OneHotIoU": {"num_classes": 3, "target_class_ids": [0, 2]}}, {"R2Score": {"class_aggregation": "none"}}]}},
    {"id": "fit/masks", "batch": 5, "model": one(3, "softmax"), "compile": {
        "optimizer": SGD, "loss": "sparse_categorical_crossentropy", "target": "kind",
        "metrics": [{"MeanIoU": {"num_classes": 3, "sparse_y_pred": False}}, {"IoU": {"num_classes": 3, "target_class_ids": [1], "sparse_y_pred": False}}]}},
    {"id": "fit/overlap-of-two", "batch": 4, "model": one(1, "sigmoid"), "compile": {
        "optimizer": SGD, "loss": BCE, "target": "yes", "metrics": ["BinaryIoU", {"BinaryIoU": {"target_class_ids": [1], "name": "ones"}}]}},
    {"id": "fit/correlations", "batch": 4, "model": one(2), "compile": {
        "optimizer": SGD, "loss": MSE, "target": "size", "sample_weight": "w", "metrics": ["PearsonCorrelation", "ConcordanceCorrelation"],
        "weighted_metrics": ["ConcordanceCorrelation"]}},
    {"id": "fit/decay-but-biases", "batch": 4, "model": one(3), "compile": {
        "optimizer": {"AdamW": {"learning_rate": 0.05, "weight_decay": 0.3, "exclude_from_weight_decay": ["bias"]}}, "loss": LOGITS, "target": "kind"}},
    {"id": "fit/decay-but-kernels", "batch": 4, "model": one(3), "compile": {
        "optimizer": {"Lamb": {"learning_rate": 0.05, "weight_decay": 0.3, "exclude_from_weight_decay": ["kernel"]}}, "loss": LOGITS, "target": "kind"}},
    {"id": "fit/accumulated-scaled-clipped", "batch": 4, "model": one(3), "compile": {
        "optimizer": {"Adam": {"learning_rate": 0.05, "gradient_accumulation_steps": 2, "loss_scale_factor": 8.0, "global_clipnorm": 0.3}}, "loss": LOGITS,
        "target": "kind"}},
    {"id": "fit/means", "batch": 4, "model": one(3), "validation_split": 0.25, "compile": {
        "optimizer": {"SGD": {"learning_rate": 0.3, "use_ema": True, "ema_momentum": 0.7, "ema_overwrite_frequency": 5}}, "loss": LOGITS, "target": "kind"}},
    {"id": "fit/means-swapped", "batch": 3, "model": one(3), "validation_split": 0.25, "fit": {"callbacks": [{"SwapEMAWeights": {}}]}, "compile": {
        "optimizer": {"SGD": {"learning_rate": 0.3, "use_ema": True, "ema_momentum": 0.7}}, "loss": LOGITS, "target": "kind", "metrics": ["accuracy"]}},
    {"id": "fit/means-swapped-on-epochs", "batch": 3, "model": one(3), "validation_split": 0.25, "fit": {"callbacks": [{"SwapEMAWeights": {"swap_on_epoch": True}}]},
     "compile": {"optimizer": {"Adam": {"learning_rate": 0.1, "use_ema": True, "ema_momentum": 0.7}}, "loss": LOGITS, "target": "kind"}},
    {"id": "fit/dice", "model": one(3, "softmax"), "compile": {"optimizer": SGD, "loss": "dice", "target": "hot", "metrics": ["accuracy"]}},
    {"id": "fit/dice-batches", "batch": 5, "evaluate": True, "model": one(3, "softmax"), "compile": {
        "optimizer": {"Adam": {"learning_rate": 0.05}}, "loss": {"Dice": {}}, "target": "hot", "metrics": ["accuracy"]}},
    {"id": "fit/tversky-classes", "batch": 5, "evaluate": True, "model": one(3, "softmax", kernel_regularizer="l2"), "compile": {
        "optimizer": SGD, "loss": {"Tversky": {"alpha": 0.3, "beta": 0.7, "axis": [0]}}, "target": "hot"}},
    {"id": "fit/dice-examples", "batch": 5, "evaluate": True, "model": one(3, "softmax"), "compile": {
        "optimizer": SGD, "loss": {"Dice": {"axis": [-1], "reduction": "sum_over_batch_size"}}, "target": "hot"}},
    {"id": "fit/dice-examples-weighted", "batch": 5, "model": one(3, "softmax"), "compile": {
        "optimizer": SGD, "loss": {"Dice": {"axis": [-1], "reduction": "sum_over_batch_size"}}, "target": "hot", "sample_weight": "w"}},
    {"id": "fit/dice-and-crossentropy", "batch": 4, "evaluate": True, "model": {"type": "functional", "outputs": ["kind", "hot"], "layers": [
        {"Input": {"name": "x", "shape": [4]}}, {"Dense": {"name": "shared", "units": 5, "activation": "tanh"}},
        {"Dense": {"name": "kind", "units": 3}}, {"Dense": {"name": "hot", "inputs": "shared", "units": 3, "activation": "softmax"}}]},
     "compile": {"optimizer": SGD, "loss": {"kind": LOGITS, "hot": "dice"}, "loss_weights": {"kind": 0.5, "hot": 2.0}, "metrics": {"hot": ["accuracy"]}}},
    {"id": "fit/generalized-crossentropy", "batch": 5, "model": one(3, "softmax"), "compile": {
        "optimizer": SGD, "loss": {"CategoricalGeneralizedCrossEntropy": {"q": 0.7, "reduction": "sum_over_batch_size"}}, "target": "kind"}},
    {"id": "fit/regression", "batch": 4, "model": one(2), "compile": {
        "optimizer": SGD, "loss": MSE, "target": "size", "sample_weight": "w",
        "metrics": ["R2Score", {"R2Score": {"class_aggregation": "variance_weighted_average", "name": "r2v"}}, "RootMeanSquaredError", "CosineSimilarity"],
        "weighted_metrics": ["R2Score", "RootMeanSquaredError", "mae"]}},
    {"id": "fit/sample-weight", "model": one(3), "compile": {
        "optimizer": SGD, "loss": LOGITS, "target": "kind", "sample_weight": "w", "metrics": ["accuracy"], "weighted_metrics": ["accuracy"]}},
    {"id": "fit/sample-weight-mean", "model": one(3), "compile": {"optimizer": SGD, "loss": BY_WEIGHT, "target": "kind", "sample_weight": "w"}},
    {"id": "fit/class-weight", "model": one(3), "fit": {"class_weight": {"0": 2, "1": 0.5}}, "compile": {
        "optimizer": SGD, "loss": LOGITS, "target": "kind", "metrics": ["accuracy"], "weighted_metrics": ["accuracy"]}},
    {"id": "fit/ignore-class", "model": one(3), "compile": {
        "optimizer": SGD, "loss": {"SparseCategoricalCrossentropy": {"from_logits": True, "ignore_class": -1}}, "target": "ignored"}},
    {"id": "fit/ignore-class-weights", "model": one(3), "compile": {
        "optimizer": SGD, "target": "ignored", "sample_weight": "w",
        "loss": {"SparseCategoricalCrossentropy": {"from_logits": True, "ignore_class": -1, "reduction": "sum_over_batch_size"}}}},
    {"id": "fit/penalties", "batch": 4, "model": one(3, kernel_regularizer={"L1L2": {"l1": 0.01, "l2": 0.02}}, bias_regularizer="l2",
                                                     activity_regularizer={"L2": {"l2": 0.05}}),
     "compile": {"optimizer": SGD, "loss": LOGITS, "target": "kind", "metrics": ["accuracy"]}},
    {"id": "fit/penalties-weights", "model": one(3, kernel_regularizer="l1", activity_regularizer={"L1": {"l1": 0.1}}),
     "compile": {"optimizer": {"Adam": {"learning_rate": 0.05}}, "loss": BY_WEIGHT, "target": "kind", "sample_weight": "w"}},
    {"id": "fit/penalties-frozen", "batch": 6, "model": one(3, kernel_regularizer={"L2": {"l2": 0.1}}, activity_regularizer={"L1L2": {"l1": 0.02, "l2": 0.03}}, trainable=False),
     "compile": {"optimizer": SGD, "loss": LOGITS, "target": "kind"}},
    {"id": "fit/orthogonal-rows", "model": one(3, kernel_regularizer={"OrthogonalRegularizer": {"factor": 0.3}}),
     "compile": {"optimizer": SGD, "loss": LOGITS, "target": "kind"}},
    {"id": "fit/orthogonal-columns", "model": one(3, kernel_regularizer={"OrthogonalRegularizer": {"factor": 0.3, "mode": "columns"}}),
     "compile": {"optimizer": SGD, "loss": LOGITS, "target": "kind"}},
    {"id": "fit/penalties-two-outputs", "batch": 6, "model": {"type": "functional", "outputs": ["kind", "size"], "layers": [
        {"Input": {"name": "x", "shape": [4]}}, {"Dense": {"name": "shared", "units": 5, "activation": "tanh", "activity_regularizer": "l1"}},
        {"Dense": {"name": "kind", "units": 3, "kernel_regularizer": "l2"}},
        {"Dense": {"name": "size", "inputs": "shared", "units": 2, "bias_regularizer": "l1", "activity_regularizer": {"L2": {"l2": 0.2}}}}]},
     "compile": {"optimizer": SGD, "loss": BOTH, "loss_weights": {"kind": 0.5, "size": 2.0}, "metrics": {"size": ["mae"]}}},
]

BESIDE = {"SGD": {"learning_rate": 0.3, "use_ema": True, "ema_momentum": 0.6, "ema_overwrite_frequency": 2}}
EVERY_TWO = {"SGD": {"learning_rate": 0.4, "gradient_accumulation_steps": 2}}
WORDS = {"Input": {"name": "words", "shape": [STEPS], "dtype": "int32"}}


def kept(*layers, optimizer={"SGD": {"learning_rate": 0.3}}, **more):
    """Batches of 4 rows; weights are to leave what the constraints allow, so that these have something to do."""
    return {"batch": 4, "model": {"type": "functional", "layers": list(layers)},
            "compile": {"optimizer": optimizer, "loss": LOGITS, "target": "kind"}, **more}


# Constraints of weights: each of them, each weight of each layer that has one, and what comes before them in a step.
X, HEAD = {"Input": {"name": "x", "shape": [4]}}, {"Dense": {"units": 3}}
SERIES = {"Input": {"name": "series", "shape": [STEPS, 3]}}
CONSTRAINTS = [
    {"id": "fit/max-norm", **kept(X, {"Dense": {"units": 3, "kernel_constraint": {"MaxNorm": {"max_value": 0.8}}, "bias_constraint": "non_neg"}})},
    {"id": "fit/max-norm-both-axes", **kept(X, {"Dense": {"units": 3, "kernel_constraint": {"MaxNorm": {"max_value": 1.5, "axis": [0, 1]}}}})},
    {"id": "fit/unit-norm", **kept(X, {"Dense": {"units": 5, "kernel_constraint": {"UnitNorm": {"axis": -1}}, "bias_constraint": "max_norm"}}, HEAD)},
    {"id": "fit/min-max-norm", **kept(X, {"Dense": {"units": 3, "kernel_constraint": {
        "MinMaxNorm": {"min_value": 0.9, "max_value": 1.1, "rate": 0.4}}, "bias_constraint": "min_max_norm"}})},
    {"id": "fit/constraint-adam", **kept(X, {"Dense": {"units": 3, "kernel_constraint": "unit_norm"}}, optimizer={"Adam": {"learning_rate": 0.1}})},
    {"id": "fit/constraint-mean-of-weights", **kept(X, {"Dense": {"units": 3, "kernel_constraint": "non_neg"}}, optimizer=BESIDE)},
    {"id": "fit/constraint-every-two", **kept(X, {"Dense": {"units": 3, "kernel_constraint": "non_neg"}}, optimizer=EVERY_TWO)},
    {"id": "fit/constraint-frozen", **kept(X, {"Dense": {"units": 4, "kernel_constraint": "unit_norm", "trainable": False}}, HEAD)},
    {"id": "fit/constraint-normalization", **kept(
        X, {"BatchNormalization": {"synchronized": True, "gamma_constraint": {"MaxNorm": {"max_value": 1.5}}, "beta_constraint": "non_neg"}},
        {"LayerNormalization": {"gamma_constraint": "unit_norm", "beta_constraint": "non_neg"}}, HEAD)},
    {"id": "fit/constraint-embedding", **kept(
        WORDS, {"Embedding": {"input_dim": 7, "output_dim": 4, "embeddings_constraint": {"UnitNorm": {"axis": 1}}}}, "Flatten", HEAD)},
    {"id": "fit/constraint-lstm", **kept(SERIES, {"LSTM": {
        "units": 4, "kernel_constraint": {"MaxNorm": {"max_value": 0.7}}, "recurrent_constraint": "non_neg", "bias_constraint": "max_norm"}}, HEAD)},
    {"id": "fit/constraint-attention", **kept(SERIES, {"MultiHeadAttention": {
        "num_heads": 2, "key_dim": 3, "kernel_constraint": {"MaxNorm": {"max_value": 0.5, "axis": 0}}, "bias_constraint": "non_neg"}},
        "Flatten", HEAD)},
    {"id": "fit/depthwise", **kept(
        SERIES, {"DepthwiseConv1D": {"kernel_size": 2, "depth_multiplier": 2, "depthwise_constraint": {"MaxNorm": {"max_value": 0.4, "axis": [0, 1]}},
                                     "depthwise_regularizer": "l2", "bias_constraint": "non_neg"}}, "Flatten", HEAD)},
    {"id": "fit/constraint-convolution", **kept(
        SERIES, {"Conv1D": {"filters": 4, "kernel_size": 2, "kernel_constraint": {"MaxNorm": {"max_value": 0.6, "axis": [0, 1]}}}},
        {"SeparableConv1D": {"filters": 4, "kernel_size": 2, "depthwise_constraint": "non_neg", "pointwise_constraint": {"UnitNorm": {"axis": [0, 1]}}}},
        {"PReLU": {"alpha_constraint": "non_neg"}}, "Flatten", HEAD)},
]


# Weights where the loss does not name its reduction, the last batch of an epoch being smaller.
SPARSE = {"SparseCategoricalCrossentropy": {"from_logits": True}}
DEFAULTS = [
    {"id": "fit/default-sample-weight", "batch": 5, "model": one(3), "compile": {
        "optimizer": SGD, "loss": SPARSE, "target": "kind", "sample_weight": "w", "metrics": ["accuracy"], "weighted_metrics": ["accuracy"]}},
    {"id": "fit/default-class-weight", "batch": 5, "model": one(3), "fit": {"class_weight": {"0": 3, "1": 0.25}}, "compile": {
        "optimizer": {"Adam": {"learning_rate": 0.05}}, "loss": SPARSE, "target": "kind", "weighted_metrics": ["accuracy"]}},
    {"id": "fit/default-accumulated", "batch": 4, "model": one(3), "fit": {"class_weight": {"0": 3, "2": 0}}, "compile": {
        "optimizer": EVERY_TWO, "loss": SPARSE, "target": "kind", "weighted_metrics": ["accuracy"]}},
    {"id": "fit/default-two-outputs", "batch": 4, "model": TWO, "compile": {
        "optimizer": SGD, "loss": {"kind": SPARSE, "size": "mse"}, "sample_weight": {"kind": "w", "size": "v"},
        "loss_weights": {"kind": 1.0, "size": 0.5}, "weighted_metrics": {"kind": ["accuracy"], "size": ["mse"]}}},
    masked("default-tags", BY_STEP, **{**TAGS, "loss": SPARSE}, sample_weight="by_step", weighted_metrics=["sparse_categorical_crossentropy"]),
    {"id": "fit/ignored-class-metrics", "model": one(3), "compile": {
        "optimizer": SGD, "target": "ignored", "sample_weight": "w",
        "loss": {"SparseCategoricalCrossentropy": {"from_logits": True, "ignore_class": -1}},
        "metrics": [{"SparseCategoricalCrossentropy": {"from_logits": True, "ignore_class": -1, "name": "plain"}}],
        "weighted_metrics": [{"SparseCategoricalCrossentropy": {"from_logits": True, "ignore_class": -1}}]}},
]


# Where a slope is 0, as PReLU's is at first, inputs are equal: which of them gets the gradient shows in the weights.
TIES = [{"id": f"fit/ties-{kind.lower()}", **kept(
    X, {"PReLU": {"name": "sloped"}}, {"LayerNormalization": {"name": "even", "scale": False}}, {kind: {"inputs": ["even", "sloped"]}}, HEAD), "batch": ROWS}
    for kind in ("Maximum", "Minimum")]


def main():
    only = sys.argv[1:]
    lines = [json.dumps(record(c)) for c in CASES + MASKS + CONSTRAINTS + TIES + DEFAULTS if not only or c["id"] in only]
    head = {"format": 1, "area": "fit", "program": "tests/train/fit_golden_test.c", "keras": keras.__version__,
            "about": "histories and weights of Keras' fit: outputs, weights, metrics, penalties, masks by name"}
    print(json.dumps(head)[:-1] + ', "cases": [\n' + ",\n".join(lines) + "\n]}")


if __name__ == "__main__":
    main()
